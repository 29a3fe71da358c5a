//! A clock that a test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use data_sources::Clock;
use jiff::{SignedDuration, Timestamp};

/// A clock that moves only when a test moves it. Clones show the same time.
#[derive(Clone, Debug)]
pub struct ManualClock {
    start: Timestamp,
    /// The time since the start, in milliseconds.
    passed: Arc<AtomicI64>,
}

impl ManualClock {
    /// Makes a clock that shows `start`.
    #[must_use]
    pub fn at(start: Timestamp) -> Self {
        Self {
            start,
            passed: Arc::default(),
        }
    }

    /// Returns the same clock in the form that adapters take.
    #[must_use]
    pub fn shared(&self) -> Arc<dyn Clock> {
        Arc::new(self.clone())
    }

    /// Sets the clock to this many seconds after its start. A negative number sets it before its
    /// start.
    pub fn set(&self, seconds: i64) {
        self.passed.store(seconds * 1000, Ordering::SeqCst);
    }

    /// Moves the clock forward by whole milliseconds.
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
