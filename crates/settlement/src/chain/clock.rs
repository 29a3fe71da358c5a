//! Checks that the chain's clock agrees with the machine's clock.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Head;
use crate::Cause;

/// By how many seconds the two clocks may differ. The machine's clock judges the windows of
/// payments, and the chain's clock decides their settlement.
const TOLERANCE_SECONDS: u64 = 30;

/// Compares the times of blocks with the machine's clock.
///
/// A block from the future is always a contradiction. An old block is none, because an unused chain
/// makes no blocks. But a block that the previous check did not see must be younger than that
/// check, so its time is compared with the time of that check.
#[derive(Debug, Default)]
pub(crate) struct HeadWatch {
    last: Mutex<Option<Look>>,
}

#[derive(Debug, Clone, Copy)]
struct Look {
    /// The number of the newest block.
    number: u64,
    /// The machine's clock when the block was read.
    now: u64,
    /// The machine's clock and the block's time, if they contradict each other.
    apart: Option<(u64, u64)>,
}

impl HeadWatch {
    /// Whether the last check was in the second `now`.
    pub(crate) fn looked_at(&self, now: u64) -> bool {
        self.lock().is_some_and(|last| last.now == now)
    }

    /// Judges the newest block, which was read at `now`.
    pub(crate) fn look(&self, head: &Head, now: u64) {
        let (number, time) = (head.number(), head.timestamp());
        let mut last = self.lock();
        let ahead = time > now.saturating_add(TOLERANCE_SECONDS);
        let late = |previous: Look| time.saturating_add(TOLERANCE_SECONDS) < previous.now;
        let apart = match *last {
            _ if ahead => Some((now, time)),
            // Without a new block nothing has changed, except that the machine's clock may have
            // reached a block that was ahead.
            Some(previous) if previous.number == number => {
                previous.apart.filter(|(machine, block)| block < machine)
            }
            Some(previous) if late(previous) => Some((now, time)),
            _ => None,
        };
        *last = Some(Look { number, now, apart });
    }

    /// Returns the result of the last check.
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

    /// Checks blocks, given as number, time, and time of the machine's clock. Returns whether the
    /// last check found a contradiction.
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
        // The machine's clock was corrected between the checks.
        assert!(!apart(&[(1, 1031, 1000), (1, 1031, 1031)]));
    }

    #[test]
    fn an_idle_chain_is_no_contradiction() {
        assert!(!apart(&[(1, 1000, 90_000), (1, 1000, 99_000)]));
        assert!(!apart(&[(1, 1000, 90_000), (2, 90_100, 90_101)]));
        // The block was made at some time between two checks with a long pause.
        assert!(!apart(&[(1, 1000, 1000), (2, 5000, 9000)]));
    }

    #[test]
    fn a_new_block_with_an_old_time_is_a_contradiction_until_a_block_agrees() {
        assert!(!apart(&[(1, 1000, 1100), (2, 1071, 1101)]));
        assert!(apart(&[(1, 1000, 1100), (2, 1069, 1101)]));
        assert!(apart(&[(1, 1000, 1100), (2, 1069, 1101), (2, 1069, 1102)]));
        assert!(!apart(&[(1, 1000, 1100), (2, 1069, 1101), (3, 1102, 1103)]));
    }
}
