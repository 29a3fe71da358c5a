//! Runs other programs.

use std::env;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::XtaskError;
use crate::counts::Counts;

/// Returns a command of the cargo that runs this task, so that a step uses the same toolchain.
pub fn cargo() -> Command {
    program(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns a command without the variables that `cargo run` sets for this package. Build scripts of
/// other packages would see them and run again.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    for (key, _) in env::vars_os() {
        let text = key.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&key);
        }
    }
    command
}

/// Runs a program to its end, with our output streams.
///
/// # Errors
/// The program cannot be started, or reports a failure.
pub fn run(command: &mut Command) -> Result<(), XtaskError> {
    let status = command
        .status()
        .map_err(|source| spawn_error(command, source))?;
    ended(command, status)
}

/// Runs a program and shows its output. Adds the tests that it reports to `counts`, also when it
/// fails.
///
/// # Errors
/// The program cannot be started, reports a failure, or ran no test.
pub fn run_tests(command: &mut Command, counts: &mut Counts) -> Result<(), XtaskError> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|source| spawn_error(command, source))?;
    let mut ran = Counts::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.map_err(XtaskError::io("output of the tests"))?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            ran.add_line(&line);
        }
    }
    let status = child
        .wait()
        .map_err(|source| spawn_error(command, source))?;
    let passed = ran.passed;
    *counts += ran;
    ended(command, status)?;
    if passed == 0 {
        return Err(XtaskError::NoTests);
    }
    Ok(())
}

/// The end of a program whose output was kept.
#[derive(Debug)]
pub struct Captured {
    /// Its standard output and then its standard error.
    pub output: String,
    /// The tests that it reports.
    pub counts: Counts,
    /// Whether it succeeded.
    pub result: Result<(), XtaskError>,
}

/// Runs a program that may run tests, and keeps its output, so that it can be shown as a whole.
pub fn capture_tests(command: &mut Command) -> Captured {
    let (mut output, mut counts) = (String::new(), Counts::default());
    let result = match command.output() {
        Ok(ran) => {
            output.push_str(&String::from_utf8_lossy(&ran.stdout));
            output.lines().for_each(|line| counts.add_line(line));
            output.push_str(&String::from_utf8_lossy(&ran.stderr));
            ended(command, ran.status)
        }
        Err(source) => Err(spawn_error(command, source)),
    };
    Captured {
        output,
        counts,
        result,
    }
}

/// Runs a program, and returns its standard output. Its standard error is not shown.
///
/// # Errors
/// The program cannot be started, or reports a failure.
pub fn output(command: &mut Command) -> Result<String, XtaskError> {
    visible_output(command.stderr(Stdio::null()))
}

/// Runs a program, and returns its standard output. Its standard error is shown.
///
/// # Errors
/// The program cannot be started, or reports a failure.
pub fn visible_output(command: &mut Command) -> Result<String, XtaskError> {
    let output = command
        .stdout(Stdio::piped())
        .spawn()
        .and_then(Child::wait_with_output)
        .map_err(|source| spawn_error(command, source))?;
    ended(command, output.status)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn ended(command: &Command, status: ExitStatus) -> Result<(), XtaskError> {
    match status.success() {
        true => Ok(()),
        false => Err(XtaskError::Failed {
            program: text(command),
            status,
        }),
    }
}

fn spawn_error(command: &Command, source: std::io::Error) -> XtaskError {
    XtaskError::Spawn {
        program: text(command),
        source,
    }
}

fn text(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printing(text: &str, exit: &str) -> Command {
        let mut shell = program("sh");
        shell.args(["-c", &format!("printf '{text}'; exit {exit}")]);
        shell
    }

    const ONE: &str = "test result: ok. 1 passed; 0 failed; 0 ignored\\n";

    #[test]
    fn tests_of_several_binaries_are_summed() {
        let mut counts = Counts::default();
        run_tests(&mut printing(&ONE.repeat(3), "0"), &mut counts).unwrap();
        assert_eq!((counts.passed, counts.failed), (3, 0));
    }

    #[test]
    fn tests_are_counted_and_named_when_the_program_fails() {
        let mut counts = Counts::default();
        let failed = "test one ... ok\\ntest two ... FAILED\\n\
                      test result: FAILED. 4 passed; 1 failed; 0 ignored\\n";
        let error = run_tests(&mut printing(failed, "101"), &mut counts).unwrap_err();
        assert!(matches!(error, XtaskError::Failed { .. }), "{error}");
        let expected = Counts {
            passed: 4,
            failed: 1,
            failed_tests: vec!["two".to_owned()],
        };
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_run_without_tests_is_a_failure() {
        let mut counts = Counts::default();
        let error = run_tests(&mut printing("nothing to do\\n", "0"), &mut counts).unwrap_err();
        assert!(matches!(error, XtaskError::NoTests), "{error}");
    }

    #[test]
    fn a_missing_program_is_reported_by_name() {
        let error = run(&mut program("no-such-program-here")).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("cannot start no-such-program-here"),
            "{error}"
        );
    }
}
