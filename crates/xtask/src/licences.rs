//! Runs `cargo deny`: it checks the bans, licences and sources of everything in the lock file.

use std::path::{Path, PathBuf};

use crate::XtaskError;
use crate::cache::Cache;
use crate::command;

/// The version of the tool. `deny.toml` is written in its format.
const VERSION: &str = "0.20.2";

/// Checks the workspace at `root` with its `deny.toml`.
///
/// # Errors
/// The tool cannot be installed, or it has found something.
pub fn check(root: &Path) -> Result<(), XtaskError> {
    let tool = tool()?;
    command::run(
        command::program(tool)
            .current_dir(root)
            // Do not print warnings. A second version of a small crate matters when dependencies
            // are updated, not in every run.
            .args(["--locked", "--all-features", "--log-level", "error"])
            .args(["check", "--hide-inclusion-graph"])
            .args(["bans", "licenses", "sources"]),
    )
}

/// Returns the tool. The one in the path is used when it has the pinned version. Otherwise the one
/// of the cache is used, and built if it is missing.
fn tool() -> Result<PathBuf, XtaskError> {
    let expected = format!("cargo-deny {VERSION}");
    let installed = command::output(command::program("cargo-deny").arg("--version"));
    if installed.is_ok_and(|version| version == expected) {
        return Ok(PathBuf::from("cargo-deny"));
    }
    let folder = Cache::of_user()?.entry(&format!("cargo-deny-{VERSION}"), install)?;
    Ok(folder.join("bin").join("cargo-deny"))
}

/// Builds the tool without optimisation and without the parts of its advisory check, because it
/// runs only for seconds.
fn install(folder: &Path) -> Result<(), XtaskError> {
    println!("building {VERSION} of cargo-deny, once");
    let target = folder.join("target");
    command::run(
        command::cargo()
            .current_dir(folder)
            .args([
                "install",
                "cargo-deny",
                "--locked",
                "--debug",
                "--no-default-features",
                "--quiet",
            ])
            .args(["--version", VERSION])
            .arg("--root")
            .arg(folder)
            .env("CARGO_TARGET_DIR", &target)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_PROFILE_DEV_INCREMENTAL", "false"),
    )?;
    std::fs::remove_dir_all(&target).map_err(XtaskError::io(&target))
}
