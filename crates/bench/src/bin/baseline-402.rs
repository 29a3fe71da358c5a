//! Sends the recorded answer of an unpaid call to every request: `baseline-402 ANSWER`.
#![expect(
    unused_crate_dependencies,
    reason = "the library of this package uses them"
)]

use std::path::PathBuf;

use bench::BenchError;
use bench::baseline::{fixed, recorded};
use clap::Parser;

/// Fixed bytes over hyper.
#[derive(Debug, Parser)]
struct Arguments {
    /// The recorded answer.
    answer: PathBuf,
}

#[tokio::main]
async fn main() -> Result<(), BenchError> {
    let Arguments { answer } = Arguments::parse();
    fixed::serve(recorded(&answer)?).await
}
