//! Runs programs of this workspace as child processes: commands that end by themselves, and servers
//! that run until a test ends them.
//!
//! A failure panics and shows the output of the program.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it needs by panicking"
)]

use std::io::{Read, Write as _};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, kill_process};
use serde_json::Value;

pub use rustix::process::Signal;

use crate::eventually::{PATIENCE, POLL};
use crate::wait;

/// How long a server without requests may take to end.
const PROMPTLY: Duration = Duration::from_secs(10);

/// Makes a command for a program with exactly this environment. The user's own environment has no
/// effect.
#[must_use]
pub fn program(path: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(path);
    command.env_clear().envs(environment.iter().copied());
    command
}

/// Makes a command for a program with an empty environment. A shell starts it after setting limits,
/// such as `ulimit -n 128`.
#[must_use]
pub fn limited(path: &str, limits: &str) -> Command {
    let mut command = program("/bin/sh", &[]);
    command.args(["-c", &format!("{limits} && exec \"$0\" \"$@\""), path]);
    command
}

/// Runs a command to its end, without input.
pub fn run(command: &mut Command) -> Ended {
    run_on(b"", command)
}

/// Runs a command to its end, with an input.
///
/// # Panics
/// When the program cannot be started, or does not end.
pub fn run_on(input: &[u8], command: &mut Command) -> Ended {
    let mut running = Server::spawn(command);
    if let Some(mut stdin) = running.stdin.take() {
        // A command may end without reading its input.
        let _ = stdin.write_all(input);
    }
    wait(running.ended())
}

/// How a program ended, and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The exit code. If a signal ended the program, it is 128 plus the number of the signal, as in
    /// shells.
    pub code: i32,
    /// The text that it wrote to standard output.
    pub stdout: String,
    /// The text that it wrote to standard error.
    pub stderr: String,
}

impl Ended {
    /// Asserts that it succeeded.
    ///
    /// # Panics
    /// When the code is not 0.
    #[track_caller]
    pub fn ok(&self) -> &Self {
        assert_eq!(self.code, 0, "{self:#?}");
        self
    }

    /// Asserts that it failed with this code, wrote nothing to standard output, and wrote these
    /// parts to standard error.
    ///
    /// # Panics
    /// When it ended in another way.
    #[track_caller]
    pub fn error(&self, code: i32, parts: &[&str]) {
        assert_eq!((self.code, &*self.stdout), (code, ""), "{self:#?}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?}: {self:#?}");
        }
    }

    /// Returns standard output as JSON.
    ///
    /// # Panics
    /// When it is no JSON.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        let json = serde_json::from_str(&self.stdout);
        json.unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: code(output.status),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

fn code(status: ExitStatus) -> i32 {
    let signal = || status.signal().unwrap_or_default();
    status
        .code()
        .unwrap_or_else(|| 128_i32.saturating_add(signal()))
}

/// A running program. Dropping the value kills it.
#[derive(Debug)]
pub struct Server {
    /// The standard input of the program. A test writes to it. Taking and dropping it closes it.
    pub stdin: Option<ChildStdin>,
    stdout: Pipe,
    stderr: Pipe,
    child: Killer,
    address: OnceLock<SocketAddr>,
}

impl Server {
    /// Starts a server, and waits until it listens.
    ///
    /// # Panics
    /// When it does not listen.
    pub async fn start(command: &mut Command) -> Self {
        let server = Self::spawn(command);
        assert!(server.listens().await, "did not start:\n{}", server.log());
        server
    }

    /// Starts a program without waiting for anything.
    ///
    /// # Panics
    /// When there is no such program.
    pub fn spawn(command: &mut Command) -> Self {
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let spawned = command.spawn();
        let mut child = spawned.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Self {
            stdin: child.stdin.take(),
            stdout: Pipe::read(child.stdout.take().expect("a pipe")),
            stderr: Pipe::read(child.stderr.take().expect("a pipe")),
            child: Killer(Arc::new(Mutex::new(child))),
            address: OnceLock::new(),
        }
    }

