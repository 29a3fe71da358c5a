//! Tests of the edge's limits. The requests are raw bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

mod bodies;
mod heads;
mod written;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use http_edge::{
    ClientAddress, Drained, Handler, Limits, Network, RequestBody, RequestId, RequestIds, Server,
    read_body,
};
use hyper::{Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

/// Long enough for any machine. A passing test never waits this long.
const PATIENCE: Duration = Duration::from_secs(20);

struct Echo {
    limits: Limits,
    /// Lets a request to `/wait` be answered.
    release: Arc<Notify>,
    /// Tells the test that a request to `/wait` has begun.
    begun: Arc<Notify>,
}

impl Handler for Echo {
    async fn handle(
        self: Arc<Self>,
        request: Request<RequestBody>,
        _id: RequestId,
        client: ClientAddress,
    ) -> Response<Full<Bytes>> {
        match request.uri().path() {
            "/wait" => {
                self.begun.notify_one();
                self.release.notified().await;
                Response::new(Full::from("released"))
            }
            "/unread" => {
                drop(request);
                self.begun.notify_one();
                Response::new(Full::from("decided"))
            }
            "/client" => Response::new(Full::from(client.ip().to_string())),
            "/large" => Response::new(Full::from(vec![b'x'; 64 * 1024 * 1024])),
            _ => {
                let limits = &self.limits;
                let body = read_body(
                    request.into_body(),
                    limits.max_body_bytes,
                    limits.body_timeout,
                );
                match body.await {
                    Ok(body) => Response::new(Full::new(body)),
                    Err(error) => Response::new(Full::from(format!("{error:?}"))),
                }
            }
        }
    }
}

struct Running {
    address: SocketAddr,
    release: Arc<Notify>,
    begun: Arc<Notify>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<Drained>,
}

async fn start(limits: Limits) -> Running {
    let server = Server::bind(([127, 0, 0, 1], 0).into(), limits.clone())
        .await
        .unwrap();
    let (release, begun) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let echo = Echo {
        limits,
        release: release.clone(),
        begun: begun.clone(),
    };
    let address = server.local_addr();
    let (stop, stopped) = oneshot::channel();
    let server = tokio::spawn(async move {
        server
            .serve(Arc::new(echo), async move {
                let _ = stopped.await;
            })
            .await
    });
    Running {
        address,
        release,
        begun,
        stop,
        server,
    }
}

async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

/// Sends bytes, and reads until the server closes the connection.
async fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = connect(address).await;
    // The server may answer and close the connection before it has read everything.
    let _ = stream.write_all(request).await;
    read_to_end(&mut stream).await
}

async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer))
        .await
        .expect("the server closes the connection");
    String::from_utf8_lossy(&answer).into_owned()
}

fn with_header(bytes: usize) -> Vec<u8> {
    format!(
        "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\nbig: {}\r\n\r\n",
        "a".repeat(bytes)
    )
    .into_bytes()
}

