//! Identifiers of requests, for answers and logs.

use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies one request in answers and logs: 16 random hexadecimal digits of this process, then a
/// counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId {
    process: u64,
    number: u64,
}

impl RequestId {
    /// Writes the id as text, in one allocation.
    #[must_use]
    pub fn text(self) -> String {
        let mut text = String::with_capacity(33);
        // Writing to a string cannot fail.
        let _ = write!(text, "{self}");
        text
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{:x}", self.process, self.number)
    }
}

/// The source of [`RequestId`]s of one process.
#[derive(Debug)]
pub struct RequestIds {
    process: u64,
    next: AtomicU64,
}

impl RequestIds {
    /// Makes a source whose ids differ from those of other processes and earlier starts.
    #[must_use]
    pub fn new() -> Self {
        // Without randomness, ids could repeat between processes. Only searches in logs depend on
        // them.
        Self {
            process: getrandom::u64().unwrap_or_default(),
            next: AtomicU64::new(1),
        }
    }

    /// The next id.
    pub fn next_id(&self) -> RequestId {
        RequestId {
            process: self.process,
            number: self.next.fetch_add(1, Ordering::Relaxed),
        }
    }
}

impl Default for RequestIds {
    fn default() -> Self {
        Self::new()
    }
}
