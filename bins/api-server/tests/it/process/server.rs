//! The binary as a child process.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::oneshot;

use crate::process::{PATIENCE, eventually};

/// The environment of one run, which has no other variables.
pub(crate) type Environment<'a> = &'a [(&'a str, &'a str)];

/// A running `api-server serve`. It is killed when this is dropped.
pub(crate) struct Server {
    child: Killer,
    address: Option<SocketAddr>,
    announced: Option<oneshot::Receiver<SocketAddr>>,
    log: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

/// A handle that can kill a server without owning it.
#[derive(Clone)]
pub(crate) struct Killer(Arc<Mutex<Child>>);

impl Killer {
    /// Kills the server and waits for the end of the process, so that it has no further effect.
    pub(crate) fn kill(&self) {
        let mut child = self.0.lock().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Server {
    /// Starts the server and waits for the line with its address.
    pub(crate) async fn start(config: &Path, environment: Environment<'_>) -> Self {
        let mut server = Self::spawn(config, environment);
        assert!(server.listens().await, "did not start:\n{}", server.log());
        server
    }

    /// Starts the server without waiting.
    pub(crate) fn spawn(config: &Path, environment: Environment<'_>) -> Self {
        Self::spawn_with(
            &["serve", "--config", config.to_str().unwrap()],
            environment,
        )
    }

    /// Starts the server on a system where no file can exceed this many KiB, and waits until it
    /// listens.
    pub(crate) async fn start_with_files_up_to(kib: u32, config: &Path) -> Self {
        let blocks = kib * 2;
        Self::start_after(&format!(r#"trap "" XFSZ; ulimit -f {blocks}"#), config).await
    }

    /// Starts the server on a system with at most this many descriptors, and waits until it
    /// listens.
    pub(crate) async fn start_with_descriptors(count: u32, config: &Path) -> Self {
        Self::start_after(&format!("ulimit -n {count}"), config).await
    }

    /// Starts the server from a shell that first runs another command, and waits until it listens.
    async fn start_after(done: &str, config: &Path) -> Self {
        let limited = format!(r#"{done} && exec "$@""#);
        let mut command = Command::new("/bin/sh");
        command.env_clear().args(["-c", &limited, "sh"]);
        command.args([env!("CARGO_BIN_EXE_api-server"), "serve", "--config"]);
        command.arg(config);
        let mut server = Self::run(command);
        assert!(server.listens().await, "did not start:\n{}", server.log());
        server
    }

    /// Starts a command that serves.
    pub(crate) fn spawn_with(arguments: &[&str], environment: Environment<'_>) -> Self {
        let mut command = command(environment);
        command.args(arguments);
        Self::run(command)
    }

    fn run(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (announce, announced) = oneshot::channel();
        let stdout = keep_lines(child.stdout.take().unwrap(), log.clone(), None);
        let stderr = keep_lines(child.stderr.take().unwrap(), log.clone(), Some(announce));
        Self {
            child: Killer(Arc::new(Mutex::new(child))),
            address: None,
            announced: Some(announced),
            log,
            readers: vec![stdout, stderr],
        }
    }

    /// Waits until the server listens; `false` when it ends before.
    pub(crate) async fn listens(&mut self) -> bool {
        if let Some(announced) = self.announced.take() {
            let announced = tokio::time::timeout(PATIENCE, announced).await;
            self.address = announced.expect("neither listening nor ended").ok();
        }
        self.address.is_some()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address.expect("the server listens")
    }

    pub(crate) fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address())
    }

    /// The log so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn killer(&self) -> Killer {
        self.child.clone()
    }

    /// The process id.
    pub(crate) fn id(&self) -> i32 {
        self.child.0.lock().unwrap().id().try_into().unwrap()
    }

    pub(crate) fn terminate(&self) {
        kill_process(Pid::from_raw(self.id()).unwrap(), Signal::TERM).unwrap();
    }

    /// Waits for the end. Returns the status and the whole output.
    pub(crate) async fn ended(mut self) -> (ExitStatus, String) {
        let status = eventually("the server's end", async || {
            self.child.0.lock().unwrap().try_wait().unwrap()
        })
        .await;
        self.readers
            .drain(..)
            .for_each(|reader| reader.join().unwrap());
        (status, self.log())
    }

    /// Sends SIGTERM to a server without requests in flight, and asserts a prompt end without
    /// warnings.
    pub(crate) async fn stop(self) -> String {
        let asked = Instant::now();
        self.terminate();
        let (status, log) = self.ended().await;
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(
            asked.elapsed() < PATIENCE / 3,
            "idle, and not gone after {:?}",
            asked.elapsed()
        );
        log
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(mut child) = self.child.0.lock() {
            // The server may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Collects lines until the pipe ends, and passes on the address that one of them announces.
fn keep_lines(
    pipe: impl Read + Send + 'static,
    log: Arc<Mutex<String>>,
    mut announce: Option<oneshot::Sender<SocketAddr>>,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let address = line.strip_prefix("listening on http://");
            if let Some(address) = address.and_then(|address| address.parse().ok())
                && let Some(announce) = announce.take()
            {
                // The receiver may be dropped.
                let _ = announce.send(address);
            }
            writeln!(log.lock().unwrap(), "{line}").unwrap();
        }
    })
}

/// Runs the binary to its end.
pub(crate) fn run(arguments: &[&str], environment: Environment<'_>) -> Output {
    let child = command(environment)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let id = Pid::from_child(&child);
    let (send, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || send.send(child.wait_with_output().unwrap()));
    ended.recv_timeout(test_support::PATIENCE).unwrap_or_else(|_| {
        kill_process(id, Signal::KILL).unwrap();
        let output = ended.recv().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        panic!("{arguments:?} did not end:\n{stderr}");
    })
}

/// A command with exactly this environment: no proxy and no configuration of the machine's user.
fn command(environment: Environment<'_>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_api-server"));
    command.env_clear().envs(environment.iter().copied());
    command
}

/// The output of a command as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
