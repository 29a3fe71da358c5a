#![doc = include_str!("../README.md")]

mod cli;
mod exit;
mod now;
mod plan;
mod printable;
mod source;

use std::{io::Write as _, process::ExitCode};

use clap::Parser as _;

pub use self::exit::Exit;

/// Runs the tool with the process's own arguments, streams and clock.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, everything else is a usage error; clap prints each to its own stream.
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Ok
            };
            drop(error.print());
            return exit.into();
        }
    };
    let outcome = match cli.command {
        cli::Command::Plan {
            command: cli::PlanCommand::Verify(arguments),
        } => plan::verify(&arguments),
    };
    // A closed pipe is not a reason to report another outcome.
    drop(std::io::stdout().write_all(outcome.stdout.as_bytes()));
    drop(std::io::stderr().write_all(outcome.stderr.as_bytes()));
    outcome.exit.into()
}
