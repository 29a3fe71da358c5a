//! Programs that give one verdict, and programs that run until they are stopped.

use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::JudgeError;

/// The time limit in which a program gives its verdict, becomes ready, or ends on request.
const LIMIT: Duration = Duration::from_secs(120);

/// Gives a program one JSON document and reads the one that it prints.
///
/// # Errors
/// When the program cannot be started, fails, takes too long or prints another form.
pub async fn judge<V: DeserializeOwned>(
    command: Command,
    input: &impl Serialize,
) -> Result<V, JudgeError> {
    let program = name(&command);
    let input = serde_json::to_vec(input).map_err(|source| JudgeError::Json {
        origin: format!("the input of {program}"),
        source,
        observed: String::new(),
    })?;
    let output = run(command, &input).await?;
    serde_json::from_str(&output).map_err(|source| JudgeError::Json {
        origin: program,
        source,
        observed: output,
    })
}

/// Gives a program its standard input and returns its standard output.
///
/// # Errors
/// When the program cannot be started, fails or takes too long.
pub async fn run(command: Command, input: &[u8]) -> Result<String, JudgeError> {
    run_within(LIMIT, command, input).await
}

/// [`run`] with another limit.
pub(crate) async fn run_within(
    limit: Duration,
    mut command: Command,
    input: &[u8],
) -> Result<String, JudgeError> {
    let program = name(&command);
    let broken = |source| JudgeError::Program {
        program: program.clone(),
        source,
    };
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(broken)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends without reading states the reason on its standard error.
        let _ = stdin.write_all(input).await;
    }
    let output = timeout(limit, child.wait_with_output())
        .await
        .map_err(|_| JudgeError::TimedOut {
            program: program.clone(),
            seconds: limit.as_secs(),
            log: String::new(),
        })?
        .map_err(broken)?;
    if !output.status.success() {
        return Err(JudgeError::Ended {
            program,
            status: output.status.to_string(),
            log: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A program that runs until it is stopped; dropping it kills it.
#[derive(Debug)]
pub struct Daemon {
    program: String,
    child: Child,
    log: Log,
}

type Log = Arc<Mutex<String>>;

impl Daemon {
    /// Starts a program and waits until `ready` accepts a line of its output. `input` is written to
    /// its standard input, which stays open.
    ///
    /// # Errors
    /// When the program cannot be started, ends first or takes too long.
    pub async fn start<T>(
        mut command: Command,
        input: &[u8],
        ready: impl Fn(&str) -> Option<T>,
    ) -> Result<(Self, T), JudgeError> {
        let program = name(&command);
        let broken = |source| JudgeError::Program {
            program: program.clone(),
            source,
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(broken)?;
        if let Some(stdin) = child.stdin.as_mut() {
            stdin.write_all(input).await.map_err(broken)?;
        }
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(broken(std::io::ErrorKind::BrokenPipe.into()));
        };
        let log = Log::default();
        let (mut stdout, mut stderr) = (
            BufReader::new(stdout).lines(),
            BufReader::new(stderr).lines(),
        );
        let search = async {
            let (mut out_open, mut err_open) = (true, true);
            while out_open || err_open {
                let line = tokio::select! {
                    line = stdout.next_line(), if out_open => note(line, &mut out_open, &log),
                    line = stderr.next_line(), if err_open => note(line, &mut err_open, &log),
                };
                if let Some(found) = line.as_deref().and_then(&ready) {
                    return Some(found);
                }
            }
            None
        };
        let found = timeout(LIMIT, search)
            .await
            .map_err(|_| JudgeError::TimedOut {
                program: program.clone(),
                seconds: LIMIT.as_secs(),
                log: text(&log),
            })?;
        let Some(found) = found else {
            let status = child.wait().await.map_err(broken)?.to_string();
            return Err(JudgeError::Ended {
                program,
                status,
                log: text(&log),
            });
        };
        // A full pipe would stop the program.
        tokio::spawn(drain(stdout, log.clone()));
        tokio::spawn(drain(stderr, log.clone()));
        Ok((
            Self {
                program,
                child,
                log,
            },
            found,
        ))
    }

    /// The program's output so far, both streams together.
    #[must_use]
    pub fn log(&self) -> String {
        text(&self.log)
    }

    /// Sends SIGTERM and waits for the end.
    ///
    /// # Errors
    /// When the program does not end in time.
    pub async fn terminate(mut self) -> Result<ExitStatus, JudgeError> {
        let broken = |source| JudgeError::Program {
            program: self.program.clone(),
            source,
        };
        if let Some(id) = self.child.id() {
            let mut kill = Command::new("kill");
            kill.args(["-TERM", &id.to_string()])
                .status()
                .await
                .map_err(broken)?;
        }
        timeout(LIMIT, self.child.wait())
            .await
            .map_err(|_| JudgeError::TimedOut {
                program: self.program.clone(),
                seconds: LIMIT.as_secs(),
                log: text(&self.log),
            })?
            .map_err(broken)
    }
}

fn note(line: std::io::Result<Option<String>>, open: &mut bool, log: &Log) -> Option<String> {
    let line = line.ok().flatten();
    *open = line.is_some();
    if let Some(line) = &line {
        append(log, line);
    }
    line
}

async fn drain(mut lines: Lines<BufReader<impl AsyncRead + Unpin>>, log: Log) {
    while let Ok(Some(line)) = lines.next_line().await {
        append(&log, &line);
    }
}

fn append(log: &Log, line: &str) {
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    log.push_str(line);
    log.push('\n');
}

fn text(log: &Log) -> String {
    log.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn name(command: &Command) -> String {
    let command = command.as_std();
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
