//! A mandate, its states, and the times of its checks.
//!
//! This module is pure: the caller passes the time, and stores what it returns.

use alloy_primitives::keccak256;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Problem, Rules};

/// The most active mandates of one owner. This limits how many mandates can be created without
/// being charged.
pub const MAX_ACTIVE: usize = 20;
/// The most days from the creation of a mandate to its end.
pub const MAX_DAYS: i64 = 180;

/// The most seconds from the creation to the first check. That check sets the baseline for later
/// yields.
const FIRST_CHECK_SECONDS: u64 = 60;

/// How a mandate reacts to an opportunity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The opportunity is recorded, and the owner reads the audit.
    Notify,
    /// The owner's sub-wallet moves the money.
    Auto,
}

/// The state of a mandate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The mandate is being checked.
    Active,
    /// Its owner has cancelled it.
    Cancelled,
    /// Its time is over.
    Expired,
}

/// The end of a mandate. Only the first end counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Whether it was cancelled or has expired.
    pub state: State,
    /// The time of the end.
    pub at: Timestamp,
}

/// A standing mandate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mandate {
    /// Its id: 128 bits in hex.
    pub id: String,
    /// Its owner, as CAIP-10. The owner has paid for its creation.
    pub owner: String,
    /// Its rules.
    pub rules: Rules,
    /// Its mode.
    pub mode: Mode,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its time is over.
    pub expires_at: Timestamp,
    /// The time of the last recorded check.
    pub last_check_at: Option<Timestamp>,
    /// Its end. `None` until the end is recorded.
    pub ended: Option<Ended>,
}

impl Mandate {
    /// Returns the members of a new mandate that are out of bounds. Empty when all are valid.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = self.rules.problems();
        let ahead = self.expires_at.duration_since(self.created_at);
        let longest = SignedDuration::from_hours(MAX_DAYS * 24);
        if ahead <= SignedDuration::ZERO || ahead > longest {
            problems.push(Problem {
                path: "expires_at",
                expected: "in the future, at most 180 days ahead",
            });
        }
        problems
    }

    /// Returns the state at `now`. The mandate expires at `expires_at`, whether that is recorded
    /// yet or not.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> State {
        match self.ended {
            Some(ended) => ended.state,
            None if now >= self.expires_at => State::Expired,
            None => State::Active,
        }
    }

    /// Ends the mandate at `now`: it is cancelled, or has expired if its time was over. Returns the
    /// earlier end if it has one.
    pub fn cancel(&mut self, now: Timestamp) -> Ended {
        let (state, at) = match now < self.expires_at {
            true => (State::Cancelled, now),
            false => (State::Expired, self.expires_at),
        };
        *self.ended.get_or_insert(Ended { state, at })
    }

    /// Returns the time of the next check: soon after the creation, and then an interval after each
    /// check, plus up to a twentieth of the interval. The additional delay depends only on the id
    /// and the time of the last check, so a restart does not change it.
    #[must_use]
    pub fn next_check_at(&self) -> Timestamp {
        let from = self.last_check_at.unwrap_or(self.created_at);
        let seed = keccak256(format!("{}:{}", self.id, from.as_second()));
        let spread = (self.rules.check_interval / 20).max(1);
        let [high, low, ..] = seed.0;
        let jitter = u64::from(u16::from_be_bytes([high, low]));
        let wait = match self.last_check_at {
            Some(_) => self.rules.check_interval.saturating_add(jitter % spread),
            None => jitter % spread.min(FIRST_CHECK_SECONDS),
        };
        let wait = SignedDuration::from_secs(i64::try_from(wait).unwrap_or(i64::MAX));
        from.checked_add(wait).unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests {
    use readings::{Decimal, Figure};

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn mandate() -> Mandate {
        Mandate {
            id: "00".repeat(16),
            owner: "eip155:196:0x01".to_owned(),
            rules: Rules {
                min_apy_delta_bps: 50,
                max_slippage_bps: 50,
                max_move_usd: Figure(Decimal::ONE),
                allowed_protocols: vec!["aave-v3".to_owned()],
                check_interval: 3_600,
                max_moves_per_day: 1,
                min_gain_usd: Figure(Decimal::ONE),
            },
            mode: Mode::Notify,
            created_at: at("2026-11-21T00:00:00Z"),
            expires_at: at("2026-11-22T00:00:00Z"),
            last_check_at: None,
            ended: None,
        }
    }

    #[test]
    fn the_end_must_lie_ahead_by_at_most_180_days() {
        let ending = |text: &str| {
            let mut mandate = mandate();
            mandate.expires_at = at(text);
            mandate.problems().len()
        };
        assert_eq!(ending("2026-11-21T00:00:00Z"), 1);
        assert_eq!(ending("2026-11-21T00:00:01Z"), 0);
        assert_eq!(ending("2027-05-20T00:00:00Z"), 0);
        assert_eq!(ending("2027-05-20T00:00:01Z"), 1);
    }

    #[test]
    fn a_second_cancellation_repeats_the_first() {
        let mut mandate = mandate();
        let first = mandate.cancel(at("2026-11-21T01:00:00Z"));
        assert_eq!(first.state, State::Cancelled);
        assert_eq!(mandate.cancel(at("2026-11-21T02:00:00Z")), first);
        assert_eq!(mandate.state(at("2027-01-01T00:00:00Z")), State::Cancelled);
    }

    #[test]
    fn an_expired_mandate_is_not_cancelled() {
        let mut mandate = mandate();
        assert_eq!(mandate.state(at("2026-11-21T23:59:59Z")), State::Active);
        assert_eq!(mandate.state(at("2026-11-22T00:00:00Z")), State::Expired);
        let ended = mandate.cancel(at("2026-11-23T00:00:00Z"));
        assert_eq!(
            (ended.state, ended.at),
            (State::Expired, mandate.expires_at)
        );
    }

    #[test]
    fn the_next_check_comes_after_an_interval_with_a_delay_that_a_restart_repeats() {
        let mut mandate = mandate();
        let first = mandate.next_check_at();
        let wait = first.duration_since(mandate.created_at).as_secs();
        assert!((0..60).contains(&wait), "{wait}");
        mandate.last_check_at = Some(first);
        let next = mandate.next_check_at();
        let wait = next.duration_since(first).as_secs();
        assert!((3_600..3_780).contains(&wait), "{wait}");
        assert_eq!(mandate.next_check_at(), next);
    }
}
