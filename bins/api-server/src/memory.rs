//! What this server has read of tokens within the last two days, so that it can say what has changed. With a store it is kept
//! there and goes on after a restart; without one it begins anew.

mod kept;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use readings::{Decimal, Figure, percent_change};
use serde::{Deserialize, Serialize};

pub(crate) use self::kept::keep;

/// Tokens that are remembered at once.
const MOST_TOKENS: usize = 1_000;
/// Readings of one token that are kept.
const MOST_READINGS: usize = 48;
/// The youngest reading that is compared with.
const APART: SignedDuration = SignedDuration::from_mins(30);
/// Between two readings of one token that are both kept.
const KEPT_APART: SignedDuration = SignedDuration::from_hours(1);
/// The age at which a reading is compared with: a day.
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// For how long a reading is kept.
const KEPT: SignedDuration = SignedDuration::from_hours(48);
const PLACES: u32 = 4;

/// One reading of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Remembered {
    pub(crate) at: Timestamp,
    pub(crate) holders: Option<u64>,
    pub(crate) liquidity_usd: Option<Figure>,
    pub(crate) top10_pct: Option<Figure>,
    pub(crate) price_usd: Option<Figure>,
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

/// Readings of tokens by their names, oldest first. Clones are the same memory.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    tokens: Readings,
    /// Counts what was added, so that what is unchanged is not written again.
    changes: u64,
}

type Readings = BTreeMap<String, VecDeque<Remembered>>;

impl Memory {
    /// Remembers a reading and says what has changed since the one that is closest to a day old; `None` when there is none that
    /// is at least half an hour old.
    pub(crate) fn change(&self, token: &str, present: Remembered) -> Option<Change> {
        let mut state = self.state();
        let state = &mut *state;
        make_room(&mut state.tokens, token);
        let readings = state.tokens.entry(token.to_owned()).or_default();
        let age = |of: &Remembered| present.at.duration_since(of.at);
        readings.retain(|of| age(of) <= KEPT);
        let before = readings
            .iter()
            .filter(|of| age(of) >= APART)
            .min_by_key(|of| (age(of) - DAY).abs())
            .cloned();
        if readings.back().is_none_or(|last| age(last) >= KEPT_APART) {
            readings.push_back(present.clone());
            state.changes = state.changes.saturating_add(1);
        }
        before.map(|before| between(&before, &present))
    }

    /// Takes in readings that were made before, or by another server, as far as they are not too old at `now`.
    fn join(&self, others: Readings, now: Timestamp) {
        let mut state = self.state();
        for (token, mut more) in others {
            more.retain(|of| of.at <= now && now.duration_since(of.at) <= KEPT);
            if more.is_empty() {
                continue;
            }
            make_room(&mut state.tokens, &token);
            let known = state.tokens.entry(token).or_default();
            more.retain(|of| !known.iter().any(|known| known.at == of.at));
            known.append(&mut more);
            known.make_contiguous().sort_by_key(|of| of.at);
            let surplus = known.len().saturating_sub(MOST_READINGS);
            known.drain(..surplus);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// For a further token the one that was read least recently makes room.
fn make_room(all: &mut Readings, token: &str) {
    if all.len() < MOST_TOKENS || all.contains_key(token) {
        return;
    }
    let last = |of: &VecDeque<Remembered>| of.back().map(|reading| reading.at);
    let oldest = all
        .iter()
        .min_by_key(|(_, of)| last(of))
        .map(|(name, _)| name.clone());
    oldest.and_then(|name| all.remove(&name));
}

fn between(before: &Remembered, present: &Remembered) -> Change {
    let percent = |then: Option<Figure>, now: Option<Figure>| {
        let change = percent_change(then?.get(), now?.get())?;
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
            .and_then(|(now, then)| now.get().checked_sub(then.get()))
            .map(|points: Decimal| Figure(points.round_dp(PLACES))),
        price_pct: percent(before.price_usd, present.price_usd),
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(super) fn reading(hours: i64, holders: u64) -> Remembered {
        Remembered {
            at: Timestamp::from_second(hours * 3600).unwrap(),
            holders: Some(holders),
            liquidity_usd: Some(Figure(Decimal::from(holders))),
            top10_pct: Some(Figure(Decimal::from(10))),
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
