//! A tool of the official Rust SDK that does no work of its own: `baseline-mcp --setup
//! echo|cheapest RESULT`.
#![expect(
    unused_crate_dependencies,
    reason = "the library of this package uses them"
)]

use std::path::PathBuf;

use bench::BenchError;
use bench::baseline::mcp;
use clap::Parser;

/// An echo, or a recorded result, over the official Rust SDK.
#[derive(Debug, Parser)]
struct Arguments {
    /// How the SDK is set up.
    #[arg(long, value_enum)]
    setup: mcp::Setup,
    /// The recorded result, a JSON object; an echo does not look at it.
    result: PathBuf,
}

#[tokio::main]
async fn main() -> Result<(), BenchError> {
    let Arguments { setup, result } = Arguments::parse();
    let text = std::fs::read_to_string(&result).map_err(BenchError::io(&result))?;
    mcp::serve(setup, text.trim_end()).await
}
