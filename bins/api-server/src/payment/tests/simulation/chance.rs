//! The chance of a schedule, from one seed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use alloy_primitives::B256;

/// A generator of numbers (SplitMix64). All parts of a schedule draw from the same one in the order
/// in which they run. Nothing else decides that order, so a seed identifies a whole schedule.
pub(super) struct Chance(Mutex<u64>);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }

    pub(super) fn number(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = *state;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(super) fn below(&self, end: u64) -> u64 {
        self.number() % end
    }

    /// A number from `first` to `last`.
    pub(super) fn between(&self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// True once in this many times; never when it is 0.
    pub(super) fn one_in(&self, times: u64) -> bool {
        times > 0 && self.below(times) == 0
    }

    pub(super) fn pick<T: Copy>(&self, items: &[T]) -> T {
        let last = u64::try_from(items.len()).unwrap();
        items[usize::try_from(self.below(last)).unwrap()]
    }

    pub(super) fn word(&self) -> B256 {
        let mut word = [0; 32];
        for part in word.chunks_mut(8) {
            part.copy_from_slice(&self.number().to_be_bytes());
        }
        word.into()
    }

    /// Lets other tasks run: for a few polls, or for a while, and rarely for long.
    pub(super) async fn pause(&self) {
        let milliseconds = match self.below(40) {
            0..=23 => {
                for _ in 0..self.below(4) {
                    tokio::task::yield_now().await;
                }
                return;
            }
            24..=34 => self.between(1, 40),
            35..=37 => self.between(41, 1_500),
            38 => self.between(1_501, 8_000),
            _ => self.between(8_001, 70_000),
        };
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }

    /// Lets other tasks run for a moment.
    pub(super) async fn short_pause(&self) {
        match self.below(3) {
            0 => tokio::time::sleep(Duration::from_millis(self.between(1, 40))).await,
            turns => {
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
            }
        }
    }
}
