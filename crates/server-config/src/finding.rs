//! The findings of `check-config --online`, with their lines and their exit code.

use std::fmt;

/// The result of the comparison of one key with the outside world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The key.
    pub key: String,
    /// The result.
    pub verdict: Verdict,
    /// A message for people. It contains no URL and no key.
    pub said: String,
}

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The outside world agrees with the configuration.
    Agrees,
    /// No usable answer came.
    Unreached,
    /// The outside world contradicts the configuration.
    Contradicts,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Agrees => "ok",
            Verdict::Unreached => "not reached",
            Verdict::Contradicts => "contradicts",
        };
        write!(f, "{}: {verdict}: {}", self.key, self.said)
    }
}

/// Returns the exit code for these findings: 2 when one contradicts the configuration, otherwise 1
/// when one was not reached, otherwise 0.
#[must_use]
pub fn exit_code(findings: &[Finding]) -> u8 {
    match findings.iter().map(|finding| finding.verdict).max() {
        Some(Verdict::Contradicts) => 2,
        Some(Verdict::Unreached) => 1,
        Some(Verdict::Agrees) | None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_finding_decides() {
        let found = |verdicts: &[Verdict]| {
            let findings: Vec<Finding> = verdicts
                .iter()
                .map(|verdict| Finding {
                    key: String::new(),
                    verdict: *verdict,
                    said: String::new(),
                })
                .collect();
            exit_code(&findings)
        };
        use Verdict::{Agrees, Contradicts, Unreached};
        assert_eq!(found(&[]), 0);
        assert_eq!(found(&[Agrees]), 0);
        assert_eq!(found(&[Agrees, Unreached]), 1);
        assert_eq!(found(&[Contradicts, Unreached, Agrees]), 2);
    }
}
