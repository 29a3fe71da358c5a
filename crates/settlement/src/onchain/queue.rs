//! Counts the settlements that wait to be sent, and estimates how long they wait.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The assumed time for sending one transaction, until the first one was sent.
const FIRST_GUESS: Duration = Duration::from_millis(500);

/// The waiting settlements, and the pace at which they leave the queue.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: AtomicUsize,
    /// The running mean of the time between two departures, in microseconds.
    pace: AtomicU64,
    /// When the last settlement left.
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
    /// Takes a place in the queue. Dropping the result gives it back.
    pub(super) fn enter(&self) -> Place<'_> {
        Place::take(&self.waiting)
    }

    /// Records that a settlement that entered at `since` has left. Several may wait for the same
    /// answer, so only the time since the last departure counts.
    pub(super) fn left(&self, since: Instant) {
        let now = Instant::now();
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let before = left.replace(now).map_or(since, |last| last.max(since));
        self.sent(now.saturating_duration_since(before));
    }

    fn sent(&self, took: Duration) {
        let before = self.pace.load(Ordering::Relaxed);
        let mean = before.saturating_mul(3).saturating_add(micros(took)) / 4;
        // If two updates meet, one sample is lost.
        self.pace.store(mean, Ordering::Relaxed);
    }

    /// Returns how many are waiting, including the one that is being sent.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Returns how long a new settlement will wait before it is sent.
    pub(super) fn delay(&self) -> Duration {
        let waiting = u32::try_from(self.waiting()).unwrap_or(u32::MAX);
        let pace = Duration::from_micros(self.pace.load(Ordering::Relaxed));
        pace.saturating_mul(waiting)
    }
}

/// Adds one to a counter. Dropping it subtracts the one again.
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
    fn the_delay_is_the_length_of_the_queue_times_its_pace() {
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
