//! Builds the pure crates for WebAssembly. A browser or another host can embed them.

use std::path::Path;

use crate::{XtaskError, command};

/// The target without an operating system.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// The crates that build for [`TARGET`]. None of them has C code.
pub const CRATES: [&str; 8] = [
    "credit",
    "exact",
    "plan-builder",
    "calldata-checks",
    "readings",
    "route-catalog",
    "x402-wire",
    "yield-watch",
];

/// Makes sure that the toolchain has the target. If it is missing, rustup adds it.
///
/// # Errors
/// The target is missing, and rustup cannot add it.
pub fn target() -> Result<(), XtaskError> {
    if installed()? {
        return Ok(());
    }
    command::run(command::program("rustup").args(["target", "add", TARGET]))
}

fn installed() -> Result<bool, XtaskError> {
    let mut rustc = command::program("rustc");
    rustc.args(["--print", "target-libdir", "--target", TARGET]);
    Ok(Path::new(&command::output(&mut rustc)?).exists())
}
