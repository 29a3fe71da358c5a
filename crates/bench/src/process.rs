//! Servers as separate processes, measured from outside.
//!
//! The processor time, memory and descriptors come from `/proc`, so this works on Linux only. The
//! server needs no code for it but the line that names its address.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::BenchError;

/// How long a server may take until it listens.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a server may take until it has ended after SIGTERM.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// A running server; it is killed when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: SocketAddr,
    start_time: Duration,
}

impl Server {
    /// Starts a program and waits for its line `listening on http://ADDR` on stderr.
    ///
    /// # Errors
    /// When it cannot be started, ends, or does not print its address in time.
    pub fn start<I, A>(program: &Path, arguments: I) -> Result<Self, BenchError>
    where
        I: IntoIterator<Item = A>,
        A: AsRef<OsStr>,
    {
        let start = Instant::now();
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(BenchError::io(program))?;
        let (found, listening) = mpsc::channel();
        if let Some(stderr) = child.stderr.take() {
            // Reads to the end, so that a server that logs is never stopped by a full pipe.
            thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    let _ = found.send((start.elapsed(), line));
                }
            });
        }
        let mut last_line = "no output".to_owned();
        while let Ok((start_time, line)) = listening.recv_timeout(START_TIMEOUT) {
            if let Some(address) = address_in(&line) {
                return Ok(Self {
                    child,
                    address,
                    start_time,
                });
            }
            last_line = line;
        }
        let _ = child.kill();
        let _ = child.wait();
        let server = program
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Err(BenchError::NotListening { server, last_line })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From the start of the process until its line that it listens was read.
    pub fn start_time(&self) -> Duration {
        self.start_time
    }

    /// The processor time that all its threads have used so far, in nanoseconds; resolution is one
    /// clock tick.
    ///
    /// # Errors
    /// When it has ended.
    pub fn cpu_nanos(&self) -> Result<u64, BenchError> {
        Ok(times(self.child.id())?.own)
    }

    /// The memory that it holds now, in bytes.
    ///
    /// # Errors
    /// When it has ended.
    pub fn memory_bytes(&self) -> Result<u64, BenchError> {
        self.memory("memory", "VmRSS:")
    }

    /// The descriptors that it has open now.
    ///
    /// # Errors
    /// When it has ended.
    pub fn open_descriptors(&self) -> Result<u64, BenchError> {
        let process = self.child.id();
        let open = fs::read_dir(proc_file(process, "fd")).map_err(|_| BenchError::Process {
            what: "open descriptors",
            process,
        })?;
        Ok(u64::try_from(open.count()).unwrap_or(u64::MAX))
    }

    /// The most memory that it has held at any time, in bytes.
    ///
    /// # Errors
    /// When it has ended.
    pub fn peak_memory_bytes(&self) -> Result<u64, BenchError> {
        self.memory("peak memory", "VmHWM:")
    }

    /// Its resident memory that belongs to no file: heap, stacks, relocated data.
    ///
    /// # Errors
    /// When it has ended.
    pub fn own_memory_bytes(&self) -> Result<u64, BenchError> {
        self.memory("own memory", "RssAnon:")
    }

    fn memory(&self, what: &'static str, field: &str) -> Result<u64, BenchError> {
        let process = self.child.id();
        let status = fs::read_to_string(proc_file(process, "status")).unwrap_or_default();
        memory_in(&status, field).ok_or(BenchError::Process { what, process })
    }

    /// Kills it.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn kill(&mut self) -> Result<(), BenchError> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end, and waits for its end.
    ///
    /// # Errors
    /// When it does not end in time.
    pub fn stop(mut self) -> Result<(), BenchError> {
        let process = self.child.id();
        let id = i32::try_from(process)
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        let id = id.ok_or(BenchError::Process {
            what: "id",
            process,
        })?;
        rustix::process::kill_process(id, rustix::process::Signal::TERM)
            .map_err(std::io::Error::from)?;
        let deadline = Instant::now().checked_add(STOP_TIMEOUT);
        while self.child.try_wait()?.is_none() {
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return Err(BenchError::Process {
                    what: "end after SIGTERM",
                    process,
                });
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lets this process and the servers it starts hold as many connections as the system allows.
pub fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // When it is refused, the measurement with many connections reports how many it could open.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    );
}

/// The processor times of a process, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// The process that started it.
    pub parent: u32,
    /// The time of all its threads.
    pub own: u64,
    /// The time of its children that have ended.
    pub of_ended_children: u64,
}

