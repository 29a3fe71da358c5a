//! Random draws from a seed, so that a siege can be repeated.

use std::time::Duration;

use alloy_primitives::keccak256;
use rand::rngs::StdRng;
use rand::{Rng as _, RngCore as _, SeedableRng as _};

/// Random draws for one purpose. The same seed and purpose give the same draws.
#[derive(Debug)]
pub struct Chance(StdRng);

impl Chance {
    /// Begins the draws of a run for one purpose.
    ///
    /// ```
    /// use siege::chance::Chance;
    ///
    /// let first = Chance::of(7, "a buyer").below(1_000_000);
    /// assert_eq!(Chance::of(7, "a buyer").below(1_000_000), first);
    /// assert_ne!(Chance::of(8, "a buyer").below(1_000_000), first);
    /// ```
    pub fn of(seed: u64, purpose: &str) -> Self {
        let text = format!("{seed}/{purpose}");
        Self(StdRng::from_seed(keccak256(text).0))
    }

    /// Draws a number below `bound`. It is 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.random_range(0..bound.max(1))
    }

    /// Draws whether an event with this probability happens. The probability is in percent.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Draws a time between two numbers of milliseconds.
    pub fn millis(&mut self, least: u64, most: u64) -> Duration {
        let span = most.saturating_sub(least).saturating_add(1);
        Duration::from_millis(least.saturating_add(self.below(span)))
    }

    /// Draws random bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.fill_bytes(&mut bytes);
        bytes
    }

    /// Draws an element. `None` when there is none.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let length = u64::try_from(of.len()).unwrap_or(u64::MAX);
        let at = usize::try_from(self.below(length)).unwrap_or_default();
        of.get(at)
    }
}
