//! The stores and the node of a process, behind a [`Fuse`] that can end or pause the process.

use std::pin::Pin;
use std::sync::Arc;

use gas_funding::{Book, BookFuture, Booked, Limits, MemoryBook, TopUp};
use tx_sender::{
    Fence, Lane, NodeFault, Record, Store, StoreFuture, Takeover, Transport, TurnFence,
};

use crate::Fuse;

/// The records of the sender, as one process uses them. Writing is an effect of the process.
pub struct MortalRecords {
    /// The store. It outlives the process.
    pub store: Arc<dyn Store>,
    /// The fuse that ends the process.
    pub fuse: Arc<Fuse>,
}

impl Store for MortalRecords {
    fn acquire(
        &self,
        lane: Lane,
        holder: &str,
        now: u64,
        seconds: u64,
        takeover: Takeover,
    ) -> StoreFuture<'_, Option<Fence>> {
        let holder = holder.to_owned();
        Box::pin(async move {
            let store = &self.store;
            let take = async { store.acquire(lane, &holder, now, seconds, takeover).await };
            self.fuse.guard(take).await
        })
    }

    fn give_back(&self, fence: Fence, holder: &str) -> StoreFuture<'_, ()> {
        let holder = holder.to_owned();
        Box::pin(async move {
            let give = async { self.store.give_back(fence, &holder).await };
            self.fuse.guard(give).await
        })
    }

    fn insert(&self, record: Record) -> StoreFuture<'_, Record> {
        Box::pin(async move {
            let insert = async { self.store.insert(record).await };
            self.fuse.guard(insert).await
        })
    }

    fn insert_in_turn(&self, record: Record, turn: TurnFence) -> StoreFuture<'_, Record> {
        Box::pin(async move {
            let insert = async { self.store.insert_in_turn(record, turn).await };
            self.fuse.guard(insert).await
        })
    }

    fn next_nonce(&self, lane: Lane) -> StoreFuture<'_, Option<u64>> {
        self.store.next_nonce(lane)
    }

    fn get(&self, key: &str) -> StoreFuture<'_, Option<Record>> {
        self.store.get(key)
    }

    fn live(&self, lane: Lane) -> StoreFuture<'_, Vec<Record>> {
        Box::pin(async move {
            self.fuse.alive().await;
            self.store.live(lane).await
        })
    }

    fn lanes(&self) -> StoreFuture<'_, Vec<Lane>> {
        self.store.lanes()
    }

    fn write(&self, fence: Fence, records: Vec<Record>) -> StoreFuture<'_, Vec<Record>> {
        Box::pin(async move {
            let write = async { self.store.write(fence, records).await };
            self.fuse.guard(write).await
        })
    }

    fn amend(&self, record: Record) -> StoreFuture<'_, Record> {
        Box::pin(async move {
            let amend = async { self.store.amend(record).await };
            self.fuse.guard(amend).await
        })
    }

    fn prune(&self, submitted_before: u64) -> StoreFuture<'_, u64> {
        self.store.prune(submitted_before)
    }
}

/// The node, as one process uses it. Sending a transaction is an effect of the process.
#[derive(Clone)]
pub struct MortalNode {
    /// The node.
    pub node: Arc<dyn Transport>,
    /// The fuse that ends the process.
    pub fuse: Arc<Fuse>,
}

impl Transport for MortalNode {
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        Box::pin(async move {
            let exchange = self.node.exchange(method, body);
            if method == "eth_sendRawTransaction" {
                self.fuse.guard(exchange).await
            } else {
                self.fuse.alive().await;
                exchange.await
            }
        })
    }
}

/// The book of coins for gas, as one process uses it. Booking is an effect of the process.
pub struct MortalBook {
    /// The book. It outlives the process.
    pub book: Arc<MemoryBook>,
    /// The fuse that ends the process.
    pub fuse: Arc<Fuse>,
}

impl Book for MortalBook {
    fn book(&self, top_up: TopUp, limits: Limits) -> BookFuture<'_, Booked> {
        Box::pin(async move {
            let book = async { self.book.book(top_up, limits).await };
            self.fuse.guard(book).await
        })
    }
}
