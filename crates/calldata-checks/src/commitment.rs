//! The two checks about the artifact itself that every rail shares: its digest and its expiry.

use alloy_primitives::B256;

use crate::{Observed, UtcSeconds, Verdict, Violation};

/// Name of the check that the plan matches its digest.
pub const PAYLOAD_DIGEST: &str = "payload_digest_committed";
/// The fact that it establishes.
pub const PAYLOAD_DIGEST_ESTABLISHES: &str =
    "the plan is hashed; the digest is submission.payload_digest";
/// Name of the check that the plan is current and names its end.
pub const ARTIFACT_EXPIRY: &str = "artifact_expiry_committed";
/// The fact that it establishes.
pub const ARTIFACT_EXPIRY_ESTABLISHES: &str = "valid_until is inside the digest and not yet over";

/// The longest life of a plan, in seconds.
pub const MAX_LIFE_SECONDS: u64 = 600;
/// The most that a verifier's clock may run behind the builder's, in seconds.
pub const CLOCK_TOLERANCE_SECONDS: u64 = 60;

/// A plan's commitments about itself.
///
/// # Example
/// ```
/// use alloy_primitives::B256;
/// use calldata_checks::{Commitment, DigestStanding, UtcSeconds};
///
/// let commitment = Commitment {
///     valid_until: "2026-09-21T14:18:20Z".parse()?,
///     now: "2026-09-21T14:14:00Z".parse()?,
///     digest: DigestStanding::Recomputed { claimed: B256::ZERO, computed: B256::repeat_byte(1) },
/// };
/// assert!(commitment.judge_expiry().is_ok());
/// let violation = commitment.judge_digest().unwrap_err();
/// assert_eq!(violation.message, "the plan is not the one that was sealed");
///
/// let late = Commitment { now: commitment.valid_until, ..commitment };
/// assert_eq!(late.judge_expiry().unwrap_err().message, "the plan is no longer valid");
/// # Ok::<(), calldata_checks::TimeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commitment {
    /// The end of the plan.
    pub valid_until: UtcSeconds,
    /// The time of the judgement.
    pub now: UtcSeconds,
    /// The plan's digest.
    pub digest: DigestStanding,
}

/// The state of a plan's digest when it is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestStanding {
    /// The plan is being built: the digest is computed over the report of this judgement.
    Sealing,
    /// The digest that a foreign plan claims, and the digest of its bytes.
    Recomputed {
        /// `submission.payload_digest`.
        claimed: B256,
        /// The digest of the plan's bytes.
        computed: B256,
    },
}

impl Commitment {
    /// Checks that the digest is the plan's.
    ///
    /// # Errors
    /// The two digests, when they differ.
    pub fn judge_digest(&self) -> Verdict {
        match self.digest {
            DigestStanding::Recomputed { claimed, computed } if claimed != computed => Err(
                Violation::new("the plan is not the one that was sealed", claimed, computed),
            ),
            DigestStanding::Recomputed { .. } | DigestStanding::Sealing => Ok(Observed::fixed(
                "keccak256 over RFC 8785 without this digest",
            )),
        }
    }

    /// Checks that the plan is current, and ends within the longest life of a plan.
    ///
    /// # Errors
    /// The plan has ended, or claims a longer life than any plan may have.
    pub fn judge_expiry(&self) -> Verdict {
        if self.now >= self.valid_until {
            return Err(Violation::new(
                "the plan is no longer valid",
                format_args!("a time before {}", self.valid_until),
                self.now,
            ));
        }
        let latest = self
            .now
            .saturating_add(MAX_LIFE_SECONDS + CLOCK_TOLERANCE_SECONDS);
        if self.valid_until > latest {
            return Err(Violation::new(
                "the plan claims a longer life than a plan may have",
                format_args!("at most {latest}"),
                self.valid_until,
            ));
        }
        Ok(Observed::from(self.valid_until.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn commitment(valid_until: u64, digest: DigestStanding) -> Commitment {
        Commitment {
            valid_until: UtcSeconds::from_unix(valid_until),
            now: UtcSeconds::from_unix(NOW),
            digest,
        }
    }

    #[test]
    fn a_digest_is_the_recomputed_one_or_still_to_be_computed() {
        let claimed = B256::repeat_byte(1);
        let standing = |computed| {
            let digest = DigestStanding::Recomputed { claimed, computed };
            commitment(NOW + 1, digest).judge_digest()
        };
        let sealing = commitment(NOW + 1, DigestStanding::Sealing).judge_digest();
        assert!(sealing.is_ok());
        assert_eq!(standing(claimed), sealing);
        let other = B256::repeat_byte(2);
        assert_eq!(
            standing(other),
            Err(Violation::new(
                "the plan is not the one that was sealed",
                claimed,
                other
            ))
        );
    }

    #[test]
    fn a_plan_ends_within_the_longest_life_and_the_tolerance_of_clocks() {
        for (valid_until, refusal) in [
            (0, Some("the plan is no longer valid")),
            (NOW, Some("the plan is no longer valid")),
            (NOW + 1, None),
            (NOW + 660, None),
            (
                NOW + 661,
                Some("the plan claims a longer life than a plan may have"),
            ),
            (
                u64::MAX,
                Some("the plan claims a longer life than a plan may have"),
            ),
        ] {
            let judged = commitment(valid_until, DigestStanding::Sealing).judge_expiry();
            let message = judged.err().map(|violation| violation.message);
            assert_eq!(message.as_deref(), refusal, "{valid_until}");
        }
    }
}
