//! The tasks as sequences of steps. Other modules do the work of a step.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use cargo_metadata::MetadataCommand;

use crate::cli::{Cli, Steps, Task};
use crate::counts::Counts;
use crate::session::Session;
use crate::{
    XtaskError, api, command, comments, foreign, layering, licences, lines, modules, postgres, wasm,
};

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
            session.step("stores on PostgreSQL", |counts| {
                postgres::test(&root(), counts)
            });
            slow(&mut session);
            session.step("foreign clients", |counts| foreign::test(&root(), counts));
            session.step("short siege", |_| short_siege());
            session.finish(true)
        }
        Task::Lint(steps) => {
            let mut session = Session::new(steps);
            quick(&mut session);
            slow(&mut session);
            session.finish(false)
        }
        Task::Layering => single_step("layering", layers),
        Task::Lines => ended(count_lines()),
        Task::E2e => {
            let mut session = single();
            session.step("foreign clients", |counts| foreign::test(&root(), counts));
            session.finish(true)
        }
        Task::Postgres => {
            let mut session = single();
            session.step("stores on PostgreSQL", |counts| {
                postgres::test(&root(), counts)
            });
            session.finish(true)
        }
        Task::Bench { arguments } => ended(measure("bench", arguments)),
        Task::Siege { arguments } => ended(measure("siege", arguments)),
        Task::Record { arguments } => single_step("recorder", || {
            let mut recorder = cargo(["run", "--locked", "--package", "recorder", "--"]);
            command::run(recorder.args(&arguments))
        }),
        Task::Signers => {
            let mut session = single();
            session.step("signers of the workspace", |counts| {
                let mut tests = cargo(["test", "--package", "tx-sender", "--locked"]);
                command::run_tests(tests.arg("--all-features"), counts)
            });
            session.step("signers that are services", remote_signers);
            session.finish(true)
        }
        Task::Docs => single_step("generated docs", || {
            let mut tests = cargo(["test", "--workspace", "--locked", "generated_docs"]);
            command::run(tests.env("UPDATE_DOCS", "1"))
        }),
        Task::Api => single_step("public interfaces", || api::write(&root())),
    }
}

/// Runs the steps that find a failure soonest.
fn quick(session: &mut Session) {
    session.step("format", |_| {
        command::run(&mut cargo(["fmt", "--all", "--check"]))
    });
    session.step("layering", |_| layers());
    session.step("public interfaces", |_| api::check(&root()));
    session.step("lints", |_| {
        let mut clippy = cargo(["clippy", "--workspace", "--all-targets", "--all-features"]);
        command::run(clippy.args(["--locked", "--", "--deny", "warnings"]))
    });
}

/// Checks the rules between crates, between the files of a crate, and within files.
fn layers() -> Result<(), XtaskError> {
    let arrows = layering::check(&layering::Graph::read(env!("CARGO_MANIFEST_DIR"))?);
    let circles = modules::circles(&root())?;
    let faults = modules::check(&circles);
    let wide = comments::check(&root())?;
    let lines = arrows.iter().map(ToString::to_string);
    let lines = lines.chain(faults.iter().map(ToString::to_string));
    let lines: Vec<String> = lines.chain(wide.iter().map(ToString::to_string)).collect();
    println!("{} circles of modules:", circles.len());
    circles.iter().for_each(|circle| println!("  {circle}"));
    if lines.is_empty() {
        Ok(())
    } else {
        Err(XtaskError::Layering(lines))
    }
}

/// Prints the lines of each crate.
fn count_lines() -> Result<(), XtaskError> {
    println!("{}", lines::HEADING);
    lines::count(&root())?
        .iter()
        .for_each(|row| println!("{row}"));
    Ok(())
}

fn slow(session: &mut Session) {
    match wasm::target() {
        Ok(()) => session.step("pure crates for wasm", |_| {
            let mut check = cargo(["check", "--locked", "--target", wasm::TARGET]);
            let packages = wasm::CRATES.iter().flat_map(|name| ["--package", name]);
            command::run(check.args(packages))
        }),
        Err(reason) => session.skip("pure crates for wasm", &reason.to_string()),
    }
    session.step("docs", |_| {
        let mut doc = cargo(["doc", "--workspace", "--no-deps", "--locked"]);
        command::run(doc.env("RUSTDOCFLAGS", "--deny warnings"))
    });
    session.step("bans, licences, sources", |_| licences::check(&root()));
}

/// Builds the programs as they are shipped, and then runs a program that measures them. Only that
/// program writes to the standard output.
fn measure(program: &str, arguments: Vec<OsString>) -> Result<(), XtaskError> {
    // Each package is built separately. In one build, the features of one would also apply to the
    // others.
    for package in ["api-server", "mcp-server", program] {
        command::run(cargo(["build", "--release", "--locked", "--package"]).arg(package))?;
    }
    if program == "bench" {
        let mut baseline = cargo(["build", "--release", "--locked", "--manifest-path"]);
        let baseline = baseline.arg(X402_AXUM).arg("--target-dir").arg(target()?);
        command::run(baseline)?;
    }
    // The tool has a profile of its own, and so a folder of its own.
    let tool = ["build", "--profile", "tool", "--locked", "--package"];
    command::run(cargo(tool).arg("fence-cli"))?;
    let program = target()?.join("release").join(program);
    command::run(
        command::program(program)
            .current_dir(root())
            .args(arguments),
    )
}

/// Runs a short siege of the programs that the tests have built. A separate release build would
/// take longer than all tests.
///
/// `--tests` gives the build the features of the tests, so that it builds only the programs that no
/// test has needed. The seed is fixed, so that a failed run can be repeated. In the second round,
/// the paid API settles by itself, and both servers are killed.
fn short_siege() -> Result<(), XtaskError> {
    command::run(&mut cargo([
        "build",
        "--workspace",
        "--bins",
        "--tests",
        "--locked",
    ]))?;
    let program = target()?.join("debug").join("siege");
    for further in SHORT_SIEGES {
        let mut siege = command::program(&program);
        siege.current_dir(root()).args(["--quick", "--seed", "1"]);
        command::run(siege.args(further))?;
    }
    Ok(())
}

/// The additional arguments of each round of the short siege.
const SHORT_SIEGES: [&[&str]; 2] = [&[], &["--settlement", "onchain", "--kills", "2"]];

/// Tests the crate that is a separate workspace, and builds the server that includes it. Its target
/// folder is within the usual one.
fn remote_signers(counts: &mut Counts) -> Result<(), XtaskError> {
    let target = target()?.join("kms-signers");
    let on = |subcommand: &'static str| {
        let mut command = cargo([subcommand, "--locked", "--manifest-path", KMS_SIGNERS]);
        command.arg("--target-dir").arg(&target);
        command
    };
    command::run_tests(&mut on("test"), counts)?;
    command::run(on("build").args(["--all-features", "--example", "api-server"]))
}

/// The benchmark's baseline that is a separate workspace.
const X402_AXUM: &str = "crates/bench-x402-axum/Cargo.toml";

/// The crate of the signers that are services.
const KMS_SIGNERS: &str = "crates/kms-signers/Cargo.toml";

/// Returns cargo's target folder.
fn target() -> Result<PathBuf, XtaskError> {
    let metadata = MetadataCommand::new()
        .current_dir(root())
        .no_deps()
        .exec()?;
    Ok(metadata.target_directory.into_std_path_buf())
}

fn ended(result: Result<(), XtaskError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = command::cargo();
    command.current_dir(root()).args(arguments);
    command
}

/// Returns the folder of the workspace, two levels above this package.
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
