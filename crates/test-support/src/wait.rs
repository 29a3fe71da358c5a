//! Waits for asynchronous work in tests without a runtime.

use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::thread;

use tokio::runtime::Runtime;

/// The runtime of connections that outlive the runtime of a test.
#[expect(clippy::expect_used, reason = "a test says what it needs by panicking")]
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

/// Waits for `work`, from synchronous or asynchronous code. The work runs on a runtime that lives
/// as long as the process.
pub fn wait<T: Send>(work: impl Future<Output = T> + Send) -> T {
    thread::scope(|scope| {
        let waited = scope.spawn(|| RUNTIME.block_on(work)).join();
        waited.unwrap_or_else(|panicked| resume_unwind(panicked))
    })
}
