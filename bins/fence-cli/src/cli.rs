//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use plan_checks::UtcSeconds;

use crate::now;

/// Verifies unsigned plans offline, for the request they were built for.
#[derive(Debug, Parser)]
#[command(name = "fence-cli", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 ok, 1 refused (by name), 2 usage, 3 a file cannot be used";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Work with plans
    Plan {
        #[command(subcommand)]
        command: PlanCommand,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// Judge a plan again: every check on its own bytes, its digest, its expiry, and that it answers this request
    #[command(after_help = EXIT_CODES)]
    Verify(Verify),
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The plan: the envelope as the tool returned it (`-`: standard input)
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: PathBuf,
    /// The request: the `arguments` that were sent to the tool (`-`: standard input)
    #[arg(long, value_name = "FILE")]
    pub(crate) request: PathBuf,
    /// The reviewed fee configuration (TOML)
    #[arg(long, value_name = "FILE")]
    pub(crate) fees: PathBuf,
    /// Accept a bridge plan for an `eoa` whose code nobody read on the source chain
    #[arg(long)]
    pub(crate) allow_unread_accounts: bool,
    /// Refuse a plan with transactions that was not run before it was given, unless its account lacks the input
    #[arg(long)]
    pub(crate) require_simulation: bool,
    /// Judge as if it were this time [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = now::parse)]
    pub(crate) now: Option<UtcSeconds>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
