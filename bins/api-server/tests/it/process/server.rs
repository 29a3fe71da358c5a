//! The binary as a child process.

use std::path::Path;
use std::process::Command;

use test_support::process::{self, Ended, limited, program};

pub(crate) use test_support::process::{Killer, Server};

const BINARY: &str = env!("CARGO_BIN_EXE_api-server");

/// The environment of one run. The process gets no other variables.
pub(crate) type Environment<'a> = &'a [(&'a str, &'a str)];

/// Starts `serve` and waits until it listens.
pub(crate) async fn start_server(config: &Path, environment: Environment<'_>) -> Server {
    Server::start(serving(&mut program(BINARY, environment), config)).await
}

/// Starts `serve` without waiting for anything.
pub(crate) fn spawn(config: &Path) -> Server {
    Server::spawn(serving(&mut program(BINARY, &[]), config))
}

/// Starts `serve` under limits that a shell sets, and waits until it listens.
pub(crate) async fn start_limited(limits: &str, config: &Path) -> Server {
    Server::start(serving(&mut limited(BINARY, limits), config)).await
}

/// Starts `demo` on a free port.
pub(crate) async fn demo() -> Server {
    Server::start(program(BINARY, &[]).args(["demo", "--listen", "127.0.0.1:0"])).await
}

/// Runs the binary to its end.
pub(crate) fn run(arguments: &[&str], environment: Environment<'_>) -> Ended {
    process::run(program(BINARY, environment).args(arguments))
}

fn serving<'a>(command: &'a mut Command, config: &Path) -> &'a mut Command {
    command.args(["serve", "--config"]).arg(config)
}
