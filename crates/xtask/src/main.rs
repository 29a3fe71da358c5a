//! `cargo xtask`: see the crate documentation.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    xtask::run(xtask::Cli::parse())
}
