//! Counts tests from the output of test binaries.

use std::fmt;
use std::ops::AddAssign;

/// Numbers of tests that ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many tests passed.
    pub passed: u64,
    /// How many tests failed.
    pub failed: u64,
    /// The names of tests that failed.
    pub failed_tests: Vec<String>,
}

impl Counts {
    /// Adds what one line of a test binary reports.
    pub fn add_line(&mut self, line: &str) {
        if let Some(binary) = Self::from_line(line) {
            *self += binary;
        }
        if let Some(name) = Self::failed_test(line) {
            self.failed_tests.push(name.to_owned());
        }
    }

    /// Reads one line of a test binary. Returns the counts of the summary line that libtest prints
    /// last (`test result: ok. 3 passed; 0 failed; …`), and `None` for every other line.
    pub fn from_line(line: &str) -> Option<Self> {
        let (_verdict, numbers) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let number = |label: &str| {
            numbers
                .split("; ")
                .find_map(|part| part.strip_suffix(label)?.trim().parse().ok())
        };
        Some(Self {
            passed: number("passed")?,
            failed: number("failed")?,
            failed_tests: Vec::new(),
        })
    }

    /// Reads one line of a test binary. Returns the name of the test that failed, and `None` for
    /// every line that reports no failed test.
    pub fn failed_test(line: &str) -> Option<&str> {
        line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.failed_tests.extend(other.failed_tests);
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<(u64, u64)>) {
        let counts = Counts::from_line(line).map(|counts| (counts.passed, counts.failed));
        assert_eq!(counts, expected, "{line}");
    }

    #[test]
    fn summary_lines_are_read_and_others_are_not() {
        check(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            Some((3, 0)),
        );
        check(
            "test result: FAILED. 1204 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.20s",
            Some((1204, 2)),
        );
        check("test result::tests::reads_a_line ... ok", None);
        check("running 3 tests", None);
        check("test result: ok. passed; 0 failed", None);
        check("", None);
    }

    #[test]
    fn only_the_line_of_a_failed_test_names_it() {
        let name = "orders::a_fill_is_charged";
        for (line, expected) in [
            ("test orders::a_fill_is_charged ... FAILED", Some(name)),
            ("test orders::a_fill_is_charged ... ok", None),
            ("test result: FAILED. 0 passed; 1 failed", None),
            ("    orders::a_fill_is_charged", None),
        ] {
            assert_eq!(Counts::failed_test(line), expected, "{line}");
        }
    }

    #[test]
    fn counts_add_up() {
        let counts = |passed, names: &[&str]| Counts {
            passed,
            failed: u64::try_from(names.len()).unwrap(),
            failed_tests: names.iter().copied().map(str::to_owned).collect(),
        };
        let mut total = counts(2, &["a"]);
        total += counts(3, &["b", "c"]);
        assert_eq!(total, counts(5, &["a", "b", "c"]));
        assert_eq!(total.to_string(), "5 passed, 3 failed");
    }
}
