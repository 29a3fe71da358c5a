//! The binary: see the crate documentation.

use std::process::ExitCode;

fn main() -> ExitCode {
    fence_cli::main()
}
