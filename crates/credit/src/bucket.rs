//! A token bucket: an amount that calls take from and that refills with time.

use crate::Cost;

/// The capacity of an amount, and how fast it refills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refill {
    /// The highest amount, which is also the first one.
    pub capacity: Cost,
    /// The amount that is added in each second.
    pub per_second: Cost,
}

/// A token bucket: an amount that calls take from and that refills with time, up to its capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    /// The amount, in thousandths of a micro-dollar, so that each millisecond adds a whole number
    /// of them.
    level: u64,
    /// The debt, in the same unit: the amount taken beyond the level. Refills pay it first.
    owed: u64,
    /// The time of the level, in milliseconds.
    at: u64,
}

/// Units of [`Bucket::level`] in a micro-dollar.
const SCALE: u64 = 1_000;

impl Bucket {
    pub(crate) fn full(refill: &Refill, now_ms: u64) -> Self {
        Self {
            level: scaled(refill.capacity),
            owed: 0,
            at: now_ms,
        }
    }

    /// Makes a bucket that held `left` at `since_ms` milliseconds before `now_ms`, and has refilled
    /// since.
    pub(crate) fn refilled(refill: &Refill, left: Cost, since_ms: u64, now_ms: u64) -> Self {
        let gained = since_ms.saturating_mul(refill.per_second.as_micro_usd());
        let level = scaled(left).saturating_add(gained);
        Self {
            level: level.min(scaled(refill.capacity)),
            owed: 0,
            at: now_ms,
        }
    }

    /// Takes `cost`, or returns how many seconds pass until the bucket holds it.
    pub(crate) fn take(&mut self, refill: &Refill, cost: Cost, now_ms: u64) -> Result<(), u64> {
        self.refill(refill, now_ms);
        let needed = scaled(cost);
        match self.level.checked_sub(needed) {
            Some(level) => {
                self.level = level;
                Ok(())
            }
            None => {
                let missing = needed.saturating_sub(self.level);
                Err(wait_seconds(missing.saturating_add(self.owed), refill))
            }
        }
    }

    /// Returns `cost` to the bucket. The level never rises above the capacity.
    pub(crate) fn give_back(&mut self, refill: &Refill, cost: Cost) {
        self.gain(refill, scaled(cost));
    }

    /// Takes `cost` unconditionally. The part above the level becomes debt.
    pub(crate) fn drain(&mut self, cost: Cost) {
        let needed = scaled(cost);
        let missing = needed.saturating_sub(self.level);
        self.level = self.level.saturating_sub(needed);
        self.owed = self.owed.saturating_add(missing);
    }

    /// Returns the amount that can be taken now.
    pub(crate) fn left(&mut self, refill: &Refill, now_ms: u64) -> Cost {
        self.refill(refill, now_ms);
        Cost::micro_usd(self.level / SCALE)
    }

    /// Adds the refill since the last update. After the clock was set back, the refill starts at
    /// the new time.
    fn refill(&mut self, refill: &Refill, now_ms: u64) {
        let elapsed = now_ms.saturating_sub(self.at);
        // Each millisecond adds `per_second` thousandths of a micro-dollar.
        let gained = elapsed.saturating_mul(refill.per_second.as_micro_usd());
        self.gain(refill, gained);
        self.at = now_ms;
    }

    fn gain(&mut self, refill: &Refill, gained: u64) {
        let level = self.level.saturating_add(gained.saturating_sub(self.owed));
        self.owed = self.owed.saturating_sub(gained);
        self.level = level.min(scaled(refill.capacity));
    }
}

fn scaled(cost: Cost) -> u64 {
    cost.as_micro_usd().saturating_mul(SCALE)
}

/// The seconds, rounded up, in which `missing` refills; at least one.
fn wait_seconds(missing: u64, refill: &Refill) -> u64 {
    let per_second = scaled(refill.per_second);
    if per_second == 0 {
        return MAX_WAIT_SECONDS;
    }
    missing.div_ceil(per_second).clamp(1, MAX_WAIT_SECONDS)
}

/// The longest wait that is reported to a caller.
const MAX_WAIT_SECONDS: u64 = 3_600;
