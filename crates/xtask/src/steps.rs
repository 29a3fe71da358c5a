//! The tasks as sequences of steps.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use cargo_metadata::MetadataCommand;

use crate::cli::{Cli, Steps, Task};
use crate::session::Session;
use crate::{XtaskError, command, foreign, layering, licences};

/// Runs one task to its end.
pub fn run(cli: Cli) -> ExitCode {
    match cli.task {
        Task::Test(steps) => {
            let mut session = Session::new(steps);
            quick(&mut session);
            session.step("tests", |counts| {
                let mut tests = cargo(["test", "--workspace", "--locked", "--no-fail-fast"]);
                command::run_tests(&mut tests, counts)
            });
            slow(&mut session);
            session.step("foreign clients", |counts| foreign::test(&root(), counts));
            session.finish(true)
        }
        Task::Lint(steps) => {
            let mut session = Session::new(steps);
            quick(&mut session);
            slow(&mut session);
            session.finish(false)
        }
        Task::E2e => {
            let mut session = single();
            session.step("foreign clients", |counts| foreign::test(&root(), counts));
            session.finish(true)
        }
        Task::Bench { arguments } => match bench(arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
        Task::Record { arguments } => single_step("recorder", || {
            let mut recorder = cargo(["run", "--locked", "--package", "recorder", "--"]);
            command::run(recorder.args(&arguments))
        }),
        Task::Docs => single_step("generated docs", || {
            let mut tests = cargo(["test", "--workspace", "--locked", "generated_docs"]);
            command::run(tests.env("UPDATE_DOCS", "1"))
        }),
    }
}

/// The steps that fail soonest.
fn quick(session: &mut Session) {
    session.step("format", |_| {
        command::run(&mut cargo(["fmt", "--all", "--check"]))
    });
    session.step("layering", |_| {
        let violations = layering::check(&layering::Graph::read(env!("CARGO_MANIFEST_DIR"))?);
        if violations.is_empty() {
            Ok(())
        } else {
            Err(XtaskError::Layering(violations))
        }
    });
    session.step("lints", |_| {
        let mut clippy = cargo(["clippy", "--workspace", "--all-targets", "--all-features"]);
        command::run(clippy.args(["--locked", "--", "--deny", "warnings"]))
    });
}

fn slow(session: &mut Session) {
    session.step("docs", |_| {
        let mut doc = cargo(["doc", "--workspace", "--no-deps", "--locked"]);
        command::run(doc.env("RUSTDOCFLAGS", "--deny warnings"))
    });
    session.step("bans, licences, sources", |_| licences::check(&root()));
}

/// Builds the servers as they are shipped, then measures them. Standard output is the benchmark's alone.
fn bench(arguments: Vec<OsString>) -> Result<(), XtaskError> {
    // One after the other: built together, features of one would be switched on in the other.
    for package in ["api-server", "mcp-server", "bench"] {
        command::run(cargo(["build", "--release", "--locked", "--package"]).arg(package))?;
    }
    let metadata = MetadataCommand::new()
        .current_dir(root())
        .no_deps()
        .exec()?;
    let programs = metadata.target_directory.join("release");
    command::run(
        command::program(programs.join("bench"))
            .current_dir(root())
            .args(arguments),
    )
}

fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = command::cargo();
    command.current_dir(root()).args(arguments);
    command
}

/// The folder of the workspace, two above this package.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap_or(Path::new("."))
        .to_owned()
}

fn single() -> Session {
    Session::new(Steps { keep_going: false })
}

fn single_step(name: &'static str, body: impl FnOnce() -> Result<(), XtaskError>) -> ExitCode {
    let mut session = single();
    session.step(name, |_| body());
    session.finish(false)
}
