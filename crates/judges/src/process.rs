//! Runs programs of other projects: some give one verdict and end, others run until they are
//! stopped.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use test_support::process::Server;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use crate::JudgeError;

/// The time limit for a verdict.
const LIMIT: Duration = Duration::from_secs(120);

/// Gives a program one JSON document, and reads the JSON document that it prints.
///
/// # Errors
/// The program cannot be started, fails, takes too long or prints another form.
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

/// Gives a program its standard input, and returns its standard output.
///
/// # Errors
/// The program cannot be started, fails or takes too long.
pub async fn run(command: Command, input: &[u8]) -> Result<String, JudgeError> {
    run_within(LIMIT, command, input).await
}

/// Like [`run`], with another time limit.
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
        // A program that ends without reading its input gives the reason on standard error.
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

/// Starts a program that runs until it is stopped, and waits until `ready` accepts a line of its
/// output. Writes `input` to its standard input, which stays open.
///
/// # Errors
/// The program ends first.
///
/// # Panics
/// The program cannot be started or takes too long.
pub async fn start<T>(
    mut command: Command,
    input: &[u8],
    ready: impl Fn(&str) -> Option<T>,
) -> Result<(Server, T), JudgeError> {
    let program = name(&command);
    let mut server = Server::spawn(command.as_std_mut());
    if let Some(stdin) = server.stdin.as_mut() {
        // A program that ends without reading its input gives the reason in its output.
        let _ = stdin.write_all(input);
    }
    if let Some(found) = server.wait_for_line(ready).await {
        return Ok((server, found));
    }
    let ended = server.ended().await;
    Err(JudgeError::Ended {
        program,
        status: ended.code.to_string(),
        log: ended.stdout + &ended.stderr,
    })
}

fn name(command: &Command) -> String {
    let command = command.as_std();
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
