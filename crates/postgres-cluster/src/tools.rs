//! Finds the programs of PostgreSQL, and the user that may run them.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use crate::ClusterError;

/// Users other than root, because the server refuses to run as root.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// A command for a program of PostgreSQL, as a user that may run it.
pub(crate) fn tool(program: &'static str) -> Result<Command, ClusterError> {
    let path = find(program).ok_or(ClusterError::NotInstalled { program })?;
    let mut command = match other_user() {
        Some(user) => {
            let mut command = Command::new("runuser");
            command.args(["-u", user, "--"]).arg(path);
            command
        }
        None => Command::new(path),
    };
    command.env("LC_ALL", "C");
    Ok(command)
}

/// Finds a program on the search path, or in Debian's folders, where the newest version comes
/// first.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<PathBuf> = versions.flatten().map(|entry| entry.path()).collect();
    versions.sort();
    let installed = versions
        .into_iter()
        .rev()
        .map(|version| version.join("bin"));
    let mut found = env::split_paths(&path)
        .chain(installed)
        .map(|folder| folder.join(program));
    found.find(|path| path.is_file())
}

/// The user that runs the server when this process runs as root.
pub(crate) fn other_user() -> Option<&'static str> {
    let id = Command::new("id").arg("-u").output();
    let is_root = id.is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let exists = |user: &&str| {
        let start = format!("{user}:");
        users.lines().any(|line| line.starts_with(&start))
    };
    is_root.then(|| USERS.into_iter().find(exists)).flatten()
}
