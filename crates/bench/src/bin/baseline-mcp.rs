//! A tool of the official Rust SDK that gives back a recorded result: `baseline-mcp RESULT`.
#![expect(
    unused_crate_dependencies,
    reason = "the library of this package uses them"
)]

use std::path::PathBuf;

use bench::BenchError;
use bench::baseline::mcp;
use clap::Parser;

/// An echo over the official Rust SDK.
#[derive(Debug, Parser)]
struct Arguments {
    /// The recorded result, a JSON object.
    result: PathBuf,
}

#[tokio::main]
async fn main() -> Result<(), BenchError> {
    let Arguments { result } = Arguments::parse();
    let text = std::fs::read_to_string(&result).map_err(BenchError::io(&result))?;
    mcp::serve(text.trim_end()).await
}
