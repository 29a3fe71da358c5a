//! One run of a task: its named steps, their times, and the lines that end it.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::XtaskError;
use crate::cli::Steps;
use crate::counts::Counts;
use crate::stopwatch::{Spent, Stopwatch};

/// Runs steps in order and records their results.
#[derive(Debug)]
pub struct Session {
    keep_going: bool,
    counts: Counts,
    /// How many steps failed although all their tests passed or they have no tests.
    other_failures: u64,
    times: Vec<(&'static str, Option<Spent>, Ended)>,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Passed,
    Failed,
    Skipped,
}

impl Ended {
    /// Returns the first column of the step's line at the end of the run.
    const fn word(self) -> &'static str {
        match self {
            Self::Passed => "ok     ",
            Self::Failed => "FAILED ",
            Self::Skipped => "skipped",
        }
    }
}

impl Session {
    /// Begins a run without steps.
    pub fn new(steps: Steps) -> Self {
        Self {
            keep_going: steps.keep_going,
            counts: Counts::default(),
            other_failures: 0,
            times: Vec::new(),
        }
    }

    /// Runs one step. When an earlier step failed, runs it only if the caller wants to keep going.
    pub fn step(
        &mut self,
        name: &'static str,
        body: impl FnOnce(&mut Counts) -> Result<(), XtaskError>,
    ) {
        if self.failed() && !self.keep_going {
            return;
        }
        println!("\n── {name}");
        let failed_before = self.counts.failed;
        let watch = Stopwatch::start();
        let result = body(&mut self.counts);
        let spent = watch.spent();
        if let Err(error) = &result {
            if self.counts.failed == failed_before {
                self.other_failures = self.other_failures.saturating_add(1);
            }
            if let XtaskError::Layering(violations) = error {
                violations
                    .iter()
                    .for_each(|violation| eprintln!("  {violation}"));
            }
            eprintln!("── {name} failed: {error}");
        }
        let ended = if result.is_ok() {
            Ended::Passed
        } else {
            Ended::Failed
        };
        self.times.push((name, Some(spent), ended));
    }

    /// Records that this machine cannot run a step. The run continues, and names the step at its
    /// end.
    pub fn skip(&mut self, name: &'static str, reason: &str) {
        if self.failed() && !self.keep_going {
            return;
        }
        println!("\n── {name} skipped: {reason}");
        self.times.push((name, None, Ended::Skipped));
    }

    /// Whether any step has failed.
    pub fn failed(&self) -> bool {
        self.counts.failed > 0 || self.other_failures > 0
    }

    /// Prints the times of the steps and the names of the tests that failed. With `count_tests`,
    /// also prints the line that ends a run of tests. With `record`, prints the times of the run
    /// before, which are in that file, and keeps those of this run there.
    pub fn finish(self, count_tests: bool, record: Option<&Path>) -> ExitCode {
        let before = record.and_then(|file| fs::read_to_string(file).ok());
        let before = before.unwrap_or_default();
        println!();
        for (name, spent, ended) in &self.times {
            let spent = spent.map(|spent| spent.to_string()).unwrap_or_default();
            let before = match recorded(&before, name) {
                Some(before) => format!("  (before: {})", before.trim()),
                None => String::new(),
            };
            println!("{} {spent:>23}  {name}{before}", ended.word());
        }
        if let Some(file) = record
            && let Err(error) = fs::write(file, self.times_as_text())
        {
            eprintln!("{}: {error}", file.display());
        }
        for name in &self.counts.failed_tests {
            println!("failed: {name}");
        }
        if count_tests {
            println!("{}", self.total());
        }
        if self.failed() {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        }
    }

    fn times_as_text(&self) -> String {
        let line = |(name, spent, _): &(&str, Option<Spent>, Ended)| {
            spent.map(|spent| format!("{name}: {spent}\n"))
        };
        self.times.iter().filter_map(line).collect()
    }

    fn total(&self) -> Counts {
        let mut total = self.counts.clone();
        total.failed = total.failed.saturating_add(self.other_failures);
        total
    }
}

/// Returns the times of a step in the record of a run.
fn recorded<'a>(record: &'a str, step: &str) -> Option<&'a str> {
    record
        .lines()
        .find_map(|line| line.strip_prefix(step)?.strip_prefix(": "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(_: &mut Counts) -> Result<(), XtaskError> {
        Err(XtaskError::NoTests)
    }

    #[test]
    fn the_first_failure_ends_the_run() {
        let mut session = Session::new(Steps { keep_going: false });
        session.step("one", failing);
        session.step("two", |_| panic!("must not run"));
        assert_eq!(session.total().to_string(), "0 passed, 1 failed");
    }

    #[test]
    fn a_skipped_step_is_named_and_is_no_failure() {
        let mut session = Session::new(Steps { keep_going: false });
        session.skip("one", "the machine has no such target");
        session.step("two", |_| Ok(()));
        let ended: Vec<_> = session
            .times
            .iter()
            .map(|(name, _, ended)| (*name, *ended))
            .collect();
        assert_eq!(ended, [("one", Ended::Skipped), ("two", Ended::Passed)]);
        assert!(!session.failed());
    }

    #[test]
    fn keep_going_runs_the_rest_and_still_fails() {
        let mut session = Session::new(Steps { keep_going: true });
        session.step("one", failing);
        session.step("two", |counts| {
            counts.passed += 7;
            counts.failed += 2;
            Err(XtaskError::NoTests)
        });
        session.step("three", |counts| {
            counts.passed += 1;
            Ok(())
        });
        assert_eq!(session.total().to_string(), "8 passed, 3 failed");
        assert!(session.failed());
    }

    #[test]
    fn the_times_of_a_run_are_kept_for_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("times.txt");
        let mut session = Session::new(Steps { keep_going: false });
        session.step("tests", |_| Ok(()));
        session.skip("docs", "no tool");
        session.finish(false, Some(&file));
        let record = fs::read_to_string(&file).unwrap();
        assert!(
            recorded(&record, "tests").unwrap().contains(" CPU-s"),
            "{record}"
        );
        assert_eq!(recorded(&record, "docs"), None);
        assert_eq!(recorded(&record, "test"), None);
    }
}
