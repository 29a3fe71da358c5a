//! A store whose process ends at one of its writes.

use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;
use watch_server::{Creation, Kept, Lease, Store, StoreError, StoreFuture, Write};
use yield_watch::AuditRecord;

/// The store of a process that ends at one of its writes.
pub struct Dying(test_support::Dying<dyn Store, StoreError>);

impl Dying {
    pub fn new(inner: Arc<dyn Store>, left: usize, after: bool) -> Self {
        let gone = || StoreError::Unavailable { code: "killed" };
        Self(test_support::Dying::new(inner, left, after, gone))
    }

    /// Makes a store whose process does not end.
    pub fn never(inner: Arc<dyn Store>) -> Self {
        Self::new(inner, usize::MAX, false)
    }
}

impl Deref for Dying {
    type Target = test_support::Dying<dyn Store, StoreError>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Store for Dying {
    fn create(&self, creation: Creation) -> StoreFuture<'_, Kept> {
        self.0.write(|store| store.create(creation))
    }
    fn find(&self, id: &str) -> StoreFuture<'_, Option<Kept>> {
        self.0.read(|store| store.find(id))
    }
    fn list(&self, owner: &str, before: Option<u64>, most: u32) -> StoreFuture<'_, Vec<Kept>> {
        self.0.read(|store| store.list(owner, before, most))
    }
    fn write(&self, write: Write) -> StoreFuture<'_, u64> {
        self.0.write(|store| store.write(write))
    }
    fn records(&self, id: &str, from: u64, most: u32) -> StoreFuture<'_, Vec<AuditRecord>> {
        self.0.read(|store| store.records(id, from, most))
    }
    fn due(&self, now: Timestamp, most: u32) -> StoreFuture<'_, Vec<String>> {
        self.0.read(|store| store.due(now, most))
    }
    fn acquire(
        &self,
        id: &str,
        holder: &str,
        now: Timestamp,
        seconds: u32,
    ) -> StoreFuture<'_, Option<Lease>> {
        self.0
            .write(|store| store.acquire(id, holder, now, seconds))
    }
    fn give_back(&self, lease: Lease, holder: &str) -> StoreFuture<'_, ()> {
        self.0.write(|store| store.give_back(lease, holder))
    }
    fn history(&self) -> StoreFuture<'_, Option<String>> {
        self.0.history()
    }
    fn probe(&self) -> StoreFuture<'_, ()> {
        self.0.read(|store| store.probe())
    }
}
