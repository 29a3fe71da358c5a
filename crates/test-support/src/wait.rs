//! Waiting in tests without a runtime.

use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::thread;
use std::time::Instant;

use tokio::runtime::Runtime;

use crate::eventually::{PATIENCE, POLL};

/// On which connections live that outlast the test's own runtime.
#[expect(clippy::expect_used, reason = "a test says what it needs by panicking")]
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

/// Waits for something that needs a runtime, wherever the caller is. It runs on a runtime that ends
/// with the process.
pub fn wait<T: Send>(work: impl Future<Output = T> + Send) -> T {
    thread::scope(|scope| {
        let waited = scope.spawn(|| RUNTIME.block_on(work)).join();
        waited.unwrap_or_else(|panicked| resume_unwind(panicked))
    })
}

/// [`eventually`](crate::eventually()) on the caller's thread.
///
/// # Panics
/// With `what` was awaited, when `look` has seen nothing within [`PATIENCE`].
pub fn wait_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        let waited = began.elapsed();
        assert!(waited < PATIENCE, "not within {PATIENCE:?}: {what}");
        thread::sleep(POLL);
    }
}
