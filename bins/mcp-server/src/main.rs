//! The command `mcp-server`; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_server::run()
}
