//! Counters of the writer.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counts of a ledger's writer since the ledger was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Durable transactions with changes, each with one `fsync`.
    pub commits: u64,
    /// Requests that were answered, including reads.
    pub requests: u64,
    /// The most requests that shared one transaction.
    pub largest_batch: u64,
    /// How often the write-ahead log was written back into the file.
    pub checkpoints: u64,
}

/// The counters behind [`Stats`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    commits: AtomicU64,
    requests: AtomicU64,
    largest_batch: AtomicU64,
    checkpoints: AtomicU64,
}

impl Counters {
    pub(super) fn committed(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn answering(&self, requests: usize) {
        let requests = u64::try_from(requests).unwrap_or(u64::MAX);
        self.requests.fetch_add(requests, Ordering::Relaxed);
        self.largest_batch.fetch_max(requests, Ordering::Relaxed);
    }

    pub(super) fn checkpointed(&self) {
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> Stats {
        Stats {
            commits: self.commits.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            largest_batch: self.largest_batch.load(Ordering::Relaxed),
            checkpoints: self.checkpoints.load(Ordering::Relaxed),
        }
    }
}
