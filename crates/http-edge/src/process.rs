//! The interface to scripts and supervisors: the line that says where the process listens, and its
//! reaction to signals.

use std::future::Future;
use std::net::SocketAddr;

/// Writes the line on standard error that scripts wait for. Call it after [`shutdown_signal`],
/// because a reader of the line may at once ask the process to end.
pub fn announce(address: SocketAddr) {
    #[expect(
        clippy::print_stderr,
        reason = "the line is part of the operational contract"
    )]
    {
        eprintln!("listening on http://{address}");
    }
}

/// Resolves at SIGTERM or Ctrl-C. Once this is called, these signals no longer end the process by
/// themselves, even before the future is first polled.
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
            // There are no handlers, so the signals end the process as usual.
            _ => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
async fn signalled() {
    // There is no handler, so the signal ends the process as usual.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
