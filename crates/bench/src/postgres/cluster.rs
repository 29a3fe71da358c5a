//! A throw-away PostgreSQL cluster.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs, process};

use crate::BenchError;

/// Users that are not root: the server refuses to run as root.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// A running cluster in a folder of its own, with the server's own settings. It ends, and its
/// folder goes, with this value.
#[derive(Debug)]
pub(super) struct Cluster {
    folder: PathBuf,
    port: u16,
}

impl Cluster {
    /// Whether the server's programs are here.
    pub(super) fn is_installed() -> bool {
        tool("initdb").is_some()
    }

    pub(super) fn start() -> Result<Self, BenchError> {
        let folder = env::temp_dir().join(format!("bench-postgres-{}", process::id()));
        fs::create_dir_all(&folder).map_err(BenchError::io(&folder))?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let cluster = Self { folder, port };
        if let Some(user) = other_user() {
            run(Command::new("chown").arg(user).arg(&cluster.folder))?;
        }
        let data = cluster.data();
        run(cluster
            .server_tool("initdb")
            .args(["--auth=trust", "--username=svc", "--encoding=UTF8"])
            .args([OsStr::new("--pgdata"), data.as_os_str()]))?;
        let settings = format!(
            "-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={}",
            cluster.folder.display()
        );
        run(cluster
            .server_tool("pg_ctl")
            .args(["start", "--wait", "--silent", "--options", &settings])
            .args([OsStr::new("--pgdata"), data.as_os_str()])
            .args([OsStr::new("--log"), cluster.folder.join("log").as_os_str()]))?;
        Ok(cluster)
    }

    pub(super) fn url(&self) -> String {
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
        let ended = run(&mut stop).is_ok() && fs::remove_dir_all(&self.folder).is_ok();
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
    let newest_first = versions.into_iter().rev();
    folders.extend(newest_first.map(|version| version.join("bin")));
    let mut found = folders.into_iter().map(|folder| folder.join(name));
    found.find(|path| path.is_file())
}

fn run(command: &mut Command) -> Result<(), BenchError> {
    let program = command.get_program().to_owned();
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .map_err(BenchError::io(&program))?;
    if output.success() {
        return Ok(());
    }
    Err(BenchError::Cluster {
        what: format!("{command:?} ended with {output}"),
    })
}

/// The user who runs the server, where this program runs as root.
fn other_user() -> Option<&'static str> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let exists = |user: &&str| {
        let entry = format!("{user}:");
        users.lines().any(|line| line.starts_with(&entry))
    };
    let is_root = rustix::process::geteuid().is_root();
    is_root.then(|| USERS.into_iter().find(exists)).flatten()
}
