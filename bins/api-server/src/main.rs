//! The command `api-server`; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    api_server::run_cli()
}
