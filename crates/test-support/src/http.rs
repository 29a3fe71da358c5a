//! A stand-in for a service that is asked over HTTP.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// A request to a stand-in.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// The method.
    pub method: String,
    /// The path and the query.
    pub target: String,
    /// The body. Empty when the request has none.
    pub body: String,
}

/// Starts a stand-in that answers every request until the process ends. `answer` returns the status
/// and the JSON text. Each request has a connection and a thread of its own. Returns the URL.
///
/// # Panics
/// When no port is free.
#[expect(clippy::expect_used, reason = "a test says what it needs by panicking")]
pub fn answer_http(
    answer: impl Fn(&HttpRequest) -> (u16, String) + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            // The caller may have gone.
            thread::spawn(move || exchange(stream, &*answer).unwrap_or_default());
        }
    });
    format!("http://{address}")
}

fn exchange(stream: TcpStream, answer: &dyn Fn(&HttpRequest) -> (u16, String)) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Ok(());
    };
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        line.clear();
    }
    let mut body = String::new();
    reader.by_ref().take(length).read_to_string(&mut body)?;
    let (status, text) = answer(&HttpRequest {
        method,
        target,
        body,
    });
    let answer = format!(
        "HTTP/1.1 {status} Answer\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{text}",
        text.len()
    );
    reader.get_mut().write_all(answer.as_bytes())
}
