//! The two checks about the artifact itself that every rail shares: its digest and its expiry.

use alloy_primitives::B256;

use crate::{Observed, UtcSeconds, Verdict, Violation};

/// Name of the check that the plan is what its digest says.
pub const PAYLOAD_DIGEST: &str = "payload_digest_committed";
/// What it establishes.
pub const PAYLOAD_DIGEST_ESTABLISHES: &str =
    "the plan is hashed; the digest is submission.payload_digest";
/// Name of the check that the plan is current and says until when.
pub const ARTIFACT_EXPIRY: &str = "artifact_expiry_committed";
/// What it establishes.
pub const ARTIFACT_EXPIRY_ESTABLISHES: &str = "valid_until is inside the digest and not yet over";

/// The longest life of a plan, in seconds (decisions section 1, `[plans]`).
pub const MAX_LIFE_SECONDS: u64 = 600;
/// How far a verifier's clock may run behind the builder's, in seconds.
pub const CLOCK_TOLERANCE_SECONDS: u64 = 60;

/// What a plan commits to about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commitment {
    /// Until when it is current.
    pub valid_until: UtcSeconds,
    /// The time of the judgement.
    pub now: UtcSeconds,
    /// Its digest.
    pub digest: DigestStanding,
}

/// What is known about a plan's digest when it is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestStanding {
    /// The plan is being built: the digest is computed over the report of this judgement.
    Sealing,
    /// A foreign plan: what it claims, and what its bytes give.
    Recomputed {
        /// `submission.payload_digest`.
        claimed: B256,
        /// The digest of the plan's bytes.
        computed: B256,
    },
}

impl Commitment {
    /// The digest is that of the plan.
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

    /// The plan is current, and ends within the longest life of a plan.
    ///
    /// # Errors
    /// A plan that is over, or that claims to live longer than any plan may.
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
