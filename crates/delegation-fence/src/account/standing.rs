//! The states of a grant: received, active, ended. Only an active grant gives the values that a
//! plan is judged by, so no code can use an ended one.

use alloy_primitives::U256;
use calldata_checks::UtcSeconds;

use super::{Tightest, Use, revoked};
use crate::{Grant, Now, Policy, ReceivedGrant, Refusal, Rule};

/// A received grant's state at a time and under a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing<'a> {
    /// It has not begun.
    NotYetValid(&'a ReceivedGrant),
    /// Plans may be ordered under it.
    Active(ActiveGrant<'a>),
    /// It has ended: nothing is sent under it any more.
    Ended(EndedGrant<'a>),
}

/// A grant under which plans may be ordered. Only [`Account::standing`](crate::Account::standing)
/// makes one, for a single judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveGrant<'a> {
    received: &'a ReceivedGrant,
    cap: U256,
    tightest: Tightest,
    uses: &'a [Use],
}

/// A grant that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedGrant<'a> {
    /// The grant.
    pub received: &'a ReceivedGrant,
    /// The reason.
    pub reason: EndReason,
}

/// The reason why a grant is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// It was revoked, in Unix seconds.
    Revoked(u64),
    /// Its time is over.
    Expired,
    /// Its policy was replaced. A new policy carries no grant over.
    Superseded,
}

impl<'a> Standing<'a> {
    pub(super) fn of(
        received: &'a ReceivedGrant,
        revoked_at: Option<u64>,
        policy: &Policy,
        now: Now,
        tightest: Tightest,
        uses: &'a [Use],
    ) -> Self {
        let grant = received.grant();
        let is_of_policy =
            grant.policy_name == *policy.name() && grant.rules_digest == policy.digest();
        let reason = if let Some(at) = revoked_at {
            Some(EndReason::Revoked(at))
        } else if grant.expires_at <= now.latest().unix() {
            Some(EndReason::Expired)
        } else if !is_of_policy {
            Some(EndReason::Superseded)
        } else {
            None
        };
        if let Some(reason) = reason {
            return Self::Ended(EndedGrant { received, reason });
        }
        if grant.not_before > now.earliest().unix() {
            return Self::NotYetValid(received);
        }
        let cap = [Some(grant.per_swap_cap), tightest.per_swap_cap]
            .into_iter()
            .flatten()
            .fold(policy.per_swap_cap(), U256::min);
        Self::Active(ActiveGrant {
            received,
            cap,
            tightest,
            uses,
        })
    }

    /// The word on the wire: `not_yet_valid`, `active`, `expired`, `revoked`, `superseded`.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NotYetValid(_) => "not_yet_valid",
            Self::Active(_) => "active",
            Self::Ended(ended) => match ended.reason {
                EndReason::Revoked(_) => "revoked",
                EndReason::Expired => "expired",
                EndReason::Superseded => "superseded",
            },
        }
    }

    /// The grant, when plans may be ordered under it.
    ///
    /// # Errors
    /// `grant_not_yet_valid`, `grant_revoked`, `grant_expired`, `grant_superseded`
    pub fn require_active(self) -> Result<ActiveGrant<'a>, Refusal> {
        match self {
            Self::Active(active) => Ok(active),
            Self::NotYetValid(received) => Err(Refusal::new(
                Rule::GrantNotYetValid,
                "the grant has not begun",
                "a grant that has begun",
                format_args!(
                    "from {}",
                    UtcSeconds::from_unix(received.grant().not_before)
                ),
            )),
            Self::Ended(ended) => Err(ended.refusal()),
        }
    }
}

impl EndedGrant<'_> {
    fn refusal(&self) -> Refusal {
        let grant = self.received.grant();
        match self.reason {
            EndReason::Revoked(at) => revoked(at),
            EndReason::Expired => Refusal::new(
                Rule::GrantExpired,
                "the grant is over",
                "a grant that is not over",
                format_args!("until {}", UtcSeconds::from_unix(grant.expires_at)),
            ),
            EndReason::Superseded => Refusal::new(
                Rule::GrantSuperseded,
                "the grant is for a policy that another one has replaced; sign a new one",
                "a grant for the policy in force",
                format_args!("{} {}", grant.policy_name, grant.rules_digest),
            ),
        }
    }
}

impl<'a> ActiveGrant<'a> {
    /// The grant.
    #[must_use]
    pub const fn grant(&self) -> &'a Grant {
        self.received.grant()
    }

    /// The grant as it was received.
    #[must_use]
    pub const fn received(&self) -> &'a ReceivedGrant {
        self.received
    }

    /// The most that one swap takes: the lowest of the policy's cap, the grant's and every limit's.
    #[must_use]
    pub const fn cap(&self) -> U256 {
        self.cap
    }

    /// The limits that the holder signed in addition to the grant.
    #[must_use]
    pub const fn tightest(&self) -> Tightest {
        self.tightest
    }

    /// The plans whose third step was signed.
    #[must_use]
    pub const fn uses(&self) -> &'a [Use] {
        self.uses
    }
}
