//! The measurements of `cargo xtask bench`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool"
)]
#![expect(
    unused_crate_dependencies,
    reason = "the library of this package uses them"
)]

use std::process::ExitCode;

use bench::suite::{self, Effort, Group, Site};
use clap::Parser;

/// Measures the server against bare baselines. Every figure is processor time of the server per
/// request, measured from outside, as the median of rounds in which the servers take turns. Ends
/// with 1 when a limit is exceeded.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
struct Arguments {
    /// Fewer and shorter rounds.
    #[arg(long)]
    quick: bool,
    /// Print the result as JSON (nanoseconds and bytes) instead of a table.
    #[arg(long)]
    json: bool,
    /// Only these groups of measurements.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Group>,
    /// A PostgreSQL database on this machine, `postgres://…`, instead of a throw-away cluster. The
    /// measurements have schemas of their own there.
    #[arg(long)]
    database: Option<String>,
    /// Also measure a table of ten million entries, which takes minutes and eight gigabytes.
    #[arg(long)]
    ten_million: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("no result: {error}");
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: &Arguments) -> Result<bool, bench::BenchError> {
    let effort = Effort {
        ten_million: arguments.ten_million,
        ..if arguments.quick {
            Effort::QUICK
        } else {
            Effort::FULL
        }
    };
    let groups = if arguments.only.is_empty() {
        &Group::ALL
    } else {
        arguments.only.as_slice()
    };
    let site = Site::of_this_program()?.with_database(arguments.database.clone());
    let report = suite::run(&site, effort, groups).await?;
    if arguments.json {
        println!("{}", report.to_json()?);
    } else {
        println!("{report}");
    }
    Ok(report.is_kept())
}
