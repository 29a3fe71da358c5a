//! A guest: runs the demo as a newcomer does, and tries the lines that the demo prints.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;

use serde_json::Value;
use test_support::process::{self, Ended, Server, Signal, program};
use test_support::wait;

use crate::process::server::exchange;

const BINARY: &str = env!("CARGO_BIN_EXE_mcp-server");

/// Runs the binary to its end, with an empty environment.
pub(crate) fn run(arguments: &[&str]) -> Ended {
    process::run(program(BINARY, &[]).args(arguments))
}

/// A running demo. Dropping it kills the process.
pub(crate) struct Guest {
    demo: Server,
    /// The `curl` commands that the demo printed.
    pub(crate) lines: Vec<Line>,
    verify: String,
}

/// One `curl` command.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: Option<String>,
}

impl Guest {
    /// Starts the demo, and reads its output up to the last line.
    pub(crate) fn invited(arguments: &[&str]) -> Self {
        let demo = Server::spawn(program(BINARY, &[]).args(arguments));
        let last = |line: &str| {
            let is_last = line.starts_with("fence-cli plan verify ");
            is_last.then(|| line.to_owned())
        };
        let verify = wait(demo.wait_for_line(last)).expect("an invitation");
        let said = demo.stdout();
        let lines = said.lines().filter(|line| line.starts_with("curl "));
        Self {
            lines: lines.map(Line::parse).collect(),
            verify,
            demo,
        }
    }

    /// The file that the last line gives for an option.
    pub(crate) fn file(&self, option: &str) -> PathBuf {
        let words = words(&self.verify);
        let place = words.iter().position(|word| word == option).unwrap();
        PathBuf::from(&words[place + 1])
    }

    /// Ends the demo as Ctrl-C does.
    pub(crate) fn leave(self) -> Ended {
        self.demo.signal(Signal::INT);
        wait(self.demo.ended())
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
        let stream = TcpStream::connect(self.address).unwrap();
        let headers: String = self
            .headers
            .iter()
            .map(|line| format!("{line}\r\n"))
            .collect();
        let answer = exchange(stream, &format!("{method} {}", self.path), &headers, &body);
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("not JSON: {answer}"))
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
