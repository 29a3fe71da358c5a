//! `recorder`: see the crate documentation.

#![allow(clippy::print_stderr, reason = "a command-line tool")]

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::Parser;
use http_edge::{Limits, Server, announce, shutdown_signal};
use recorder::{Library, Proxy, Scheme};

/// Records live upstream answers in the form that the demo and the tests replay.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask record", bin_name = "cargo xtask record")]
struct Arguments {
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:8499")]
    listen: SocketAddr,
    /// The folder with one folder for each upstream.
    #[arg(long, default_value = "fixtures/upstreams")]
    into: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    match record(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn record(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let library = Library::open(&arguments.into)?;
    let proxy = Proxy::new(library, Scheme::Https)?;
    let server = Server::bind(arguments.listen, Limits::default()).await?;
    let address = server.local_addr();
    eprintln!(
        "recording into {}; set an upstream's address to http://{address}/HOST, for example",
        arguments.into.display()
    );
    eprintln!("  SVC__UPSTREAMS__COINGECKO__BASE_URL=http://{address}/api.coingecko.com");
    let shutdown = shutdown_signal();
    announce(address);
    server.serve(std::sync::Arc::new(proxy), shutdown).await;
    Ok(())
}
