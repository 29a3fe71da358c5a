//! Tests on PostgreSQL: a throw-away cluster, and the suites of all stores on it.
//!
//! The suites run on SQLite with all other tests. Here they run again with `TEST_POSTGRES_URL`, so
//! that they open their stores in a schema of that database.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process};

use crate::XtaskError;
use crate::command;
use crate::counts::Counts;

/// Names the database to the tests.
const DATABASE: &str = "TEST_POSTGRES_URL";

/// The test targets of the crates whose tests use a schema of the database, and what of them runs
/// again.
pub const SUITES: &[(&str, &[&str])] = &[
    ("ledger", &[]),
    ("storage", &[]),
    ("tx_sender", &["store::"]),
    ("watch_server", &[]),
    ("gas_funding", &[]),
    ("wallet_actions", &["store"]),
    ("fence_server", &[]),
    (
        "api_server",
        &["process::postgres", "process::ledger", "process::online"],
    ),
    ("test_support", &["postgres"]),
];

/// Users that are not root: the server refuses to run as root.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// Starts a cluster, installing Debian's package where there is none, and runs the suites on it.
///
/// # Errors
/// When there is no PostgreSQL and none can be installed, the cluster does not start, or a test
/// fails.
pub fn test(root: &Path, counts: &mut Counts) -> Result<(), XtaskError> {
    let cluster = Cluster::start()?;
    let mut failed = None;
    for (target, filters) in SUITES {
        let mut tests = command::cargo();
        tests
            .current_dir(root)
            .args(["test", "--workspace", "--locked", "--no-fail-fast"])
            .args(["--test", target, "--"])
            .args(*filters)
            .env(DATABASE, cluster.url());
        if let Err(error) = command::run_tests(&mut tests, counts) {
            failed = Some(error);
        }
    }
    failed.map_or(Ok(()), Err)
}

/// A running cluster in a folder of its own. It ends, and its folder goes, with this value.
#[derive(Debug)]
struct Cluster {
    folder: PathBuf,
    port: u16,
}

impl Cluster {
    fn start() -> Result<Self, XtaskError> {
        if tool("initdb").is_none() {
            install()?;
        }
        let folder = env::temp_dir().join(format!("postgres-{}", process::id()));
        fs::create_dir_all(&folder).map_err(XtaskError::io(&folder))?;
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .map_err(XtaskError::io(&folder))?
            .port();
        let cluster = Self { folder, port };
        if let Some(user) = other_user() {
            command::run(Command::new("chown").arg(user).arg(&cluster.folder))?;
        }
        let data = cluster.data();
        command::run(
            cluster
                .server_tool("initdb")
                .args([
                    "--no-sync",
                    "--auth=trust",
                    "--username=svc",
                    "--encoding=UTF8",
                ])
                .args([OsStr::new("--pgdata"), data.as_os_str()]),
        )?;
        let settings = format!(
            "-c listen_addresses=127.0.0.1 -c port={port} -c max_connections=400 \
             -c unix_socket_directories={}",
            cluster.folder.display()
        );
        command::run(
            cluster
                .server_tool("pg_ctl")
                .args(["start", "--wait", "--silent", "--options", &settings])
                .args([OsStr::new("--pgdata"), data.as_os_str()])
                .args([OsStr::new("--log"), cluster.folder.join("log").as_os_str()]),
        )?;
        Ok(cluster)
    }

    fn url(&self) -> String {
        format!("postgres://svc@127.0.0.1:{}/postgres", self.port)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// A tool of the server, as a user who may run it.
    fn server_tool(&self, name: &str) -> Command {
        let path = tool(name).unwrap_or_else(|| name.into());
        let mut command = match other_user() {
            Some(user) => {
                let mut command = Command::new("runuser");
                command.args(["-u", user, "--"]).arg(path);
                command
            }
            None => Command::new(path),
        };
        // A user of its own may not enter the folder that this program was started in.
        command.current_dir(&self.folder).env("LC_ALL", "C");
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let data = self.data();
        let mut stop = self.server_tool("pg_ctl");
        stop.args(["stop", "--mode", "immediate", "--silent"]);
        stop.args([OsStr::new("--pgdata"), data.as_os_str()]);
        let ended = command::run(&mut stop).is_ok() && fs::remove_dir_all(&self.folder).is_ok();
        if !ended {
            eprintln!("the cluster in {} was not removed", self.folder.display());
        }
    }
}

/// Where a tool of the server is: on the path, or where Debian puts it.
fn tool(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<PathBuf> = versions.flatten().map(|entry| entry.path()).collect();
    versions.sort();
    folders.extend(
        versions
            .into_iter()
            .rev()
            .map(|version| version.join("bin")),
    );
    let mut found = folders.into_iter().map(|folder| folder.join(name));
    found.find(|path| path.is_file())
}

/// Installs Debian's package.
fn install() -> Result<(), XtaskError> {
    println!("PostgreSQL is missing: installing Debian's package");
    let arguments = ["install", "--yes", "--no-install-recommends", "postgresql"];
    let mut install = match is_root() {
        true => Command::new("apt-get"),
        false => {
            let mut sudo = Command::new("sudo");
            sudo.arg("apt-get");
            sudo
        }
    };
    command::run(
        install
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}

/// The user who runs the server, where this program runs as root.
fn other_user() -> Option<&'static str> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let exists = |user: &&str| {
        users
            .lines()
            .any(|line| line.starts_with(&format!("{user}:")))
    };
    is_root().then(|| USERS.into_iter().find(exists)).flatten()
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a test gets a schema of the database.
    const USE: &str = "test_support::postgres::";

    /// A suite that nobody runs on the database would pass without opening it.
    #[test]
    fn every_suite_that_uses_a_schema_is_run() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut using = Vec::new();
        for folder in ["bins", "crates"] {
            for entry in fs::read_dir(root.join(folder)).unwrap().flatten() {
                let tests = entry.path().join("tests");
                if uses(&tests) {
                    let name = entry.file_name().to_string_lossy().replace('-', "_");
                    using.push(name);
                }
            }
        }
        using.sort();
        let mut run: Vec<String> = SUITES.iter().map(|(name, _)| (*name).to_owned()).collect();
        run.sort();
        assert_eq!(using, run);
    }

    fn uses(path: &Path) -> bool {
        if path.is_dir() {
            let mut entries = fs::read_dir(path).unwrap().flatten();
            return entries.any(|entry| uses(&entry.path()));
        }
        path.extension().is_some_and(|extension| extension == "rs")
            && fs::read_to_string(path).is_ok_and(|text| text.contains(USE))
    }
}
