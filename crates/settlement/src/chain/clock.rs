//! The check that the chain's clock agrees with the machine's.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Head;
use crate::Cause;

/// How many seconds the machine's clock and the chain's may differ. Payment windows are judged by
/// the machine's clock and settled by the chain's.
const TOLERANCE_SECONDS: u64 = 30;

/// Compares the times of blocks with the machine's clock.
///
/// A block from the future is always a contradiction. An old block is not, because an unused chain
/// makes no blocks. But a block that the previous check did not see is younger than that check, so
/// its time is compared with the time of that check.
#[derive(Debug, Default)]
pub(crate) struct HeadWatch {
    last: Mutex<Option<Look>>,
}

#[derive(Debug, Clone, Copy)]
struct Look {
    /// The newest block.
    number: u64,
    /// The machine's clock at that moment.
    now: u64,
    /// The machine's clock and the block's time, when they contradict each other.
    apart: Option<(u64, u64)>,
}

impl HeadWatch {
    /// Whether the last check was in this second.
    pub(crate) fn looked_at(&self, now: u64) -> bool {
        self.lock().is_some_and(|last| last.now == now)
    }

    /// Judges the newest block.
    pub(crate) fn look(&self, head: &Head, now: u64) {
        let (number, time) = (head.number(), head.timestamp());
        let mut last = self.lock();
        let ahead = time > now.saturating_add(TOLERANCE_SECONDS);
        let late = |previous: Look| time.saturating_add(TOLERANCE_SECONDS) < previous.now;
        let apart = match *last {
            _ if ahead => Some((now, time)),
            // Without a new block there is no new information, except that the clock may have
            // reached a block that was ahead.
            Some(previous) if previous.number == number => {
                previous.apart.filter(|(machine, block)| block < machine)
            }
            Some(previous) if late(previous) => Some((now, time)),
            _ => None,
        };
        *last = Some(Look { number, now, apart });
    }

    /// The result of the last check.
    pub(crate) fn verdict(&self) -> Result<(), Cause> {
        match self.lock().and_then(|last| last.apart) {
            None => Ok(()),
            Some((machine, block)) => Err(Cause::Clock { machine, block }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Look>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Checks blocks (number, time) at times of the machine's clock. Returns whether the last check
    /// found a contradiction.
    fn apart(looks: &[(u64, u64, u64)]) -> bool {
        let watch = HeadWatch::default();
        for &(number, time, now) in looks {
            let block =
                json!({"number": format!("{number:#x}"), "timestamp": format!("{time:#x}")});
            watch.look(&serde_json::from_value(block).unwrap(), now);
        }
        watch.verdict().is_err()
    }

    #[test]
    fn a_block_from_the_future_is_a_contradiction() {
        assert!(!apart(&[(1, 1030, 1000)]));
        assert!(apart(&[(1, 1031, 1000)]));
        // The machine's clock is corrected.
        assert!(!apart(&[(1, 1031, 1000), (1, 1031, 1031)]));
    }

    #[test]
    fn an_idle_chain_is_none() {
        assert!(!apart(&[(1, 1000, 90_000), (1, 1000, 99_000)]));
        assert!(!apart(&[(1, 1000, 90_000), (2, 90_100, 90_101)]));
        // The block was made at some time between two checks that are far apart.
        assert!(!apart(&[(1, 1000, 1000), (2, 5000, 9000)]));
    }

    #[test]
    fn a_new_block_with_an_old_time_is_one_until_a_block_agrees() {
        assert!(!apart(&[(1, 1000, 1100), (2, 1071, 1101)]));
        assert!(apart(&[(1, 1000, 1100), (2, 1069, 1101)]));
        assert!(apart(&[(1, 1000, 1100), (2, 1069, 1101), (2, 1069, 1102)]));
        assert!(!apart(&[(1, 1000, 1100), (2, 1069, 1101), (3, 1102, 1103)]));
    }
}