    /// Waits until the server writes `listening on http://ADDRESS`. Returns `false` when it ends
    /// before that.
    pub async fn listens(&self) -> bool {
        let address = |line: &str| line.strip_prefix("listening on http://")?.parse().ok();
        let found = self.wait_for_line(address).await;
        found.is_some_and(|address| *self.address.get_or_init(|| address) == address)
    }

    /// Waits for a line of either output for which `find` returns something. `None` when the
    /// program ends before that.
    pub async fn wait_for_line<T>(&self, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.until("a line", || {
            let over = self.stdout.is_over() && self.stderr.is_over();
            let found = self.stdout.find(&find).or_else(|| self.stderr.find(&find));
            (over || found.is_some()).then_some(found)
        })
        .await
    }

    /// Returns the address at which the server listens.
    ///
    /// # Panics
    /// When [`Self::listens`] has not seen it yet.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        *self.address.get().expect("a server that listens")
    }

    /// Returns the URL of a path with its query.
    #[must_use]
    pub fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address())
    }

    /// Returns its standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// Returns its standard error so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.stderr.text()
    }

    /// Returns a handle that can kill the program, for code that does not own it.
    #[must_use]
    pub fn killer(&self) -> Killer {
        self.child.clone()
    }

    /// Sends a signal. `STOP` pauses the process, and `CONT` lets it continue.
    ///
    /// # Panics
    /// When the process has ended.
    pub fn signal(&self, signal: Signal) {
        let process = Pid::from_child(&self.child.lock());
        kill_process(process, signal).expect("a process that takes signals");
    }

    /// Asks the program to end, as operators do.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Waits until the program ends.
    pub async fn ended(mut self) -> Ended {
        let code = self.until("the end of the program", || self.exit()).await;
        Ended {
            code,
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
        }
    }

    /// Ends a server that has no requests in progress, and returns its log.
    ///
    /// # Panics
    /// When it does not end soon, or reports a problem.
    pub async fn stop(self) -> String {
        let asked = Instant::now();
        self.terminate();
        let log = self.ended().await.ok().stderr.clone();
        let took = asked.elapsed();
        assert!(took < PROMPTLY, "idle, and not gone after {took:?}");
        log
    }

    fn exit(&self) -> Option<i32> {
        self.child.lock().try_wait().expect("a child").map(code)
    }

    async fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(seen) = look() {
                return seen;
            }
            let log = || self.stdout() + &self.log();
            assert!(began.elapsed() < PATIENCE, "no {what}:\n{}", log());
            tokio::time::sleep(POLL).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut child = self.child.lock();
        // The program may have ended by itself.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// A handle that can kill a program.
#[derive(Debug, Clone)]
pub struct Killer(Arc<Mutex<Child>>);

impl Killer {
    /// Sends SIGKILL and waits for the end. After this the process does nothing any more.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn kill(&self) {
        let mut child = self.lock();
        child.kill().expect("a process that can be killed");
        child.wait().expect("its end");
    }

    /// Suspends the process until [`Server::signal`] continues it.
    ///
    /// # Panics
    /// The system refuses the signal.
    pub fn hold_up(&self) {
        let process = Pid::from_child(&self.lock());
        kill_process(process, Signal::STOP).expect("a process that takes signals");
    }

    fn lock(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An output of a program. A thread reads it to its end, so that the program never waits for a
/// reader.
#[derive(Debug)]
struct Pipe {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Pipe {
    fn read(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let kept = bytes.clone();
        let reader = thread::spawn(move || {
            let mut part = [0; 8_192];
            while let Ok(read @ 1..) = pipe.read(&mut part) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(part.iter().take(read));
            }
        });
        Self {
            bytes,
            reader: Some(reader),
        }
    }

    fn is_over(&self) -> bool {
        self.reader.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Searches every complete line.
    fn find<T>(&self, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = self.text();
        let mut lines = text.split_inclusive('\n');
        lines.find_map(|line| find(line.strip_suffix('\n')?))
    }

    fn finish(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            // If the reader has panicked, the text is what it has read.
            let _ = reader.join();
        }
        self.text()
    }
}
