//! Waits for an effect of another task or process.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The longest time that a test waits for anything.
pub const PATIENCE: Duration = Duration::from_secs(120);

const POLL: Duration = Duration::from_millis(10);

/// Looks again and again until `look` sees something, and returns it. In paused time the pauses
/// cost no real time.
///
/// # Panics
/// When `look` has returned nothing within [`PATIENCE`]; the message contains `what`.
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
