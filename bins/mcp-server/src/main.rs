//! The command `mcp-server`. The library does the work.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_server::run()
}