/// The processor times of a process; the resolution is one clock tick.
///
/// # Errors
/// When it has ended.
pub fn times(process: u32) -> Result<Times, BenchError> {
    let stat = fs::read_to_string(proc_file(process, "stat")).unwrap_or_default();
    times_in(&stat).ok_or(BenchError::Process {
        what: "cpu time",
        process,
    })
}

/// Every process that a process has started and that has not ended, with its times.
///
/// # Errors
/// When the process table cannot be read.
pub fn children(parent: u32) -> Result<Vec<(u32, Times)>, BenchError> {
    let table = fs::read_dir("/proc").map_err(BenchError::io("/proc"))?;
    let processes = table
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // A process that ends during this loop is its parent's ended child from then on.
    let alive = processes.filter_map(|process| Some((process, times(process).ok()?)));
    Ok(alive.filter(|(_, times)| times.parent == parent).collect())
}

fn proc_file(process: u32, file: &str) -> PathBuf {
    Path::new("/proc").join(process.to_string()).join(file)
}

fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("listening on http://")?;
    let end = rest
        .find(|c: char| c.is_whitespace() || c == '"')
        .unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// The times of a `/proc/PID/stat` line: the parent is its 4th field, user and system time are the
/// 14th and 15th, those of ended children the 16th and 17th, in clock ticks. The second one holds
/// the program's name in parentheses, with whatever it contains.
fn times_in(stat: &str) -> Option<Times> {
    let nanos_per_tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    let mut fields = fields.skip(9).map(str::parse::<u64>);
    let mut both = || {
        let ticks = fields.next()?.ok()?.checked_add(fields.next()?.ok()?)?;
        ticks.checked_mul(nanos_per_tick)
    };
    Some(Times {
        parent,
        own: both()?,
        of_ended_children: both()?,
    })
}

/// A size of a `/proc/PID/status` text.
fn memory_in(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_behind_a_name_with_spaces() {
        let stat = "4242 (a server) 1) S 1 2 3 0 -1 4194560 900 0 0 0 120 34 7 8 20 0 5 0 100 1 2";
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let times = times_in(stat).unwrap();
        assert_eq!((times.parent, times.own), (1, 154 * tick));
        assert_eq!(times.of_ended_children, 15 * tick);
        assert_eq!(times_in(""), None);
    }

    #[test]
    fn the_children_of_a_process_are_found() {
        let mut child = Command::new("/bin/sleep").arg("60").spawn().unwrap();
        let found = children(std::process::id()).unwrap();
        assert!(found.iter().any(|(process, _)| *process == child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn memory_is_read() {
        let status = "VmHWM:\t 9400 kB\nVmRSS:\t    9304 kB\n";
        assert_eq!(memory_in(status, "VmRSS:"), Some(9304 * 1024));
        assert_eq!(memory_in(status, "VmHWM:"), Some(9400 * 1024));
        assert_eq!(memory_in("Name:\tserver\n", "VmRSS:"), None);
    }

    #[test]
    fn the_address_is_read_from_plain_and_structured_logs() {
        let address = Some("127.0.0.1:8402".parse().unwrap());
        assert_eq!(address_in("listening on http://127.0.0.1:8402"), address);
        assert_eq!(
            address_in(r#"{"message":"listening on http://127.0.0.1:8402","n":1}"#),
            address
        );
        assert_eq!(address_in("listening soon"), None);
    }

    #[test]
    fn a_program_that_ends_without_listening_is_an_error_that_shows_its_last_line() {
        let arguments = ["-c", "echo no config >&2; exit 2"];
        let error = Server::start(Path::new("/bin/sh"), arguments).unwrap_err();
        assert_eq!(error.to_string(), "sh did not start listening: no config");
    }

    #[test]
    fn a_server_is_measured_and_stopped() {
        let script = "echo listening on http://127.0.0.1:1 >&2; exec sleep 60";
        let server = Server::start(Path::new("/bin/sh"), ["-c", script]).unwrap();
        assert!(server.memory_bytes().unwrap() > 0);
        server.cpu_nanos().unwrap();
        server.stop().unwrap();
    }
}
