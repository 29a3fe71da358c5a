//! The command line.

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};

use crate::time::Part;

/// Tasks of this workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub struct Cli {
    /// The task.
    #[command(subcommand)]
    pub task: Task,
}

/// One task.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Everything a change must pass.
    Test(Steps),
    /// Format, lints, layering, docs, licences and bans.
    Lint(Steps),
    /// The dependencies of the crates, circles of modules, the width of comments.
    Layering,
    /// Lines of each crate: sources and tests.
    Lines,
    /// Compiles and tests the signers that are services, which the tests leave out; slow the first
    /// time.
    Signers,
    /// Foreign clients against the server (needs node and python).
    E2e,
    /// The stores on a throw-away PostgreSQL, which is installed where it is missing.
    Postgres,
    /// The server against bare baselines; arguments go to the benchmark.
    Bench {
        /// `--quick`, `--json`, `--help`, …
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// A hostile crowd and failing dependencies against both servers; arguments go to the siege.
    Siege {
        /// `--minutes`, `--seed`, `--quick`, `--help`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// How long the first command, the programs and the loop of work take, in a clean clone.
    Time {
        /// The parts to measure. `shipped` and `test` take long.
        #[arg(value_enum, default_values = ["programs", "loop"])]
        parts: Vec<Part>,
    },
    /// Writes the generated parts of the docs again.
    Docs,
    /// Writes the public interfaces of the crates that strangers depend on.
    Api,
    /// Records live upstream answers for the demo and the tests; arguments go to the recorder.
    Record {
        /// `--listen`, `--into`, `--help`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// How a sequence of steps runs.
#[derive(Debug, Clone, Copy, Args)]
pub struct Steps {
    /// Run the remaining steps after a failure too.
    #[arg(long)]
    pub keep_going: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_siege_gets_its_arguments_untouched() {
        let cli = Cli::try_parse_from(["xtask", "siege", "--minutes", "3", "--seed", "7"]).unwrap();
        let Task::Siege { arguments } = cli.task else {
            panic!("another task")
        };
        assert_eq!(arguments, ["--minutes", "3", "--seed", "7"]);
    }

    #[test]
    fn the_benchmark_gets_its_arguments_untouched() {
        let cli = Cli::try_parse_from(["xtask", "bench", "--quick", "--only", "unpaid"]).unwrap();
        let Task::Bench { arguments } = cli.task else {
            panic!("another task")
        };
        assert_eq!(arguments, ["--quick", "--only", "unpaid"]);
    }
}
