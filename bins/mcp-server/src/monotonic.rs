//! A clock that never goes back.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// Reads the time since an arbitrary moment.
pub(crate) type Monotonic = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The system's clock.
pub(crate) fn monotonic() -> Monotonic {
    let start = Instant::now();
    Arc::new(move || start.elapsed())
}

/// The time of a clock in milliseconds.
pub(crate) fn millis(clock: &Monotonic) -> u64 {
    u64::try_from(clock().as_millis()).unwrap_or(u64::MAX)
}
