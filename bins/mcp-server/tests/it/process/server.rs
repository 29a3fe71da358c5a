//! The binary as a child process.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;

use alloy_primitives::{Address, address};
use serde_json::Value;
use test_support::process::{self, Ended, Server, limited, program};
use test_support::wait;

const BINARY: &str = env!("CARGO_BIN_EXE_mcp-server");

/// The environment of one run. The process gets no other variables.
pub(crate) type Environment<'a> = &'a [(&'a str, &'a str)];

/// A folder with a configuration file and, unless a test replaces it, the fee configuration that it
/// names.
pub(crate) struct Configured {
    folder: tempfile::TempDir,
}

impl Configured {
    pub(crate) fn new(text: &str) -> Self {
        Self::with_fees(&format!("plans.fee_config = 'fees.toml'\n{text}"), &fees())
    }

    /// Writes exactly this configuration, and this fee configuration beside it.
    pub(crate) fn with_fees(text: &str, fees: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mcp.toml"), text).unwrap();
        std::fs::write(folder.path().join("fees.toml"), fees).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("mcp.toml")
    }

    pub(crate) fn run(&self, command: &str, environment: Environment<'_>) -> Ended {
        let path = self.path();
        run(&[command, "--config", path.to_str().unwrap()], environment)
    }

    /// Starts `serve` and waits until it listens.
    pub(crate) fn serve(&self) -> Server {
        let mut command = program(BINARY, &[]);
        wait(Server::start(
            command.args(["serve", "--config"]).arg(self.path()),
        ))
    }

    /// [`Self::serve`] under limits that a shell sets.
    pub(crate) fn serve_limited(&self, limits: &str) -> Server {
        let mut command = limited(BINARY, limits);
        wait(Server::start(
            command.args(["serve", "--config"]).arg(self.path()),
        ))
    }

    /// Starts `stdio`.
    pub(crate) fn stdio(&self) -> Server {
        let mut command = program(BINARY, &[]);
        Server::spawn(command.args(["stdio", "--config"]).arg(self.path()))
    }
}

/// The lines of a server's log before the line that says where it listens.
pub(crate) fn before_listening(server: &Server) -> Vec<String> {
    let log = server.log();
    let lines = log.lines().map(str::to_owned);
    lines
        .take_while(|line| !line.starts_with("listening on"))
        .collect()
}

/// The recipient of fees in the recorded plans. It is an account of local test chains, so a server
/// refuses to pay it.
pub(crate) const RECORDED_RECIPIENT: Address = address!("90F79bf6EB2c4f870365E785982E1f101E93b906");
/// The recipient of fees in these tests.
pub(crate) const RECIPIENT: Address = address!("5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");

/// The fee configuration of the recorded plans, with a recipient that a server accepts.
pub(crate) fn fees() -> String {
    RECORDED_FEES.replace(&RECORDED_RECIPIENT.to_string(), &RECIPIENT.to_string())
}

/// The fee configuration of the recorded plans.
pub(crate) const RECORDED_FEES: &str =
    include_str!("../../../../../fixtures/vectors/plans/fees.toml");

/// Runs the binary to its end.
pub(crate) fn run(arguments: &[&str], environment: Environment<'_>) -> Ended {
    process::run(program(BINARY, environment).args(arguments))
}

/// Posts a message, and reads the body of the answer.
pub(crate) fn post(address: SocketAddr, body: &str) -> Value {
    post_with(address, "", body)
}

/// Like [`post`], with further header lines.
pub(crate) fn post_with(address: SocketAddr, headers: &str, body: &str) -> Value {
    send(TcpStream::connect(address).unwrap(), headers, body)
}

/// Like [`post`], over an open connection.
pub(crate) fn post_over(stream: TcpStream, body: &str) -> Value {
    send(stream, "", body)
}

fn send(stream: TcpStream, headers: &str, body: &str) -> Value {
    begin_post(&stream, headers, body);
    serde_json::from_str(&body_of_answer(stream)).unwrap()
}

/// Sends a message with further header lines, and does not wait for the answer.
pub(crate) fn begin_post(stream: &TcpStream, headers: &str, body: &str) {
    let headers = format!("Content-Type: application/json\r\n{headers}");
    write_request(stream, "POST /mcp", &headers, body);
}

/// Gets a JSON document.
pub(crate) fn get(address: SocketAddr, path: &str) -> Value {
    serde_json::from_str(&get_text(address, path)).unwrap()
}

/// Gets a text.
pub(crate) fn get_text(address: SocketAddr, path: &str) -> String {
    let stream = TcpStream::connect(address).unwrap();
    exchange(stream, &format!("GET {path}"), "", "")
}

/// Sends a request with further header lines, and reads the body of the answer.
pub(crate) fn exchange(stream: TcpStream, what: &str, headers: &str, body: &str) -> String {
    write_request(&stream, what, headers, body);
    body_of_answer(stream)
}

fn write_request(mut stream: &TcpStream, what: &str, headers: &str, body: &str) {
    let (address, length) = (stream.peer_addr().unwrap(), body.len());
    let head = format!(
        "{what} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\
         Content-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).unwrap();
}

fn body_of_answer(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    body.to_owned()
}
