//! The command `api-server`. The library does all the work.

use std::process::ExitCode;

fn main() -> ExitCode {
    api_server::run_cli()
}
