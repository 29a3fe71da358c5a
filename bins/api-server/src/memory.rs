//! The memory of figures: the readings of tokens, coins and markets that this server made within
//! the last two days, so that an answer can show changes.
//!
//! With a store the readings survive a restart. Without one the memory starts empty.

pub(crate) mod posts;
mod store;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use readings::{Decimal, Figure, percent_change};
use serde::{Deserialize, Serialize};

pub(crate) use self::store::keep;

/// The most subjects that are remembered at once.
const MOST_SUBJECTS: usize = 1_000;
/// The most readings of one subject that are kept.
const MOST_READINGS: usize = 48;
/// The least age of a reading with which a new one is compared.
const APART: SignedDuration = SignedDuration::from_mins(30);
/// The least time between two kept readings of one subject.
const KEPT_APART: SignedDuration = SignedDuration::from_hours(1);
/// The preferred age of the reading in a comparison: one day.
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// The time for which a reading is kept.
const KEPT: SignedDuration = SignedDuration::from_hours(48);
const PLACES: u32 = 4;

/// A reading of one subject at one time: figures by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Remembered {
    pub(crate) at: Timestamp,
    figures: BTreeMap<String, Figure>,
}

/// A reading and the one from about a day before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compared {
    /// The time of the earlier reading: a day ago, or less if this server has not read the subject
    /// for that long.
    pub(crate) since: Timestamp,
    before: BTreeMap<String, Figure>,
    present: BTreeMap<String, Figure>,
}

impl Remembered {
    /// An empty reading at the time `at`.
    pub(crate) fn at(at: Timestamp) -> Self {
        Self {
            at,
            figures: BTreeMap::new(),
        }
    }

    /// Adds a figure, if there is one.
    pub(crate) fn with(mut self, name: impl Into<String>, figure: Option<Figure>) -> Self {
        if let Some(figure) = figure {
            self.figures.insert(name.into(), figure);
        }
        self
    }

    /// Whether the reading has this figure.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.figures.contains_key(name)
    }
}

impl Compared {
    /// The change of a figure, in percent of its earlier value.
    pub(crate) fn percent(&self, name: &str) -> Option<Figure> {
        let (then, now) = self.pair(name)?;
        Some(rounded(percent_change(then, now)?))
    }

    /// The difference of a figure in units, of which `scale` make 1.
    pub(crate) fn difference(&self, name: &str, scale: u32) -> Option<Figure> {
        let (then, now) = self.pair(name)?;
        let difference = now.checked_sub(then)?;
        Some(rounded(difference.checked_mul(Decimal::from(scale))?))
    }

    fn pair(&self, name: &str) -> Option<(Decimal, Decimal)> {
        Some((self.before.get(name)?.get(), self.present.get(name)?.get()))
    }
}

fn rounded(value: Decimal) -> Figure {
    Figure(value.round_dp(PLACES).normalize())
}

/// Readings by the names of their subjects, oldest first. Clones share one memory.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    subjects: Readings,
    /// Counts additions, so that an unchanged memory is not written again.
    changes: u64,
}

type Readings = BTreeMap<String, VecDeque<Remembered>>;

impl Memory {
    /// Stores a reading and compares it with the one whose age is closest to a day. `None` when no
    /// reading is at least half an hour old.
    pub(crate) fn compare(&self, subject: &str, present: Remembered) -> Option<Compared> {
        let mut state = self.state();
        let state = &mut *state;
        make_room(&mut state.subjects, subject);
        let readings = state.subjects.entry(subject.to_owned()).or_default();
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
        before.map(|before| Compared {
            since: before.at,
            before: before.figures,
            present: present.figures,
        })
    }

    /// Adds readings that were made earlier or by another server, unless they are too old at `now`.
    fn join(&self, others: Readings, now: Timestamp) {
        let mut state = self.state();
        for (subject, mut more) in others {
            more.retain(|of| of.at <= now && now.duration_since(of.at) <= KEPT);
            if more.is_empty() {
                continue;
            }
            make_room(&mut state.subjects, &subject);
            let known = state.subjects.entry(subject).or_default();
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

/// Makes room for a further subject by dropping the one that was read least recently.
fn make_room(all: &mut Readings, subject: &str) {
    if all.len() < MOST_SUBJECTS || all.contains_key(subject) {
        return;
    }
    let last = |of: &VecDeque<Remembered>| of.back().map(|reading| reading.at);
    let oldest = all
        .iter()
        .min_by_key(|(_, of)| last(of))
        .map(|(name, _)| name.clone());
    oldest.and_then(|name| all.remove(&name));
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
        let figure = |value: u64| Some(Figure(Decimal::from(value)));
        Remembered::at(Timestamp::from_second(hours * 3600).unwrap())
            .with("holders", figure(holders))
            .with("top10", figure(10))
            .with("price", None)
    }

    pub(super) fn holders(compared: &Compared) -> String {
        compared.difference("holders", 1).unwrap().to_string()
    }

    #[test]
    fn a_token_is_compared_with_the_day_before() {
        let memory = Memory::default();
        assert_eq!(memory.compare("a", reading(0, 100)), None);
        assert_eq!(memory.compare("b", reading(1, 1)), None, "another token");
        assert_eq!(
            holders(&memory.compare("a", reading(10, 120)).unwrap()),
            "20"
        );
        let change = memory.compare("a", reading(25, 90)).unwrap();
        assert_eq!(change.since, Timestamp::UNIX_EPOCH, "closest to a day");
        assert_eq!(holders(&change), "-10");
        assert_eq!(change.percent("holders").unwrap().to_string(), "-10");
        let points = change.difference("top10", 100).unwrap();
        assert_eq!(
            (points.to_string(), change.percent("price")),
            ("0".into(), None)
        );
        // After two days the reading is gone.
        assert_eq!(memory.compare("a", reading(100, 1)), None);
    }

    #[test]
    fn a_recent_reading_is_not_compared() {
        let memory = Memory::default();
        memory.compare("a", reading(0, 100));
        let soon = Remembered {
            at: Timestamp::from_second(60).unwrap(),
            ..reading(0, 500)
        };
        assert_eq!(memory.compare("a", soon), None);
    }
}
