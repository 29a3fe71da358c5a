//! The test binaries of the workspace: built once, and run side by side.
//!
//! Cargo runs one test binary after the other, and many tests mostly wait: for a block, a lease or
//! a time-out. Here, one binary for each processor runs at a time. A test still shares its process
//! with the other tests of its binary, as under `cargo test`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use cargo_metadata::{Artifact, Message};

use crate::XtaskError;
use crate::command::{self, Captured};
use crate::counts::Counts;

/// One test binary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestBinary {
    /// The name of its target: `api_server`, `ledger`.
    pub target: String,
    /// Whether it has the unit tests of a library or program, not the tests of the folder `tests`.
    pub is_unit: bool,
    /// The program.
    pub program: PathBuf,
    /// The folder of its package, in which it runs.
    pub folder: PathBuf,
}

impl fmt::Display for TestBinary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let package = self.folder.file_name().unwrap_or_default();
        let kind = if self.is_unit { "unit tests" } else { "tests" };
        write!(f, "{kind} {} of {}", self.target, package.display())
    }
}

/// One run of a test binary.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// The binary.
    pub binary: &'a TestBinary,
    /// Its arguments: filters of tests and options.
    pub arguments: Vec<String>,
    /// Further variables of its environment.
    pub variables: Vec<(&'static str, String)>,
}

impl<'a> Run<'a> {
    /// A run of all tests of the binary.
    #[must_use]
    pub const fn all(binary: &'a TestBinary) -> Self {
        Self {
            binary,
            arguments: Vec::new(),
            variables: Vec::new(),
        }
    }

    /// Lets two tests for each processor run at once: for tests that mostly wait for blocks.
    #[must_use]
    pub fn mostly_waiting(mut self) -> Self {
        let threads = processors().saturating_mul(2).to_string();
        self.arguments
            .extend(["--test-threads".to_owned(), threads]);
        self
    }

    fn command(&self) -> Command {
        let mut command = command::program(&self.binary.program);
        command
            .current_dir(&self.binary.folder)
            .env("CARGO_MANIFEST_DIR", &self.binary.folder)
            .args(&self.arguments)
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// The features of every build and check of the workspace. Builds with the same features share what
/// they compile.
pub const FEATURES: &[&str] = &["--features", "judges/foreign"];

/// Adds the examples to a selection. With them, cargo also takes the features that development
/// dependencies ask for, as it does for tests. So the dependencies are not checked once more.
pub const AS_IN_TESTS: &[&str] = &["--examples"];

/// The selection of all test binaries, and of the programs that tests and sieges start.
pub const ALL: &[&str] = &["--tests", "--bins"];

/// Builds test binaries and programs of the workspace, and returns the test binaries. `selection`
/// limits the targets, as in `cargo build`. It does not change what they are compiled with.
///
/// # Errors
/// A build fails.
pub fn build(root: &Path, selection: &[&str]) -> Result<Vec<TestBinary>, XtaskError> {
    let mut tests = command::cargo();
    tests
        .current_dir(root)
        .args(["build", "--workspace", "--locked"])
        .args(FEATURES)
        .args(["--message-format", "json-render-diagnostics"])
        .args(selection);
    let output = command::visible_output(&mut tests)?;
    let mut binaries = Vec::new();
    for message in Message::parse_stream(output.as_bytes()) {
        let message = message.map_err(XtaskError::io("messages of cargo"))?;
        if let Message::CompilerArtifact(artifact) = message {
            binaries.extend(test_binary(artifact));
        }
    }
    Ok(binaries)
}

/// Finds a binary by the name of its target.
///
/// # Errors
/// It is not among the binaries.
pub fn find<'a>(
    binaries: &'a [TestBinary],
    target: &'static str,
    is_unit: bool,
) -> Result<&'a TestBinary, XtaskError> {
    binaries
        .iter()
        .find(|binary| binary.target == target && binary.is_unit == is_unit)
        .ok_or(XtaskError::NoBinary { target })
}

fn test_binary(artifact: Artifact) -> Option<TestBinary> {
    let program = artifact
        .executable
        .filter(|_| artifact.profile.test)?
        .into_std_path_buf();
    let manifest = artifact.manifest_path.into_std_path_buf();
    Some(TestBinary {
        is_unit: !artifact.target.is_test(),
        target: artifact.target.name,
        program,
        folder: manifest.parent()?.to_owned(),
    })
}

/// Runs the binaries, the largest first: they mostly run longest. Shows the output of each when it
/// ends, and adds its tests to `counts`.
///
/// # Errors
/// A binary cannot be started, or one of its tests fails. The other binaries run all the same.
pub fn run(runs: Vec<Run<'_>>, counts: &mut Counts) -> Result<(), XtaskError> {
    let runs = largest_first(runs);
    let next = AtomicUsize::new(0);
    let ended = Mutex::new((Counts::default(), Ok(())));
    let work = || {
        while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let started = Instant::now();
            let Captured {
                output,
                counts,
                result,
            } = command::capture_tests(&mut run.command());
            let seconds = started.elapsed().as_secs_f64();
            let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
            println!("     Ran {} in {seconds:.1} s\n{output}", run.binary);
            ended.0 += counts;
            if ended.1.is_ok() {
                ended.1 = result;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..processors() {
            scope.spawn(work);
        }
    });
    let (ran, result) = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    let passed = ran.passed;
    *counts += ran;
    result?;
    match passed {
        0 => Err(XtaskError::NoTests),
        _ => Ok(()),
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn largest_first(mut runs: Vec<Run<'_>>) -> Vec<Run<'_>> {
    let size = |run: &Run<'_>| std::fs::metadata(&run.binary.program).map_or(0, |file| file.len());
    runs.sort_by_key(|run| std::cmp::Reverse(size(run)));
    runs
}
