//! `cargo deny`: bans, licences and sources of everything in the lock file.

use std::path::{Path, PathBuf};

use crate::XtaskError;
use crate::cache::Cache;
use crate::command;

/// The version whose configuration format `deny.toml` is written in.
const VERSION: &str = "0.20.2";

/// Checks the workspace at `root` against its `deny.toml`.
///
/// # Errors
/// When the tool cannot be installed or finds something.
pub fn check(root: &Path) -> Result<(), XtaskError> {
    let tool = tool()?;
    command::run(
        command::program(tool)
            .current_dir(root)
            // Without warnings: a second version of a small crate matters when dependencies are
            // updated, not in every run.
            .args(["--locked", "--all-features", "--log-level", "error"])
            .args(["check", "--hide-inclusion-graph"])
            .args(["bans", "licenses", "sources"]),
    )
}

/// The tool: from the path when its version is the pinned one, otherwise from the cache, built if
/// missing.
fn tool() -> Result<PathBuf, XtaskError> {
    let expected = format!("cargo-deny {VERSION}");
    let installed = command::output(command::program("cargo-deny").arg("--version"));
    if installed.is_ok_and(|version| version == expected) {
        return Ok(PathBuf::from("cargo-deny"));
    }
    let folder = Cache::of_user()?.entry(&format!("cargo-deny-{VERSION}"), install)?;
    Ok(folder.join("bin").join("cargo-deny"))
}

/// Builds the tool without optimisation and without the parts of its advisory check: it only runs
/// for seconds.
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
