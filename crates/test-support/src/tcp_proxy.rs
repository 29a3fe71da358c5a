//! A proxy before a database, which can cut connections.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// Forwards connections to a database. On request it swallows an answer, closes connections, or
/// holds everything back.
#[derive(Clone, Debug)]
pub struct TcpProxy {
    address: SocketAddr,
    upstream: Arc<Mutex<SocketAddr>>,
    /// How many answers come before the one that is swallowed. Below zero, none is swallowed.
    until_cut: Arc<AtomicI64>,
    closed: Arc<AtomicBool>,
    held: watch::Sender<bool>,
}

impl TcpProxy {
    /// Starts a proxy before the database at `upstream`. It runs as long as the runtime.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn before(upstream: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let proxy = Self {
            address: listener.local_addr()?,
            upstream: Arc::new(Mutex::new(upstream)),
            until_cut: Arc::new(AtomicI64::new(-1)),
            closed: Arc::default(),
            held: watch::Sender::new(false),
        };
        let made = proxy.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if made.closed.load(Ordering::Relaxed) {
                    continue;
                }
                if let Ok(server) = TcpStream::connect(made.upstream()).await {
                    tokio::spawn(made.clone().forward(client, server));
                }
            }
        });
        Ok(proxy)
    }

    /// Returns the address at which the proxy listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends new connections to another database. Open connections stay as they are.
    pub fn lead_to(&self, upstream: SocketAddr) {
        *self.upstream.lock().unwrap_or_else(PoisonError::into_inner) = upstream;
    }

    fn upstream(&self) -> SocketAddr {
        *self.upstream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forwards the next `answers` answers, then swallows one answer and closes its connection. The
    /// database has then done the work of the swallowed answer.
    pub fn cut_after(&self, answers: i64) {
        self.until_cut.store(answers, Ordering::Relaxed);
    }

    /// Whether the answer was swallowed that [`Self::cut_after`] asked for. It is also `true`
    /// before the first call of that function.
    #[must_use]
    pub fn has_cut(&self) -> bool {
        self.until_cut.load(Ordering::Relaxed) < 0
    }

    /// Sets whether the database can be reached. If not, an open connection is closed with its next
    /// bytes.
    pub fn set_reachable(&self, reachable: bool) {
        self.closed.store(!reachable, Ordering::Relaxed);
    }

    /// Holds back every byte in both directions, or forwards what was held back. Connections stay
    /// open. The database executes a statement that was held back, even if its client has given it
    /// up meanwhile.
    pub fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    async fn passes(&self) {
        // The sender lives as long as `self`.
        let _ = self.held.subscribe().wait_for(|held| !held).await;
    }

    async fn forward(self, mut client: TcpStream, mut server: TcpStream) {
        let (mut asked, mut answered) = ([0; 16_384], [0; 16_384]);
        loop {
            tokio::select! {
                read = client.read(&mut asked) => {
                    let Ok(read @ 1..) = read else { return };
                    self.passes().await;
                    if self.closed.load(Ordering::Relaxed) {
                        return;
                    }
                    if server.write_all(asked.get(..read).unwrap_or_default()).await.is_err() {
                        return;
                    }
                }
                read = server.read(&mut answered) => {
                    let Ok(read @ 1..) = read else { return };
                    self.passes().await;
                    if self.until_cut.load(Ordering::Relaxed) >= 0
                        && self.until_cut.fetch_sub(1, Ordering::Relaxed) == 0
                    {
                        return;
                    }
                    let closed = self.closed.load(Ordering::Relaxed);
                    let answer = answered.get(..read).unwrap_or_default();
                    if closed || client.write_all(answer).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}
