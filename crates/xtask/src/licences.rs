//! Runs `cargo deny`: it checks the bans, licences and sources of everything in the lock file, and,
//! when a database of advisories is at hand, the advisories.

use std::env;
use std::path::{Path, PathBuf};

use crate::XtaskError;
use crate::cache::Cache;
use crate::command;

/// The version of the tool. `deny.toml` is written in its format.
const VERSION: &str = "0.20.2";

/// The folder of cargo's home in which the tool keeps databases of advisories.
const DATABASES: &str = "advisory-dbs";

/// Checks the workspace at `root` with its `deny.toml`. A database of advisories is not fetched:
/// without one, a line says that they are not checked.
///
/// # Errors
/// The tool cannot be installed, or it has found something.
pub fn check(root: &Path) -> Result<(), XtaskError> {
    let tool = tool()?;
    run(&tool, root, &[], &["bans", "licenses", "sources"])?;
    let databases = cargo_home().map(|home| home.join(DATABASES));
    if databases.is_some_and(|folder| has_database(&folder)) {
        return run(&tool, root, &["--offline"], &["advisories"]);
    }
    println!(
        "advisories are not checked: there is no database of them; `cargo deny fetch db` gets it"
    );
    Ok(())
}

fn run(tool: &Path, root: &Path, options: &[&str], checks: &[&str]) -> Result<(), XtaskError> {
    command::run(
        command::program(tool)
            .current_dir(root)
            // Do not print warnings. A second version of a small crate matters when dependencies
            // are updated, not in every run.
            .args(["--locked", "--all-features", "--log-level", "error"])
            .args(options)
            .args(["check", "--hide-inclusion-graph"])
            .args(checks),
    )
}

/// Whether a folder has a database of advisories.
fn has_database(folder: &Path) -> bool {
    let entries = folder.read_dir().into_iter().flatten();
    let mut folders = entries.filter_map(Result::ok).map(|entry| entry.path());
    folders.any(|folder| folder.join(".git").exists())
}

/// Returns cargo's home.
fn cargo_home() -> Option<PathBuf> {
    let named = env::var_os("CARGO_HOME").map(PathBuf::from);
    named.or_else(|| Some(env::home_dir()?.join(".cargo")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_a_repository() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!has_database(&folder.path().join("none")));
        assert!(!has_database(folder.path()));
        let database = folder.path().join("advisory-db-3157b0e258782691");
        std::fs::create_dir(&database).unwrap();
        assert!(!has_database(folder.path()));
        std::fs::create_dir(database.join(".git")).unwrap();
        assert!(has_database(folder.path()));
    }
}
