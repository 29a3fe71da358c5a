//! A socket whose connections are served until its handle is dropped.

use std::net::SocketAddr;

use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

use crate::error::DevChainError;

/// Dropping it closes the socket and every connection.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Listener {
    /// Serves each connection to `address` with `connection`. Port 0 picks a free port.
    pub(crate) async fn open<F>(
        address: SocketAddr,
        connection: impl Fn(TcpStream) -> F + Send + 'static,
    ) -> Result<Self, DevChainError>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            // Aborting this task drops the set, and with it every connection.
            let mut connections = JoinSet::new();
            loop {
                if let Ok((stream, _)) = listener.accept().await {
                    connections.spawn(connection(stream));
                }
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { address, task })
    }

    /// The base URL for clients, for example `http://127.0.0.1:8545`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}
