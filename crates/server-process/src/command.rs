//! The frame of a server's commands: their output, their failures with exit codes, and their
//! runtime.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use server_config::{ConfigError, Finding};
use tokio::runtime::{Builder, Runtime};

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// The TOML file. Every key can be overridden by an environment variable SVC__SECTION__KEY.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
}

/// Arguments of `demo`. A server's command can replace the default of the address.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// The address to listen on; port 0 picks a free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Exit after the transcript, with 0 only if every step succeeded.
    #[arg(long)]
    pub once: bool,
}

/// Why a command failed. Each variant has its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Code 2: the configuration cannot be used, or this build does not have the command.
    Config(String),
    /// Code 1: any other failure.
    Other(String),
    /// The lines on standard output state the findings. The command exits with this code.
    Found(u8),
}

impl Failure {
    /// Makes the failure of a configuration that cannot be used.
    pub fn config(error: impl Display) -> Self {
        Self::Config(error.to_string())
    }

    /// Makes the failure of the command `demo` in a program that was built without the feature
    /// `demo`.
    pub fn no_demo(program: &str) -> Self {
        Self::Config(format!(
            "this build has no demo; in the source tree, `cargo run --release -p {program} -- demo` builds and runs it"
        ))
    }

    /// Makes any other failure.
    pub fn other(error: impl Display) -> Self {
        Self::Other(error.to_string())
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::config(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::other(error)
    }
}

/// Returns the exit code for a command's result. Prints the message of a failure on standard error,
/// after the program's name.
pub fn end(program: &str, result: Result<(), Failure>) -> ExitCode {
    let (message, code) = match result {
        Ok(()) => return ExitCode::SUCCESS,
        // A reader that closes early, such as `head`, needs no message.
        Err(Failure::Other(message)) if message.contains("Broken pipe") => {
            return ExitCode::FAILURE;
        }
        Err(Failure::Found(code)) => return ExitCode::from(code),
        Err(Failure::Config(message)) => (message, 2),
        Err(Failure::Other(message)) => (message, 1),
    };
    drop(writeln!(io::stderr(), "{program}: {message}"));
    ExitCode::from(code)
}

/// Prints a text on standard output. The output ends with exactly one line feed.
///
/// # Errors
/// When standard output cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", text.trim_end())?;
    Ok(out.flush()?)
}

/// Prints findings on standard output, and a note about them on standard error.
///
/// # Errors
/// [`Failure::Found`] with the exit code of the findings, unless it is 0. [`Failure::Other`] when
/// an output cannot be written.
pub fn show(text: &str, note: Option<&str>, exit_code: u8) -> Result<(), Failure> {
    print(text)?;
    if let Some(note) = note {
        writeln!(io::stderr(), "{note}")?;
    }
    match exit_code {
        0 => Ok(()),
        code => Err(Failure::Found(code)),
    }
}

/// Prints the findings of `check-config --online` on standard output, one line for each.
///
/// # Errors
/// The failure with the exit code of the findings, unless it is 0. [`Failure::Other`] when standard
/// output cannot be written.
pub fn show_findings(findings: &[Finding]) -> Result<(), Failure> {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    print(&lines.join("\n"))?;
    match server_config::exit_code(findings) {
        0 => Ok(()),
        1 => Err(Failure::other("something could not be reached")),
        _ => Err(Failure::config("something contradicts the configuration")),
    }
}

/// Makes a runtime with one thread for each core of the machine.
///
/// # Errors
/// The error of the operating system.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().build()
}

/// Runs a future to its end on a new [`runtime`].
///
/// # Errors
/// When the runtime cannot be created.
pub fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
    Ok(runtime()?.block_on(future))
}

#[cfg(test)]
mod tests {
    use server_config::Verdict;

    use super::*;

    #[test]
    fn every_failure_has_its_exit_code() {
        let closed = io::Error::from(io::ErrorKind::BrokenPipe);
        let closed = Failure::other(format!("{closed}: Broken pipe"));
        for (result, code) in [
            (Ok(()), 0),
            (Err(Failure::config("a.b: is missing")), 2),
            (Err(Failure::other("no answer")), 1),
            (Err(closed), 1),
            (Err(Failure::Found(7)), 7),
            (show("a", Some("b"), 0), 0),
            (show("a", None, 2), 2),
        ] {
            let shown = format!("{result:?}");
            assert_eq!(end("tested", result), ExitCode::from(code), "{shown}");
        }
    }

    #[test]
    fn a_build_without_the_demo_says_how_to_build_one() {
        let failure = Failure::no_demo("some-server");
        let message = "this build has no demo; in the source tree, \
                       `cargo run --release -p some-server -- demo` builds and runs it";
        assert_eq!(failure, Failure::Config(message.to_owned()));
        assert_eq!(end("some-server", Err(failure)), ExitCode::from(2));
    }

    #[test]
    fn findings_end_with_a_message_and_their_exit_code() {
        let found = |verdict| Finding {
            key: "a.b".to_owned(),
            verdict,
            said: "c".to_owned(),
        };
        let [agrees, unreached, contradicts] = [
            found(Verdict::Agrees),
            found(Verdict::Unreached),
            found(Verdict::Contradicts),
        ];
        assert_eq!(show_findings(std::slice::from_ref(&agrees)), Ok(()));
        assert_eq!(
            show_findings(&[agrees, unreached.clone()]),
            Err(Failure::other("something could not be reached"))
        );
        assert_eq!(
            show_findings(&[contradicts, unreached]),
            Err(Failure::config("something contradicts the configuration"))
        );
    }

    #[test]
    fn a_future_runs_to_its_end() {
        assert_eq!(
            block_on(async { tokio::task::yield_now().await }).ok(),
            Some(())
        );
    }
}
