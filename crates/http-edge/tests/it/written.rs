//! Tests of the notice that an answer was written whole to its connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use http_edge::{
    ClientAddress, Drained, Handler, Limits, OnWritten, RequestBody, RequestId, Server,
};
use hyper::{Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::{connect, read_to_end};

/// Larger than the buffers of a connection on any machine.
const LARGE: usize = 64 * 1024 * 1024;

struct Noticing {
    written: mpsc::UnboundedSender<String>,
    begun: Arc<Notify>,
    dropped: Arc<Notify>,
}

/// Tells the test that an answer is not waited for any more.
struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Handler for Noticing {
    async fn handle(
        self: Arc<Self>,
        request: Request<RequestBody>,
        _id: RequestId,
        _client: ClientAddress,
    ) -> Response<Full<Bytes>> {
        let path = request.uri().path().to_owned();
        let size = match path.as_str() {
            "/never" => {
                let _dropped = Dropped(self.dropped.clone());
                self.begun.notify_one();
                std::future::pending().await
            }
            "/large" => LARGE,
            _ => 5,
        };
        let mut answer = Response::new(Full::from(vec![b'x'; size]));
        let written = self.written.clone();
        answer.extensions_mut().insert(OnWritten::new(move || {
            let _ = written.send(path.clone());
        }));
        answer
    }
}

/// Lets `client` use a server, ends the server, and returns the notices.
async fn notices<F: Future<Output = ()>>(
    client: impl FnOnce(TcpStream, Arc<Notify>, Arc<Notify>) -> F,
) -> Vec<String> {
    notices_within(Limits::default(), client).await
}

async fn notices_within<F: Future<Output = ()>>(
    limits: Limits,
    client: impl FnOnce(TcpStream, Arc<Notify>, Arc<Notify>) -> F,
) -> Vec<String> {
    let server = Server::bind(([127, 0, 0, 1], 0).into(), limits)
        .await
        .unwrap();
    let (written, mut notices) = mpsc::unbounded_channel();
    let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = Arc::new(Noticing {
        written,
        begun: begun.clone(),
        dropped: dropped.clone(),
    });
    let address = server.local_addr();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        let stopped = async {
            let _ = stopped.await;
        };
        server.serve(handler, stopped).await
    });
    client(connect(address).await, begun, dropped).await;
    drop(stop);
    assert_eq!(serving.await.unwrap(), Drained::Completely);
    let mut all = Vec::new();
    // Every sender is gone with the connections.
    while let Some(path) = notices.recv().await {
        all.push(path);
    }
    all
}

async fn ask(stream: &mut TcpStream, path: &str, connection: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: {connection}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
}

#[tokio::test]
async fn an_answer_that_is_read_whole_is_written_whole() {
    let written = notices(|mut stream, _, _| async move {
        ask(&mut stream, "/small", "keep-alive").await;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\nxxxxx") {
            head.push(stream.read_u8().await.unwrap());
        }
        ask(&mut stream, "/large", "close").await;
        assert!(read_to_end(&mut stream).await.len() > LARGE);
    });
    assert_eq!(written.await, ["/small", "/large"]);
}

#[tokio::test]
async fn a_client_that_hangs_up_before_the_answer_has_gone() {
    let written = notices(|mut stream, begun, dropped| async move {
        ask(&mut stream, "/never", "close").await;
        begun.notified().await;
        drop(stream);
        dropped.notified().await;
    });
    assert!(written.await.is_empty());
}

#[tokio::test]
async fn an_answer_that_is_cut_is_not_written_whole() {
    let written = notices(|mut stream, _, _| async move {
        ask(&mut stream, "/large", "close").await;
        let mut first = [0; 1000];
        stream.read_exact(&mut first).await.unwrap();
    });
    assert!(written.await.is_empty());
}

/// Fewer than a quarter of the places are free, so a pause between two requests is short.
#[tokio::test]
async fn a_client_that_reads_slowly_is_not_idle() {
    const IDLE: Duration = Duration::from_millis(1_600);
    let limits = Limits {
        max_connections: 1,
        idle_timeout: IDLE,
        write_timeout: Duration::from_secs(3_600),
        ..Limits::default()
    };
    let written = notices_within(limits, |mut stream, _, _| async move {
        ask(&mut stream, "/large", "keep-alive").await;
        let mut first = [0; 1000];
        stream.read_exact(&mut first).await.unwrap();
        tokio::time::pause();
        tokio::time::sleep(IDLE).await;
        tokio::time::resume();
        // Once the answer is read, the connection is idle, and ends.
        assert!(read_to_end(&mut stream).await.len() > LARGE - first.len());
    });
    assert_eq!(written.await, ["/large"]);
}
