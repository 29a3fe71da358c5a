//! One run of a task: its named steps, their times, and the lines that end it.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::XtaskError;
use crate::cli::Steps;
use crate::counts::Counts;

/// Runs steps in order and records their results.
#[derive(Debug)]
pub struct Session {
    keep_going: bool,
    counts: Counts,
    /// How many steps failed although all their tests passed or they have no tests.
    other_failures: u64,
    times: Vec<(&'static str, Duration, Ended)>,
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
        let start = Instant::now();
        let result = body(&mut self.counts);
        let time = start.elapsed();
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
        self.times.push((name, time, ended));
    }

    /// Records that this machine cannot run a step. The run continues, and names the step at its
    /// end.
    pub fn skip(&mut self, name: &'static str, reason: &str) {
        if self.failed() && !self.keep_going {
            return;
        }
        println!("\n── {name} skipped: {reason}");
        self.times.push((name, Duration::ZERO, Ended::Skipped));
    }

    /// Whether any step has failed.
    pub fn failed(&self) -> bool {
        self.counts.failed > 0 || self.other_failures > 0
    }

    /// Prints the times of the steps and the names of the tests that failed. With `count_tests`,
    /// also prints the line that ends a run of tests.
    pub fn finish(self, count_tests: bool) -> ExitCode {
        println!();
        for (name, time, ended) in &self.times {
            let seconds = time.as_secs();
            let tenths = time.subsec_millis() / 100;
            println!("{} {seconds:>5}.{tenths} s  {name}", ended.word());
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

    fn total(&self) -> Counts {
        let mut total = self.counts.clone();
        total.failed = total.failed.saturating_add(self.other_failures);
        total
    }
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
}
