//! The tasks as sequences of steps. Other modules do the work of a step.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;

use cargo_metadata::MetadataCommand;

use crate::cli::{Cli, Steps, Task};
use crate::counts::Counts;
use crate::foreign::Packages;
use crate::session::Session;
use crate::suite::{self, Run};
use crate::{
    XtaskError, api, command, comments, foreign, layering, licences, lines, modules, postgres,
    time, wasm,
};

/// Runs one task to its end.
pub fn run(cli: Cli) -> ExitCode {
    match cli.task {
        Task::Test(steps) => {
            let mut session = Session::new(steps);
            quick(&mut session);
            tests(&mut session);
            slow(&mut session);
            session.step("short siege", |_| short_siege());
            let record = target().map(|target| target.join("xtask-times.txt"));
            session.finish(true, record.ok().as_deref())
        }
        Task::Lint(steps) => {
            let mut session = Session::new(steps);
            quick(&mut session);
            slow(&mut session);
            session.finish(false, None)
        }
        Task::Layering => single_step("layering", layers),
        Task::Lines => ended(count_lines()),
        Task::E2e => {
            let mut session = single();
            session.step("foreign clients", |counts| {
                let packages = Packages::install(&root())?;
                let binaries = suite::build(&root(), &["--bins", "--test", foreign::TARGET])?;
                foreign::test(&packages, &binaries, counts)
            });
            session.finish(true, None)
        }
        Task::Postgres => {
            let mut session = single();
            session.step("stores on PostgreSQL", |counts| {
                postgres::test(&suite::build(&root(), suite::ALL)?, counts)
            });
            session.finish(true, None)
        }
        Task::Time { parts } => {
            ended(target().and_then(|target| time::measure(&root(), &target, &parts)))
        }
        Task::Bench { arguments } => ended(bench(arguments)),
        Task::Siege { arguments } => ended(siege(arguments)),
        Task::Record { arguments } => single_step("recorder", || {
            let mut recorder = cargo(["run", "--locked", "--package", "recorder", "--"]);
            command::run(recorder.args(&arguments))
        }),
        Task::Signers => {
            let mut session = single();
            session.step("signers that are services", remote_signers);
            session.finish(true, None)
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
    let clippy = |selection: &[&str]| {
        let mut clippy = cargo(["clippy", "--locked"]);
        clippy.args(selection).args(["--", "--deny", "warnings"]);
        command::run(&mut clippy)
    };
    session.step("lints", |_| {
        let all = ["--workspace", "--all-targets"];
        clippy(&[&all, suite::FEATURES].concat())
    });
    session.step("lints of the servers as they are shipped", |_| {
        let programs = ["--workspace", "--lib", "--bins", "--no-default-features"];
        // They use the parts of the demo, and so would all programs that are checked with them.
        let others = ["bench", "siege", "fence-cli"].map(|other| ["--exclude", other]);
        let others = others.concat();
        clippy(&[&programs[..], &others, suite::AS_IN_TESTS, suite::FEATURES].concat())
    });
}

/// Builds all test binaries once, and runs them: as they are, on PostgreSQL, and with foreign
/// clients.
fn tests(session: &mut Session) {
    let mut binaries = Vec::new();
    // Installers mostly wait for the network.
    let packages = thread::scope(|scope| {
        let packages = scope.spawn(|| Packages::install(&root()));
        session.step("compiling the tests", |_| {
            binaries = suite::build(&root(), suite::ALL)?;
            Ok(())
        });
        packages.join().unwrap_or(Err(XtaskError::Panicked))
    });
    session.step("tests", |counts| {
        let own = binaries.iter().filter(|it| it.target != foreign::TARGET);
        suite::run(own.map(Run::all).collect(), counts)
    });
    session.step("examples in documents", |counts| {
        let mut examples = cargo(["test", "--workspace", "--locked", "--no-fail-fast", "--doc"]);
        command::run_tests(examples.args(suite::FEATURES), counts)
    });
    session.step("stores on PostgreSQL", |counts| {
        postgres::test(&binaries, counts)
    });
    session.step("foreign clients", |counts| {
        foreign::test(&packages?, &binaries, counts)
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
        let mut doc = cargo(["doc", "--workspace", "--no-deps", "--locked", "--lib"]);
        doc.args(suite::AS_IN_TESTS).args(suite::FEATURES);
        doc.args(
            WITHOUT_LIBRARY
                .map(|program| ["--bin", program])
                .as_flattened(),
        );
        command::run(doc.env("RUSTDOCFLAGS", "--deny warnings"))
    });
    session.step("bans, licences, sources", |_| licences::check(&root()));
}

/// Builds the programs as they are shipped, and runs the benchmark. Only that writes to the
/// standard output.
fn bench(arguments: Vec<OsString>) -> Result<(), XtaskError> {
    let dist = ["build", "--profile", "dist", "--locked"];
    // Each package is built separately. In one build, the features of one would also apply to the
    // others.
    for package in ["api-server", "mcp-server", "fence-cli"] {
        let shipped = ["--no-default-features", "--package", package];
        command::run(cargo(dist).args(shipped))?;
    }
    command::run(cargo(dist).args(["--package", "bench"]))?;
    let mut baseline = cargo(dist);
    baseline.args(["--manifest-path", X402_AXUM, "--target-dir"]);
    command::run(baseline.arg(target()?))?;
    start(target()?.join("dist").join("bench"), arguments)
}

/// Builds the servers in release, and runs a siege of them.
fn siege(arguments: Vec<OsString>) -> Result<(), XtaskError> {
    let packages = ["api-server", "mcp-server", "siege"];
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    command::run(cargo(["build", "--release", "--locked"]).args(packages))?;
    start(target()?.join("release").join("siege"), arguments)
}

fn start(program: PathBuf, arguments: Vec<OsString>) -> Result<(), XtaskError> {
    let mut program = command::program(program);
    command::run(program.current_dir(root()).args(arguments))
}

/// Runs a short siege of the programs that were built with the tests. A release build would take
/// longer than all tests.
///
/// The seed is fixed, so that a failed run can be repeated. In the second round, the paid API
/// settles by itself, and both servers are killed.
fn short_siege() -> Result<(), XtaskError> {
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

/// The programs that are not named like the library of their package, and so have pages of their
/// own.
const WITHOUT_LIBRARY: [&str; 6] = [
    "baseline-402",
    "baseline-mcp",
    "baseline-paid",
    "dev-node",
    "paid-server",
    "plan-server",
];

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
    session.finish(false, None)
}
