//! A newcomer who runs the demo and tries the lines that it prints.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The end of a run.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the binary to its end.
pub(crate) fn run(arguments: &[&str]) -> Ended {
    let output = command(arguments).output().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A demo that keeps serving. It is killed when this is dropped.
pub(crate) struct Guest {
    demo: Child,
    /// The curl commands of the invitation.
    pub(crate) lines: Vec<Line>,
    verify: String,
}

/// One curl command.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: Option<String>,
}

impl Guest {
    /// Starts the demo, and reads until its last line.
    pub(crate) fn invited(arguments: &[&str]) -> Self {
        let mut demo = command(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(demo.stdout.take().unwrap());
        let mut guest = Self {
            demo,
            lines: Vec::new(),
            verify: String::new(),
        };
        for line in said.lines().map(Result::unwrap) {
            if line.starts_with("curl ") {
                guest.lines.push(Line::parse(&line));
            }
            if line.starts_with("fence-cli plan verify ") {
                guest.verify = line;
                return guest;
            }
        }
        panic!("the demo ended before it invited anybody");
    }

    /// The file that the last line gives for an option.
    pub(crate) fn file(&self, option: &str) -> PathBuf {
        let words = words(&self.verify);
        let place = words.iter().position(|word| word == option).unwrap();
        PathBuf::from(&words[place + 1])
    }

    /// Ends the demo as Ctrl-C does.
    pub(crate) fn leave(mut self) -> Option<i32> {
        let id = self.demo.id().try_into().unwrap();
        kill_process(Pid::from_raw(id).unwrap(), Signal::INT).unwrap();
        self.demo.wait().unwrap().code()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // The demo may have ended by itself.
        let _ = self.demo.kill();
        let _ = self.demo.wait();
    }
}

impl Line {
    pub(crate) fn parse(line: &str) -> Self {
        let words = words(line);
        let mut words = words.into_iter().skip(1);
        let (mut url, mut headers, mut body) = (None, Vec::new(), None);
        while let Some(word) = words.next() {
            match word.as_str() {
                "-s" => {}
                "-H" => headers.push(words.next().unwrap()),
                "-d" => body = words.next(),
                _ => assert_eq!(url.replace(word), None, "{line}"),
            }
        }
        let url = url.unwrap();
        let (address, path) = url
            .strip_prefix("http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        Self {
            address: address.parse().unwrap(),
            path: format!("/{path}"),
            headers,
            body,
        }
    }

    /// Sends the request that curl would send.
    pub(crate) fn run(&self) -> Value {
        let body = self
            .body
            .as_deref()
            .map(|body| match body.strip_prefix('@') {
                Some(file) => std::fs::read_to_string(file).unwrap(),
                None => body.to_owned(),
            });
        let method = if body.is_some() { "POST" } else { "GET" };
        let body = body.unwrap_or_default();
        let head = [
            format!("{method} {} HTTP/1.1", self.path),
            format!("Host: {}", self.address),
            "Connection: close".to_owned(),
            format!("Content-Length: {}", body.len()),
        ];
        let head = head
            .iter()
            .chain(&self.headers)
            .map(|line| format!("{line}\r\n"));
        let request: String = head.chain(["\r\n".to_owned(), body]).collect();
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|_| panic!("not JSON: {answer}"))
    }
}

/// Splits a line into words, some of which are in single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// The binary with nothing in its environment.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-server"));
    command.env_clear().args(arguments).stdin(Stdio::null());
    command
}
