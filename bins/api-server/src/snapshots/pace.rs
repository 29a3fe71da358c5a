//! The schedule of a dataset.

use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

/// The schedule of a dataset, and its greatest age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// The time between two editions. Editions begin at its multiples: an hourly one at the full
    /// hour.
    pub(crate) every: Duration,
    /// The greatest age at which an edition is fresh.
    pub(crate) fresh: Duration,
    /// The age from which an edition is not served.
    pub(crate) refused: Duration,
    /// The pause after a failed attempt.
    pub(crate) retry: Duration,
    /// The time limit of gathering.
    pub(crate) patience: Duration,
}

impl Pace {
    /// Hourly, fresh for 75 minutes, refused after six hours.
    pub(crate) const HOURLY: Self = Self {
        every: Duration::from_secs(3600),
        fresh: Duration::from_secs(75 * 60),
        refused: Duration::from_secs(6 * 3600),
        retry: Duration::from_secs(300),
        patience: Duration::from_secs(45),
    };

    /// The beginning of the period around `now`.
    pub(super) fn period(&self, now: Timestamp) -> Timestamp {
        let every = seconds(self.every).max(1);
        let begin = now.as_second() - now.as_second().rem_euclid(every);
        Timestamp::from_second(begin).unwrap_or(now)
    }

    /// How long `holder` waits from `now` for its place in the next period. Each server has its own
    /// place in the first thirtieth of a period, so that several servers do not ask all upstreams
    /// in the same second.
    pub(super) fn wait(&self, holder: &str, now: Timestamp) -> Duration {
        let next = self
            .period(now)
            .as_second()
            .saturating_add(seconds(self.every));
        let left = next
            .saturating_sub(now.as_second())
            .saturating_add(self.place(holder));
        Duration::from_secs(u64::try_from(left).unwrap_or(0).max(1))
    }

    fn place(&self, holder: &str) -> i64 {
        let room = (seconds(self.every) / 30).clamp(1, 60);
        let digest = Sha256::digest(holder.as_bytes());
        let number = digest
            .iter()
            .take(4)
            .fold(0_i64, |number, byte| number * 256 + i64::from(*byte));
        number.rem_euclid(room)
    }
}

fn seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lie_at_the_beginning_of_a_period() {
        let now: Timestamp = "2026-11-21T01:02:00Z".parse().unwrap();
        assert_eq!(Pace::HOURLY.period(now).to_string(), "2026-11-21T01:00:00Z");
        let mut places = std::collections::BTreeSet::new();
        for holder in ["a", "b", "c", "d"] {
            let wait = Pace::HOURLY.wait(holder, now);
            assert_eq!(wait, Pace::HOURLY.wait(holder, now));
            assert!((58 * 60..=59 * 60).contains(&wait.as_secs()), "{wait:?}");
            places.insert(wait);
        }
        assert!(places.len() > 1);
        // At the full hour itself the next period is an hour away.
        let full: Timestamp = "2026-11-21T01:00:00Z".parse().unwrap();
        assert!(Pace::HOURLY.wait("a", full).as_secs() >= 3600);
    }
}
