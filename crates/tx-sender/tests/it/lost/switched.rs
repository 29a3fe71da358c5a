//! A store that a replica takes over while a sender works.

use std::sync::{Arc, RwLock};

use tx_sender::{Fence, Lane, MemoryStore, Record, Store, StoreFuture, Takeover, TurnFence};

/// The store of the primary, and later the store of the replica.
#[derive(Default)]
pub(crate) struct Switched(RwLock<Arc<MemoryStore>>);

impl Switched {
    pub(crate) fn to(&self, replica: MemoryStore) {
        *self.0.write().unwrap() = Arc::new(replica);
    }

    fn now(&self) -> Arc<MemoryStore> {
        Arc::clone(&self.0.read().unwrap())
    }
}

impl Store for Switched {
    fn acquire(
        &self,
        lane: Lane,
        holder: &str,
        now: u64,
        seconds: u64,
        takeover: Takeover,
    ) -> StoreFuture<'_, Option<Fence>> {
        let holder = holder.to_owned();
        let store = self.now();
        Box::pin(async move { store.acquire(lane, &holder, now, seconds, takeover).await })
    }

    fn give_back(&self, fence: Fence, holder: &str) -> StoreFuture<'_, ()> {
        let holder = holder.to_owned();
        let store = self.now();
        Box::pin(async move { store.give_back(fence, &holder).await })
    }

    fn insert(&self, record: Record) -> StoreFuture<'_, Record> {
        let store = self.now();
        Box::pin(async move { store.insert(record).await })
    }

    fn insert_in_turn(&self, record: Record, turn: TurnFence) -> StoreFuture<'_, Record> {
        let store = self.now();
        Box::pin(async move { store.insert_in_turn(record, turn).await })
    }

    fn next_nonce(&self, lane: Lane) -> StoreFuture<'_, Option<u64>> {
        let store = self.now();
        Box::pin(async move { store.next_nonce(lane).await })
    }

    fn get(&self, key: &str) -> StoreFuture<'_, Option<Record>> {
        let key = key.to_owned();
        let store = self.now();
        Box::pin(async move { store.get(&key).await })
    }

    fn live(&self, lane: Lane) -> StoreFuture<'_, Vec<Record>> {
        let store = self.now();
        Box::pin(async move { store.live(lane).await })
    }

    fn lanes(&self) -> StoreFuture<'_, Vec<Lane>> {
        let store = self.now();
        Box::pin(async move { store.lanes().await })
    }

    fn write(&self, fence: Fence, records: Vec<Record>) -> StoreFuture<'_, Vec<Record>> {
        let store = self.now();
        Box::pin(async move { store.write(fence, records).await })
    }

    fn amend(&self, record: Record) -> StoreFuture<'_, Record> {
        let store = self.now();
        Box::pin(async move { store.amend(record).await })
    }

    fn prune(&self, submitted_before: u64) -> StoreFuture<'_, u64> {
        let store = self.now();
        Box::pin(async move { store.prune(submitted_before).await })
    }
}
