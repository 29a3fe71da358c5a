//! A store whose process ends at one of its writes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use watch_server::{Creation, Kept, Lease, Store, StoreError, StoreFuture, Write};
use yield_watch::Record;

/// A store whose process ends at one of its writes: before the write, or after it and before the
/// caller gets the answer. From then on, every call fails. Until then, a test may let the store
/// begin another history.
pub struct Dying {
    inner: Arc<dyn Store>,
    /// How many writes are left until the process ends.
    left: AtomicUsize,
    after: bool,
    history: Mutex<Option<String>>,
}

impl Dying {
    pub fn new(inner: Arc<dyn Store>, left: usize, after: bool) -> Self {
        Self {
            inner,
            left: AtomicUsize::new(left),
            after,
            history: Mutex::default(),
        }
    }

    /// Makes a store whose process does not end.
    pub fn never(inner: Arc<dyn Store>) -> Self {
        Self::new(inner, usize::MAX, false)
    }

    /// Begins another history, as a database does when a replica takes over.
    pub fn begin_history(&self, name: &str) {
        *self.history.lock().unwrap() = Some(name.to_owned());
    }

    pub fn is_dead(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    fn read<'a, T: Send + 'a>(&'a self, future: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        if self.is_dead() { gone() } else { future }
    }

    fn write<'a, T: Send + 'a>(
        &'a self,
        write: impl FnOnce() -> StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        if self.is_dead() {
            return gone();
        }
        if self.left.fetch_sub(1, Ordering::SeqCst) > 1 {
            return write();
        }
        if !self.after {
            return gone();
        }
        let future = write();
        Box::pin(async move {
            drop(future.await);
            gone().await
        })
    }
}

fn gone<'a, T: Send + 'a>() -> StoreFuture<'a, T> {
    Box::pin(async { Err(StoreError::Unavailable { code: "killed" }) })
}

impl Store for Dying {
    fn create(&self, creation: Creation) -> StoreFuture<'_, Kept> {
        self.write(|| self.inner.create(creation))
    }
    fn find(&self, id: &str) -> StoreFuture<'_, Option<Kept>> {
        self.read(self.inner.find(id))
    }
    fn list(&self, owner: &str, before: Option<u64>, most: u32) -> StoreFuture<'_, Vec<Kept>> {
        self.read(self.inner.list(owner, before, most))
    }
    fn write(&self, write: Write) -> StoreFuture<'_, u64> {
        self.write(|| self.inner.write(write))
    }
    fn records(&self, id: &str, from: u64, most: u32) -> StoreFuture<'_, Vec<Record>> {
        self.read(self.inner.records(id, from, most))
    }
    fn due(&self, now: Timestamp, most: u32) -> StoreFuture<'_, Vec<String>> {
        self.read(self.inner.due(now, most))
    }
    fn acquire(
        &self,
        id: &str,
        holder: &str,
        now: Timestamp,
        seconds: u32,
    ) -> StoreFuture<'_, Option<Lease>> {
        self.write(|| self.inner.acquire(id, holder, now, seconds))
    }
    fn give_back(&self, lease: Lease, holder: &str) -> StoreFuture<'_, ()> {
        self.write(|| self.inner.give_back(lease, holder))
    }
    fn history(&self) -> StoreFuture<'_, Option<String>> {
        let history = self.history.lock().unwrap().clone();
        self.read(Box::pin(async move { Ok(history) }))
    }
    fn probe(&self) -> StoreFuture<'_, ()> {
        self.read(self.inner.probe())
    }
}
