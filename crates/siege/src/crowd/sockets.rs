//! Attacks with connections that send little or nothing.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};

use crate::SiegeError;
use crate::field::Attacker;

type Acted = Result<Attacker, SiegeError>;

/// How many connections one act opens.
const IDLE: usize = 120;

fn server(attacker: &mut Attacker) -> SocketAddr {
    let api = match attacker.chance.percent(70) {
        true => attacker.field.next_api(),
        false => None,
    };
    api.unwrap_or(attacker.field.rail)
}

/// Opens connections and sends nothing.
pub(super) async fn idle(mut attacker: Attacker) -> Acted {
    let server = server(&mut attacker);
    let mut open = Vec::with_capacity(IDLE);
    for _ in 0..IDLE {
        let connection = tokio::time::timeout(Duration::from_secs(1), TcpStream::connect(server));
        let outcome = match connection.await {
            Ok(Ok(stream)) => {
                open.push(stream);
                "open"
            }
            Ok(Err(_)) | Err(_) => "refused",
        };
        attacker.field.record.crowd(attacker.name, outcome);
    }
    let time = attacker.chance.millis(500, 4_000);
    attacker.field.linger(time).await;
    Ok(attacker)
}

/// The address of the stranger that holds half-open connections. Every other caller of the siege
/// has the address of a proxy, which this machine is to the servers.
const STRANGER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 66)), 0);

/// Opens connections from one address, begins a head on each, and holds them.
pub(super) async fn half_open(mut attacker: Attacker) -> Acted {
    let server = server(&mut attacker);
    let mut open = Vec::with_capacity(IDLE);
    for _ in 0..IDLE {
        let begun = tokio::time::timeout(Duration::from_secs(1), begin(server));
        let outcome = match begun.await {
            Ok(Ok(stream)) => {
                open.push(stream);
                "open"
            }
            Ok(Err(_)) | Err(_) => "refused",
        };
        attacker.field.record.crowd(attacker.name, outcome);
    }
    let time = attacker.chance.millis(500, 4_000);
    attacker.field.linger(time).await;
    Ok(attacker)
}

async fn begin(server: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(STRANGER)?;
    let mut stream = socket.connect(server).await?;
    stream.write_all(b"GET /status HTTP/1.1\r\nhost: ").await?;
    Ok(stream)
}

/// Sends a head byte by byte.
pub(super) async fn slow(mut attacker: Attacker) -> Acted {
    let server = server(&mut attacker);
    let Ok(mut stream) = TcpStream::connect(server).await else {
        attacker.field.record.crowd(attacker.name, "refused");
        return Ok(attacker);
    };
    let head = b"GET /all-tokens?limit=2 HTTP/1.1\r\nhost: localhost\r\nx-slow: ";
    let mut sent: usize = 0;
    for byte in head.iter().chain(std::iter::repeat_n(&b'x', 400)) {
        if stream.write_all(std::slice::from_ref(byte)).await.is_err() {
            break;
        }
        sent = sent.saturating_add(1);
        let pause = attacker.chance.millis(50, 200);
        if !attacker.field.linger(pause).await {
            break;
        }
    }
    let outcome = match sent {
        0..80 => "ended early",
        _ => "went on",
    };
    attacker.field.record.crowd(attacker.name, outcome);
    Ok(attacker)
}
