//! The process's signals for scripts and supervisors.

use std::future::Future;
use std::net::SocketAddr;

/// Writes the one line on standard error that scripts wait for. Call it after [`shutdown_signal`],
/// because a reader of the line may ask the process to end.
pub fn announce(address: SocketAddr) {
    #[expect(
        clippy::print_stderr,
        reason = "the line is part of the operational contract"
    )]
    {
        eprintln!("listening on http://{address}");
    }
}

/// Resolves at SIGTERM or Ctrl-C. From the call on, before the future is first polled, neither ends
/// the process by itself.
///
/// # Panics
/// Outside a tokio runtime.
pub fn shutdown_signal() -> impl Future<Output = ()> + Send {
    let signalled = signalled();
    async move {
        signalled.await;
        tracing::info!("shutting down: requests in flight are finished");
    }
}

#[cfg(unix)]
fn signalled() -> impl Future<Output = ()> + Send {
    use tokio::signal::unix::{SignalKind, signal};
    let terminated = signal(SignalKind::terminate());
    let interrupted = signal(SignalKind::interrupt());
    async move {
        match (terminated, interrupted) {
            (Ok(mut terminated), Ok(mut interrupted)) => {
                tokio::select! {
                    _ = terminated.recv() => {}
                    _ = interrupted.recv() => {}
                }
            }
            // Without handlers the signals end the process as usual.
            _ => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
async fn signalled() {
    // Without a handler the process ends as usual.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
