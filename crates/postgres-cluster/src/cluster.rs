//! A PostgreSQL server for tests and measurements, in its own folder. It ends with its value and
//! keeps nothing.

use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use tempfile::TempDir;

use crate::ClusterError;
use crate::tools::{find, other_user, tool};

/// The database role of every connection. It has all rights and no password.
const ROLE: &str = "svc";

/// How many bytes of the server's log an error has.
const LOG_END: usize = 2_000;

/// A PostgreSQL server. Dropping the value stops the server and removes its folder.
#[derive(Debug)]
pub struct Cluster {
    folder: TempDir,
    address: SocketAddr,
    runs: bool,
}

impl Cluster {
    /// Whether PostgreSQL's server is installed on this machine.
    #[must_use]
    pub fn is_installed() -> bool {
        find("initdb").is_some()
    }

    /// Starts an empty server.
    ///
    /// # Errors
    /// PostgreSQL is not installed, or the server does not start.
    pub fn start() -> Result<Self, ClusterError> {
        let mut cluster = Self::in_new_folder()?;
        let mut make = tool("initdb")?;
        make.args(["--no-sync", "--auth=trust", "--encoding=UTF8"])
            .args(["--username", ROLE]);
        cluster.run(&mut make)?;
        cluster.resume()?;
        Ok(cluster)
    }

    /// Starts a replica that follows `primary`. The primary does not wait for it.
    ///
    /// # Errors
    /// The primary cannot be copied, or the replica does not start.
    pub fn standby_of(primary: &Self) -> Result<Self, ClusterError> {
        let mut cluster = Self::in_new_folder()?;
        let mut copy = tool("pg_basebackup")?;
        copy.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync"])
            .args(["--host", &primary.address.ip().to_string()])
            .args(["--port", &primary.address.port().to_string()])
            .args(["--username", ROLE]);
        cluster.run(&mut copy)?;
        cluster.resume()?;
        Ok(cluster)
    }

    /// Starts the server again after a stop, and waits until it accepts connections.
    ///
    /// # Errors
    /// The server does not start.
    pub fn resume(&mut self) -> Result<(), ClusterError> {
        let options = format!(
            "-c listen_addresses={} -c port={} -c max_connections=400 \
             -c unix_socket_directories={}",
            self.address.ip(),
            self.address.port(),
            self.folder.path().display()
        );
        let mut start = tool("pg_ctl")?;
        start.args(["start", "--wait", "--silent", "--options", &options]);
        start.args([OsStr::new("--log"), self.log().as_os_str()]);
        // The server may run even if it does not answer in time.
        self.runs = true;
        self.run(&mut start)
    }

    /// Stops the server at once, as a power failure would.
    ///
    /// # Errors
    /// The server does not end.
    pub fn stop_immediately(&mut self) -> Result<(), ClusterError> {
        let mut stop = tool("pg_ctl")?;
        stop.args(["stop", "--mode=immediate", "--silent"]);
        self.run(&mut stop)?;
        self.runs = false;
        Ok(())
    }

    /// Makes the replica a primary, which accepts writes.
    ///
    /// # Errors
    /// The server is not a replica, or does not end its recovery.
    pub fn promote(&self) -> Result<(), ClusterError> {
        let mut promote = tool("pg_ctl")?;
        promote.args(["promote", "--wait", "--silent"]);
        self.run(&mut promote)
    }

    /// The URL of the server's database.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://{ROLE}@{}/postgres", self.address)
    }

    /// The address on which the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn in_new_folder() -> Result<Self, ClusterError> {
        let folder = tempfile::Builder::new().prefix("postgres-").tempdir();
        let folder = folder.map_err(ClusterError::io("a temporary folder"))?;
        let address = free_port().map_err(ClusterError::io("a free port"))?;
        let cluster = Self {
            folder,
            address,
            runs: false,
        };
        if let Some(user) = other_user() {
            let mut own = Command::new("chown");
            cluster.run_alone(own.arg(user).arg(cluster.folder.path()))?;
        }
        Ok(cluster)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Runs a program of PostgreSQL on this server's data.
    fn run(&self, command: &mut Command) -> Result<(), ClusterError> {
        self.run_alone(command.arg("--pgdata").arg(self.data()))
    }

    fn run_alone(&self, command: &mut Command) -> Result<(), ClusterError> {
        // Another user may not enter this process's working folder. The server inherits the
        // streams, so standard error goes to a file: a pipe would never end.
        let path = self.folder.path().join("said");
        let said = fs::File::create(&path).map_err(ClusterError::io(&path))?;
        let status = command
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .status()
            .map_err(|source| ClusterError::Io {
                what: text(command),
                source,
            })?;
        match status.success() {
            true => Ok(()),
            false => Err(ClusterError::Failed {
                command: text(command),
                said: end_of(&path),
                log: end_of(&self.log()),
            }),
        }
    }
}

impl Drop for Cluster {
    #[expect(
        clippy::print_stderr,
        reason = "a test that has passed does not fail by what it leaves"
    )]
    fn drop(&mut self) {
        if self.runs
            && let Err(error) = self.stop_immediately()
        {
            eprintln!("{} was not stopped: {error}", self.url());
        }
    }
}

/// A free address of the loopback interface.
fn free_port() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

fn end_of(path: &Path) -> String {
    let text = fs::read(path).unwrap_or_default();
    let start = text.len().saturating_sub(LOG_END);
    let end = text.get(start..).unwrap_or_default();
    String::from_utf8_lossy(end).trim().to_owned()
}

fn text(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}
