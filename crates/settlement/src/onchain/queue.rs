//! The settlements that wait for their turn to be sent, and how long that takes.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// What sending one transaction is taken to need before the first one was sent.
const FIRST_GUESS: Duration = Duration::from_millis(500);

/// The waiting settlements and the pace at which they leave.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: AtomicUsize,
    /// A running mean of the time between two that leave, in microseconds.
    pace: AtomicU64,
    /// When the last one left.
    left: Mutex<Option<Instant>>,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            waiting: AtomicUsize::new(0),
            pace: AtomicU64::new(micros(FIRST_GUESS)),
            left: Mutex::new(None),
        }
    }
}

impl Queue {
    /// Stands in the queue until dropped.
    pub(super) fn enter(&self) -> Place<'_> {
        Place::take(&self.waiting)
    }

    /// One that came at `since` was sent now, or not. Several may wait for the same answer, so that
    /// the time since the last one left is what it took.
    pub(super) fn left(&self, since: Instant) {
        let now = Instant::now();
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let before = left.replace(now).map_or(since, |last| last.max(since));
        self.sent(now.saturating_duration_since(before));
    }

    fn sent(&self, took: Duration) {
        let before = self.pace.load(Ordering::Relaxed);
        let mean = before.saturating_mul(3).saturating_add(micros(took)) / 4;
        // A lost update costs one sample.
        self.pace.store(mean, Ordering::Relaxed);
    }

    /// How many wait, the one that is being sent included.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// How long a settlement that comes now waits before it is sent.
    pub(super) fn delay(&self) -> Duration {
        let waiting = u32::try_from(self.waiting()).unwrap_or(u32::MAX);
        let pace = Duration::from_micros(self.pace.load(Ordering::Relaxed));
        pace.saturating_mul(waiting)
    }
}

/// One more in a counter, until dropped.
pub(super) struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    pub(super) fn take(counter: &'a AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_is_the_queue_at_its_pace() {
        let queue = Queue::default();
        assert_eq!(queue.delay(), Duration::ZERO);
        let places = [queue.enter(), queue.enter(), queue.enter()];
        assert_eq!(queue.delay(), Duration::from_millis(1_500));
        queue.sent(Duration::from_millis(2_500));
        assert_eq!(queue.delay(), Duration::from_millis(3_000));
        for _ in 0..100 {
            queue.sent(Duration::from_millis(20));
        }
        assert!(queue.delay() < Duration::from_millis(63), "{queue:?}");
        drop(places);
        assert_eq!((queue.waiting(), queue.delay()), (0, Duration::ZERO));
    }
}
