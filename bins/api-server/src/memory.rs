//! What this server has read of tokens within the last two days, so that it can say what has changed. It is kept in memory: after
//! a restart there is nothing to compare with until a token has been read again.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use readings::{Decimal, Figure, percent_change};
use serde::Serialize;

/// Tokens that are remembered at once.
const MOST_TOKENS: usize = 1_000;
/// Between two readings of one token that are both kept.
const APART: SignedDuration = SignedDuration::from_mins(30);
/// The age at which a reading is compared with: a day.
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// For how long a reading is kept.
const KEPT: SignedDuration = SignedDuration::from_hours(48);
const PLACES: u32 = 4;

/// One reading of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remembered {
    pub(crate) at: Timestamp,
    pub(crate) holders: Option<u64>,
    pub(crate) liquidity_usd: Option<Decimal>,
    pub(crate) top10_pct: Option<Decimal>,
    pub(crate) price_usd: Option<Decimal>,
}

/// How a token has changed since an earlier reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Change {
    /// The time of the earlier reading: a day ago, or less when this server has not read the token for so long.
    pub(crate) since: Timestamp,
    /// Accounts that hold it, more or fewer.
    pub(crate) holders: Option<i64>,
    /// Dollars in its pools, in percent.
    pub(crate) liquidity_pct: Option<Figure>,
    /// What the ten largest holders have, in points of percent of the supply.
    pub(crate) top10_points: Option<Figure>,
    /// The price, in percent.
    pub(crate) price_pct: Option<Figure>,
}

/// Readings of tokens by their names.
#[derive(Default)]
pub(crate) struct Memory(Mutex<BTreeMap<String, VecDeque<Remembered>>>);

impl Memory {
    /// Remembers a reading and says what has changed since the one that is closest to a day old; `None` when there is none that
    /// is at least half an hour old.
    pub(crate) fn change(&self, token: &str, present: Remembered) -> Option<Change> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST_TOKENS && !all.contains_key(token) {
            // The one that was read least recently makes room.
            let last = |of: &VecDeque<Remembered>| of.back().map(|reading| reading.at);
            let oldest = all
                .iter()
                .min_by_key(|(_, of)| last(of))
                .map(|(name, _)| name.clone());
            oldest.and_then(|name| all.remove(&name));
        }
        let readings = all.entry(token.to_owned()).or_default();
        let age = |of: &Remembered| present.at.duration_since(of.at);
        readings.retain(|of| age(of) <= KEPT);
        let before = readings
            .iter()
            .filter(|of| age(of) >= APART)
            .min_by_key(|of| (age(of) - DAY).abs())
            .cloned();
        if readings.back().is_none_or(|last| age(last) >= APART) {
            readings.push_back(present.clone());
        }
        before.map(|before| between(&before, &present))
    }
}

fn between(before: &Remembered, present: &Remembered) -> Change {
    let percent = |then: Option<Decimal>, now: Option<Decimal>| {
        let change = percent_change(then?, now?)?;
        Some(Figure(change.round_dp(PLACES)))
    };
    let counted = |count: Option<u64>| count.and_then(|count| i64::try_from(count).ok());
    let points = present.top10_pct.zip(before.top10_pct);
    Change {
        since: before.at,
        holders: counted(present.holders)
            .zip(counted(before.holders))
            .and_then(|(now, then)| now.checked_sub(then)),
        liquidity_pct: percent(before.liquidity_usd, present.liquidity_usd),
        top10_points: points
            .and_then(|(now, then)| now.checked_sub(then))
            .map(|points| Figure(points.round_dp(PLACES))),
        price_pct: percent(before.price_usd, present.price_usd),
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(hours: i64, holders: u64) -> Remembered {
        Remembered {
            at: Timestamp::from_second(hours * 3600).unwrap(),
            holders: Some(holders),
            liquidity_usd: Some(Decimal::from(holders)),
            top10_pct: Some(Decimal::from(10)),
            price_usd: None,
        }
    }

    #[test]
    fn a_token_is_compared_with_the_day_before() {
        let memory = Memory::default();
        assert_eq!(memory.change("a", reading(0, 100)), None);
        assert_eq!(memory.change("b", reading(1, 1)), None, "another token");
        assert_eq!(
            memory.change("a", reading(10, 120)).unwrap().holders,
            Some(20)
        );
        let change = memory.change("a", reading(25, 90)).unwrap();
        assert_eq!(change.since, Timestamp::UNIX_EPOCH, "closest to a day");
        assert_eq!(change.holders, Some(-10));
        assert_eq!(change.liquidity_pct.unwrap().to_string(), "-10");
        assert_eq!(
            (change.top10_points.unwrap().to_string(), change.price_pct),
            ("0".into(), None)
        );
        // After two days nothing of it is left.
        assert_eq!(memory.change("a", reading(100, 1)), None);
    }

    #[test]
    fn a_reading_of_just_now_is_none_to_compare_with() {
        let memory = Memory::default();
        memory.change("a", reading(0, 100));
        let soon = Remembered {
            at: Timestamp::from_second(60).unwrap(),
            ..reading(0, 500)
        };
        assert_eq!(memory.change("a", soon), None);
    }
}
