//! Waits for an effect of another task or process, and lets simulated time pass.

use std::fmt::Display;
use std::thread;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The longest time that a test waits for anything.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) const POLL: Duration = Duration::from_millis(10);

/// Looks again and again until `look` sees something, and returns it. In paused time the pauses
/// cost no real time.
///
/// # Panics
/// When `look` has seen nothing within [`PATIENCE`]; the message contains `what`.
pub async fn eventually<T>(what: impl Display, look: impl AsyncFnMut() -> Option<T>) -> T {
    eventually_every(POLL, what, look).await
}

/// [`eventually`] with this pause between two looks: for looks that cost much, and for looks that
/// do something themselves.
///
/// # Panics
/// As [`eventually`].
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

/// [`eventually`] for a test without a runtime: blocks the thread.
///
/// # Panics
/// As [`eventually`].
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

/// Lets simulated time pass: for an effect that must not occur meanwhile, and for one that only a
/// clock causes. Await anything else with [`eventually`].
///
/// # Panics
/// In a runtime whose time is not paused: a test does not wait for real time.
pub async fn pass(time: Duration) {
    let (simulated, real) = (Instant::now(), std::time::Instant::now());
    while real.elapsed().is_zero() {}
    assert_eq!(simulated, Instant::now(), "the time is not simulated");
    sleep(time).await;
}
