//! Decides when a lane checks its chain next.

use std::time::Duration;

use tokio::time::Instant;

use crate::Policy;

/// How many checks there are in the time of one block.
const LOOKS_PER_BLOCK: u32 = 5;

/// The part of a block's time that passes before the first check after sending a transaction, as a
/// divisor.
const FIRST_PART: u32 = 50;

/// For how many blocks the checks are so frequent.
const QUICK_BLOCKS: u32 = 5;

/// The pauses between checks. They are short after a change, and then become longer. So a
/// transaction's block is seen soon, and a transaction that waits long does not overload nodes.
#[derive(Debug, Default)]
pub(super) struct Rhythm {
    moved_at: Option<Instant>,
    looks: u32,
}

impl Rhythm {
    /// Records that a transaction was sent or made progress.
    pub(super) fn moved(&mut self) {
        self.moved_at = Some(Instant::now());
        self.looks = 0;
    }

    /// Returns the pause until the next check.
    pub(super) fn pause(&mut self, policy: &Policy) -> Duration {
        let quick_for = policy.block_time.saturating_mul(QUICK_BLOCKS);
        let is_quick = self.moved_at.is_some_and(|at| at.elapsed() < quick_for);
        if !is_quick {
            return policy.poll_interval;
        }
        let doubled = 2_u32.saturating_pow(self.looks.min(16));
        self.looks = self.looks.saturating_add(1);
        Self::first(policy)
            .saturating_mul(doubled)
            .min(Self::regular(policy))
    }

    /// Returns the pause between two of the frequent checks.
    pub(super) fn regular(policy: &Policy) -> Duration {
        (policy.block_time / LOOKS_PER_BLOCK).min(policy.poll_interval)
    }

    /// Returns the first pause after a change.
    pub(super) fn first(policy: &Policy) -> Duration {
        (policy.block_time / FIRST_PART).min(policy.poll_interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn checks_come_soon_then_five_times_in_a_block_then_seldom() {
        let policy = Policy {
            block_time: Duration::from_secs(2),
            poll_interval: Duration::from_secs(1),
            ..Policy::default()
        };
        let mut rhythm = Rhythm::default();
        assert_eq!(rhythm.pause(&policy), Duration::from_secs(1));
        rhythm.moved();
        let mut pauses = Vec::new();
        for _ in 0..6 {
            let pause = rhythm.pause(&policy);
            pauses.push(pause.as_millis());
            tokio::time::advance(pause).await;
        }
        assert_eq!(pauses, [40, 80, 160, 320, 400, 400]);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(rhythm.pause(&policy), Duration::from_secs(1));
        rhythm.moved();
        assert_eq!(rhythm.pause(&policy), Duration::from_millis(40));
    }

    #[tokio::test(start_paused = true)]
    async fn no_pause_is_longer_than_the_interval() {
        let policy = Policy {
            block_time: Duration::from_secs(12),
            poll_interval: Duration::from_millis(10),
            ..Policy::default()
        };
        let mut rhythm = Rhythm::default();
        rhythm.moved();
        for _ in 0..5 {
            assert_eq!(rhythm.pause(&policy), Duration::from_millis(10));
        }
    }
}
