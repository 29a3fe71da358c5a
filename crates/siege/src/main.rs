//! The siege of `cargo xtask siege`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool"
)]
#![expect(
    unused_crate_dependencies,
    reason = "the library of this package uses them"
)]

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use siege::SiegeError;
use siege::judge::Finding;
use siege::run::{SiegeOutcome, hold};
use siege::scale::{Scale, Settlement};

/// A hostile crowd and failing dependencies against the servers, with honest buyers beside them.
/// Ends with 1 when a promise was broken, and with 2 when the siege could not be held.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask siege", bin_name = "cargo xtask siege")]
struct Arguments {
    /// How long the crowd stays.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    minutes: u64,
    /// The seed of all randomness; a new one when absent.
    #[arg(long)]
    seed: Option<u64>,
    /// Half a minute, with generous limits of time.
    #[arg(long, conflicts_with = "minutes")]
    quick: bool,
    /// The settler.
    #[arg(long, value_enum, default_value_t = Settlement::Facilitator)]
    settlement: Settlement,
    /// How many servers the paid API has. Several share a throw-away PostgreSQL, which must be
    /// installed; one has a SQLite file.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    servers: u8,
    /// How often each server is killed and started again. Their memory is measured after the last
    /// time.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=20))]
    kills: u32,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let seed = arguments.seed.unwrap_or_else(rand::random);
    println!("seed {seed}");
    match run(&arguments, seed) {
        Ok(outcome) => report(&outcome, seed),
        Err(error) => {
            eprintln!("no siege: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments, seed: u64) -> Result<SiegeOutcome, SiegeError> {
    bench::process::raise_file_limit();
    let own = std::env::current_exe()?;
    let programs = own.parent().unwrap_or(Path::new(".")).to_owned();
    let scale = Scale {
        settlement: arguments.settlement,
        servers: arguments.servers.into(),
        kills: arguments.kills,
        ..match arguments.quick {
            true => Scale::QUICK,
            false => Scale::minutes(arguments.minutes),
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(hold(&programs, scale, seed))
}

fn report(outcome: &SiegeOutcome, seed: u64) -> ExitCode {
    println!("\nwhat the crowd was answered");
    for (attack, answers) in &outcome.crowd {
        println!("        {attack:<44} {answers}");
    }
    println!("\npromises");
    for finding in &outcome.findings {
        println!("{finding}");
    }
    let broken: Vec<&str> = outcome
        .findings
        .iter()
        .filter(|finding| !finding.is_kept())
        .map(|finding: &Finding| finding.promise)
        .collect();
    if broken.is_empty() {
        println!("\nevery promise was kept, seed {seed}");
        return ExitCode::SUCCESS;
    }
    eprintln!("\nbroken with seed {seed}: {}", broken.join("; "));
    ExitCode::FAILURE
}
