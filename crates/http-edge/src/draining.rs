//! Tells handlers that the server will end soon.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a server was asked to end. From then on its readiness endpoint answers 503, so that a
/// load balancer sends new requests elsewhere. The server still accepts connections for
/// [`Limits::drain`](crate::Limits::drain).
///
/// Cheap to clone: all clones share the state.
#[derive(Debug, Clone, Default)]
pub struct Draining(Arc<AtomicBool>);

impl Draining {
    /// Whether the server was asked to end.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