#[tokio::test]
async fn a_head_above_the_limit_is_answered_431_with_a_reason() {
    let running = start(Limits::default()).await;
    let fits = exchange(running.address, &with_header(31 * 1024)).await;
    assert!(fits.starts_with("HTTP/1.1 200"), "{fits}");
    let large = exchange(running.address, &with_header(33 * 1024)).await;
    assert!(large.starts_with("HTTP/1.1 431"), "{large}");
    for member in [
        r#""code":"headers_too_large""#,
        r#""charged":false"#,
        r#""request_id":""#,
        "x-request-id: ",
    ] {
        assert!(large.contains(member), "{large}");
    }
    let huge = exchange(running.address, &with_header(200 * 1024)).await;
    assert!(
        huge.is_empty() || huge.starts_with("HTTP/1.1 431"),
        "{huge}"
    );
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_their_order() {
    let running = start(Limits::default()).await;
    let mut requests = String::new();
    for body in ["one", "three", "fifteen"] {
        requests += &format!(
            "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
    }
    requests += "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let answers = exchange(running.address, requests.as_bytes()).await;
    let heads = answers.matches("HTTP/1.1 200 OK\r\n").count();
    let places = ["\r\n\r\none", "\r\n\r\nthree", "\r\n\r\nfifteen"].map(|body| answers.find(body));
    assert_eq!(heads, 4, "{answers}");
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{answers}"
    );
}

#[tokio::test]
async fn a_slow_client_is_cut_off() {
    let limits = Limits {
        header_timeout: Duration::from_millis(100),
        ..Limits::default()
    };
    let running = start(limits).await;
    let dawdling = exchange(running.address, b"GET / HTTP/1.1\r\nhost:").await;
    assert!(!dawdling.contains("200 OK"), "{dawdling}");
    assert_eq!(
        exchange(running.address, b"").await,
        "",
        "an idle connection is closed"
    );
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off() {
    let limits = Limits {
        write_timeout: Duration::from_millis(100),
        ..Limits::default()
    };
    let running = start(limits).await;
    let mut stream = connect(running.address).await;
    stream
        .write_all(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    // The answer fills the buffers of the socket and the client does not read. The server must end
    // the connection by itself.
    running.stop.send(()).unwrap();
    let drained = tokio::time::timeout(PATIENCE, running.server)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(drained, Drained::Completely);
}

#[tokio::test]
async fn connections_above_the_limit_wait_for_a_place() {
    let limits = Limits {
        max_connections: 1,
        ..Limits::default()
    };
    let running = start(limits).await;
    let mut first = connect(running.address).await;
    first
        .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    assert!(first.read_u8().await.is_ok(), "the first is served");
    let mut second = connect(running.address).await;
    second
        .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    let early = tokio::time::timeout(Duration::from_millis(100), second.read_u8()).await;
    assert!(early.is_err(), "the second waits");
    drop(first);
    let served = tokio::time::timeout(PATIENCE, second.read_u8())
        .await
        .unwrap();
    assert!(served.is_ok(), "and is served when the first has gone");
}

/// Connects from an address of this machine.
async fn connect_from(from: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

const BEGINNING: &[u8] = b"GET /client HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";

/// Ends the head of a request, and returns the body of the answer; empty when there is none.
async fn finish(stream: &mut TcpStream, header: &str) -> String {
    // The server may have closed the connection already.
    let _ = stream.write_all(format!("{header}\r\n").as_bytes()).await;
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer));
    // A connection that was refused may end with a reset.
    let _ = read.await.expect("the server ends the connection");
    let answer = String::from_utf8(answer).unwrap();
    answer
        .rsplit_once("\r\n\r\n")
        .map_or("", |(_, body)| body)
        .to_owned()
}

const MANY: usize = 20;

/// Opens more connections of one address than it may have, each with an unfinished head.
async fn crowd(from: [u8; 4], to: SocketAddr) -> Vec<TcpStream> {
    let mut crowd = Vec::new();
    for _ in 0..2 * MANY {
        let mut stream = connect_from(from, to).await;
        let _ = stream.write_all(BEGINNING).await;
        crowd.push(stream);
    }
    crowd
}

/// Finishes the requests of a crowd, and returns how many are answered.
async fn served(crowd: Vec<TcpStream>) -> usize {
    let mut served = 0;
    for mut stream in crowd {
        served += usize::from(!finish(&mut stream, "").await.is_empty());
    }
    served
}

fn few_for_each() -> Limits {
    Limits {
        max_connections_per_address: MANY,
        ..Limits::default()
    }
}

#[tokio::test]
async fn one_address_holds_a_part_of_the_connections_only() {
    let running = start(few_for_each()).await;
    let mut crowd = crowd([127, 0, 0, 1], running.address).await;
    // The connections above the limit are closed without an answer.
    for mut refused in crowd.split_off(MANY) {
        assert_eq!(finish(&mut refused, "").await, "");
    }
    // Another address is served meanwhile.
    let mut other = connect_from([127, 0, 0, 2], running.address).await;
    let _ = other.write_all(BEGINNING).await;
    assert_eq!(finish(&mut other, "").await, "127.0.0.2");
    // The accepted ones are served, and leave their places to the next ones.
    assert_eq!(served(crowd).await, MANY);
    let mut next = connect(running.address).await;
    let _ = next.write_all(BEGINNING).await;
    assert_eq!(finish(&mut next, "").await, "127.0.0.1");
}

#[tokio::test]
async fn a_trusted_proxy_is_not_counted_and_names_the_client() {
    let limits = Limits {
        trusted_proxies: vec![Network::new([127, 0, 0, 2].into(), 32)],
        client_address_header: Some("x-forwarded-for".parse().unwrap()),
        ..few_for_each()
    };
    let running = start(limits).await;
    let proxied = crowd([127, 0, 0, 2], running.address).await;
    let others = crowd([127, 0, 0, 1], running.address).await;
    assert_eq!(served(others).await, MANY);
    assert_eq!(served(proxied).await, 2 * MANY);
    for (from, client) in [([127, 0, 0, 2], "192.0.2.7"), ([127, 0, 0, 1], "127.0.0.1")] {
        let mut stream = connect_from(from, running.address).await;
        let _ = stream.write_all(BEGINNING).await;
        let named = finish(&mut stream, "X-Forwarded-For: 192.0.2.7\r\n").await;
        assert_eq!(named, client, "from {from:?}");
    }
}

/// Without trusted proxies, a server behind a proxy cannot tell its clients' connections apart.
#[tokio::test]
async fn behind_an_unnamed_proxy_connections_are_not_counted() {
    let limits = Limits {
        client_address_header: Some("x-forwarded-for".parse().unwrap()),
        ..few_for_each()
    };
    let running = start(limits).await;
    let crowd = crowd([127, 0, 0, 1], running.address).await;
    assert_eq!(served(crowd).await, 2 * MANY);
}

#[tokio::test]
async fn silent_connections_make_room_soon() {
    let limits = Limits {
        max_connections: 4,
        header_timeout: PATIENCE,
        ..Limits::default()
    };
    let running = start(limits).await;
    let mut crowd = Vec::new();
    for _ in 0..6 {
        crowd.push(connect(running.address).await);
    }
    // A connection with half a head gets no answer either.
    crowd[3].write_all(b"GET / HT").await.unwrap();
    let request = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let answered = tokio::time::timeout(PATIENCE / 2, exchange(running.address, request)).await;
    assert!(answered.unwrap().starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn shutdown_finishes_the_requests_in_flight() {
    let running = start(Limits::default()).await;
    let mut stream = connect(running.address).await;
    stream
        .write_all(b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    running.begun.notified().await;
    running.stop.send(()).unwrap();
    running.release.notify_one();
    let answer = read_to_end(&mut stream).await;
    assert!(answer.ends_with("released"), "{answer}");
    assert_eq!(running.server.await.unwrap(), Drained::Completely);
    assert!(
        TcpStream::connect(running.address).await.is_err(),
        "nothing new is accepted"
    );
}

#[tokio::test]
async fn shutdown_does_not_wait_for_ever() {
    let limits = Limits {
        shutdown_grace: Duration::from_millis(100),
        ..Limits::default()
    };
    let running = start(limits).await;
    let mut stream = connect(running.address).await;
    stream
        .write_all(b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    running.begun.notified().await;
    running.stop.send(()).unwrap();
    let drained = tokio::time::timeout(PATIENCE, running.server)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(drained, Drained::GraceEnded);
}

#[tokio::test]
async fn a_draining_server_serves_on_and_reports_it() {
    let limits = Limits {
        drain: PATIENCE,
        ..Limits::default()
    };
    let server = Server::bind(([127, 0, 0, 1], 0).into(), limits.clone())
        .await
        .unwrap();
    let (address, draining) = (server.local_addr(), server.draining());
    assert!(!draining.is_draining());
    let (release, begun) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let echo = Echo {
        limits,
        release,
        begun,
    };
    let mut serving = std::pin::pin!(server.serve(Arc::new(echo), std::future::ready(())));
    let asking = async {
        let answer = exchange(
            address,
            b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
        );
        assert!(answer.await.starts_with("HTTP/1.1 200"));
        assert!(draining.is_draining());
    };
    tokio::select! {
        drained = &mut serving => panic!("{drained:?}"),
        () = asking => {}
    }
}

#[tokio::test]
async fn a_request_carries_its_clients_address() {
    let ask = async |limits: Limits, header: &str| {
        let running = start(limits).await;
        let request =
            format!("GET /client HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{header}\r\n");
        let answer = exchange(running.address, request.as_bytes()).await;
        answer.rsplit_once("\r\n\r\n").unwrap().1.to_owned()
    };
    let header = "X-Forwarded-For: 198.51.100.1, 192.0.2.7\r\n";
    assert_eq!(ask(Limits::default(), header).await, "127.0.0.1");
    let proxied = || Limits {
        client_address_header: Some("x-forwarded-for".parse().unwrap()),
        ..Limits::default()
    };
    for (header, client) in [
        (header, "192.0.2.7"),
        (
            "X-Forwarded-For: 2001:db8:1:2:3:4:5:6\r\n",
            "2001:db8:1:2::",
        ),
        ("X-Forwarded-For: 192.0.2.7, me\r\n", "127.0.0.1"),
        ("", "127.0.0.1"),
    ] {
        assert_eq!(ask(proxied(), header).await, client, "{header}");
    }
}

#[test]
fn request_ids_do_not_repeat() {
    let (one, other) = (RequestIds::new(), RequestIds::new());
    let ids: std::collections::HashSet<_> = (0..100)
        .flat_map(|_| [one.next_id().to_string(), other.next_id().to_string()])
        .collect();
    assert_eq!(ids.len(), 200);
}
