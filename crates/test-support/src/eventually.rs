//! Waiting for what another task or process brings about.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The longest time that a test waits for anything.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) const POLL: Duration = Duration::from_millis(10);

/// Looks again and again until `look` sees something, and returns it. In paused time the pauses
/// cost no real time.
///
/// # Panics
/// With `what` was awaited, when `look` has seen nothing within [`PATIENCE`].
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {what}"
        );
        sleep(POLL).await;
    }
}
