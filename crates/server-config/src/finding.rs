//! What a look outside says to a configuration: the lines and the exit codes of `check-config
//! --online`.

use std::fmt;

/// What one look outside has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The key that it is about.
    pub key: String,
    /// Whether it is as configured.
    pub verdict: Verdict,
    /// For people; holds no URL and no key.
    pub said: String,
}

/// What a finding says of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it is configured.
    Agrees,
    /// Nobody answered, or not with what was asked for.
    Unreached,
    /// What is outside is not what is configured.
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

/// The exit code of a process that has found this: 2 when something contradicts the configuration,
/// 1 when something could not be reached, and 0.
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
