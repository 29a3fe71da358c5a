//! The binary as a child process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use alloy_primitives::{Address, address};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use test_support::eventually_blocking;

/// The longest wait of a test.
const PATIENCE: Duration = Duration::from_secs(30);

/// The environment of one run, which has no other variables.
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

    /// Exactly this configuration, and this fee configuration beside it.
    pub(crate) fn with_fees(text: &str, fees: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mcp.toml"), text).unwrap();
        std::fs::write(folder.path().join("fees.toml"), fees).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("mcp.toml")
    }

    pub(crate) fn run(&self, command: &str, environment: Environment<'_>) -> Output {
        let path = self.path();
        run(&[command, "--config", path.to_str().unwrap()], environment)
    }
}

/// The recipient of fees in the recorded plans: an account of local chains, which a server refuses
/// to pay.
pub(crate) const RECORDED_RECIPIENT: Address = address!("90F79bf6EB2c4f870365E785982E1f101E93b906");
/// The recipient of fees in these tests.
pub(crate) const RECIPIENT: Address = address!("5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");

/// The fee configuration of the recorded plans, with a recipient that can be paid.
pub(crate) fn fees() -> String {
    RECORDED_FEES.replace(&RECORDED_RECIPIENT.to_string(), &RECIPIENT.to_string())
}

/// The fee configuration of the recorded plans.
pub(crate) const RECORDED_FEES: &str =
    include_str!("../../../../../fixtures/vectors/plans/fees.toml");

/// A command that keeps running. It is killed when this is dropped.
pub(crate) struct Running {
    child: Child,
    pub(crate) input: Option<ChildStdin>,
    output: Receiver<String>,
    errors: Receiver<String>,
}

impl Running {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::spawn(command(&[]).args(arguments))
    }

    /// [`Self::start`] under a limit of open descriptors, set by `ulimit`.
    pub(crate) fn start_limited(ulimit: &str, arguments: &[&str]) -> Self {
        let mut shell = Command::new("/bin/sh");
        let script = format!("ulimit {ulimit}; exec \"$0\" \"$@\"");
        let shell = shell.args(["-c", &script, env!("CARGO_BIN_EXE_mcp-server")]);
        Self::spawn(shell.env_clear().args(arguments))
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: lines(child.stdout.take().unwrap()),
            errors: lines(child.stderr.take().unwrap()),
            child,
        }
    }

    /// The address in the one line for scripts, and the lines before it.
    pub(crate) fn listens(&self) -> (SocketAddr, Vec<String>) {
        let mut before = Vec::new();
        loop {
            let line = self.errors.recv_timeout(PATIENCE).unwrap();
            match line.strip_prefix("listening on http://") {
                Some(address) => return (address.parse().unwrap(), before),
                None => before.push(line),
            }
        }
    }

    /// The next line of standard error that contains a text.
    pub(crate) fn warns(&self, text: &str) -> String {
        loop {
            let line = self.errors.recv_timeout(PATIENCE).unwrap();
            if line.contains(text) {
                return line;
            }
        }
    }

    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line of standard output.
    pub(crate) fn hear(&self) -> Value {
        let line = self.output.recv_timeout(PATIENCE).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub(crate) fn terminate(&self) {
        let id = self.child.id().try_into().unwrap();
        kill_process(Pid::from_raw(id).unwrap(), Signal::TERM).unwrap();
    }

    /// Waits for the end. Returns the status and the unread lines of both outputs.
    pub(crate) fn ended(mut self) -> (ExitStatus, Vec<String>, Vec<String>) {
        let status = eventually_blocking("its end", || self.child.try_wait().unwrap());
        (
            status,
            self.output.iter().collect(),
            self.errors.iter().collect(),
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Runs the binary to its end.
pub(crate) fn run(arguments: &[&str], environment: Environment<'_>) -> Output {
    let mut running = command(environment);
    running.args(arguments).stdin(Stdio::null());
    running.output().unwrap()
}

/// The binary with exactly this environment.
fn command(environment: Environment<'_>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-server"));
    command.env_clear().envs(environment.iter().copied());
    command
}

/// The output of a command as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Posts a message, and reads the body of the answer.
pub(crate) fn post(address: SocketAddr, body: &str) -> Value {
    post_with(address, "", body)
}

/// [`post`] with further header lines.
pub(crate) fn post_with(address: SocketAddr, headers: &str, body: &str) -> Value {
    let stream = TcpStream::connect(address).unwrap();
    let answer = exchange(stream, "POST /mcp", headers, body);
    serde_json::from_str(&answer).unwrap()
}

/// [`post`] over a connection that is there already.
pub(crate) fn post_over(stream: TcpStream, body: &str) -> Value {
    serde_json::from_str(&exchange(stream, "POST /mcp", "", body)).unwrap()
}

/// Gets a document.
pub(crate) fn get(address: SocketAddr, path: &str) -> Value {
    serde_json::from_str(&get_text(address, path)).unwrap()
}

/// Gets a text.
pub(crate) fn get_text(address: SocketAddr, path: &str) -> String {
    let stream = TcpStream::connect(address).unwrap();
    exchange(stream, &format!("GET {path}"), "", "")
}

fn exchange(mut stream: TcpStream, what: &str, headers: &str, body: &str) -> String {
    let (address, length) = (stream.peer_addr().unwrap(), body.len());
    let head = format!(
        "{what} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    body.to_owned()
}
