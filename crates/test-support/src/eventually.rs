//! Waits for the effect of another task or process, and lets simulated time pass.

use std::fmt::Display;
use std::thread;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The longest time that a test waits for anything.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) const POLL: Duration = Duration::from_millis(10);

/// Calls `look` again and again until it returns something, and returns that. When time is paused,
/// the pauses take no real time.
///
/// # Panics
/// When `look` has returned nothing within [`PATIENCE`]. The message contains `what`.
pub async fn eventually<T>(what: impl Display, look: impl AsyncFnMut() -> Option<T>) -> T {
    eventually_every(POLL, what, look).await
}

/// Like [`eventually`], with this pause between two looks. It is for looks that cost much, and for
/// looks that have an effect of their own.
///
/// # Panics
/// The same as [`eventually`].
pub async fn eventually_every<T>(
    pause: Duration,
    what: impl Display,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> T {
    let began = Instant::now();
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        check_patience(began.elapsed(), &what);
        sleep(pause).await;
    }
}

/// Like [`eventually`], for a test without a runtime. It blocks the thread.
///
/// # Panics
/// The same as [`eventually`].
pub fn eventually_blocking<T>(what: impl Display, mut look: impl FnMut() -> Option<T>) -> T {
    let began = std::time::Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        check_patience(began.elapsed(), &what);
        thread::sleep(POLL);
    }
}

fn check_patience(waited: Duration, what: &impl Display) {
    assert!(waited < PATIENCE, "not within {PATIENCE:?}: {what}");
}

/// Lets simulated time pass. It is for an effect that must not occur meanwhile, and for an effect
/// that only a clock causes. Wait for anything else with [`eventually`].
///
/// # Panics
/// In a runtime whose time is not paused, because a test must not wait for real time.
pub async fn pass(time: Duration) {
    let (simulated, real) = (Instant::now(), std::time::Instant::now());
    while real.elapsed().is_zero() {}
    assert_eq!(simulated, Instant::now(), "the time is not simulated");
    sleep(time).await;
}

/// Lets time pass at once in a runtime with real time. It is for what only a long wait changes.
///
/// # Panics
/// In a runtime with several threads, whose time cannot be paused.
pub async fn skip(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}
