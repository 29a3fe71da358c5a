//! The limits of one call to an upstream.

use std::time::Duration;

/// Time, size and tries of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time for a whole call, retries and pauses included.
    pub timeout: Duration,
    /// Largest body, after decompression, in bytes.
    pub max_body_bytes: usize,
    /// Tries of one call. Every call of this crate may be repeated.
    pub attempts: u32,
    /// Pause before the second try; doubled for each further one.
    pub backoff: Duration,
}

impl Limits {
    /// The usual limits: 4 s, 2 MiB, and three tries with a first pause of 100 ms.
    pub const USUAL: Self = Self {
        timeout: Duration::from_secs(4),
        max_body_bytes: 2 * 1024 * 1024,
        attempts: 3,
        backoff: Duration::from_millis(100),
    };

    /// These limits with another time.
    #[must_use]
    pub const fn within_seconds(self, seconds: u64) -> Self {
        Self {
            timeout: Duration::from_secs(seconds),
            ..self
        }
    }

    /// These limits with another largest body.
    #[must_use]
    pub const fn up_to_bytes(self, max_body_bytes: usize) -> Self {
        Self {
            max_body_bytes,
            ..self
        }
    }
}

impl Default for Limits {
    /// [`Limits::USUAL`].
    fn default() -> Self {
        Self::USUAL
    }
}
