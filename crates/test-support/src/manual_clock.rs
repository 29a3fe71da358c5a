//! A clock that a test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use data_sources::Clock;
use jiff::{SignedDuration, Timestamp};

/// A clock that moves only when a test moves it. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct ManualClock {
    start: Timestamp,
    /// Milliseconds after the start.
    passed: Arc<AtomicI64>,
}

impl ManualClock {
    /// A clock that shows `start`.
    #[must_use]
    pub fn at(start: Timestamp) -> Self {
        Self {
            start,
            passed: Arc::default(),
        }
    }

    /// The same clock, as adapters take it.
    #[must_use]
    pub fn shared(&self) -> Arc<dyn Clock> {
        Arc::new(self.clone())
    }

    /// Sets it to so many seconds after its start; below zero, before its start.
    pub fn set(&self, seconds: i64) {
        self.passed.store(seconds * 1000, Ordering::SeqCst);
    }

    /// Moves it forward, in whole milliseconds.
    pub fn advance(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.passed.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.start + SignedDuration::from_millis(self.passed.load(Ordering::SeqCst))
    }
}
