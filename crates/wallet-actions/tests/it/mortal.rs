//! A process that ends at its n-th effect: nothing that it does later happens, and nothing tells it
//! so.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use alloy_primitives::{Address, B256};
use dev_chain::{DevChain, Reply};
use gas_funding::{Book, BookFuture, Booked, Limits, MemoryBook, TopUp};
use tokio::sync::Notify;
use tx_sender::{Fence, Lane, MemoryStore, NodeFault, Record, Takeover, Transport};
use wallet_actions::{Forbidden, Intent, IntentId, Store, StoreFuture};

use crate::memory::Memory;

#[derive(Default)]
pub(crate) struct Fuse {
    left: AtomicI64,
    /// Whether the effect at which it ends still happens.
    after: bool,
    dead: AtomicBool,
    pub(crate) died: Notify,
}

impl Fuse {
    pub(crate) fn new(effects: i64, after: bool) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicI64::new(effects),
            after,
            ..Self::default()
        })
    }

    pub(crate) fn eternal() -> Arc<Self> {
        Self::new(i64::MAX, false)
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// Ends the process where it is.
    pub(crate) fn blow(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    /// An effect that leaves a trace.
    async fn guard<T>(&self, effect: impl Future<Output = T>) -> T {
        self.alive().await;
        if self.left.fetch_sub(1, Ordering::SeqCst) > 0 {
            let done = effect.await;
            self.alive().await;
            return done;
        }
        self.blow();
        if self.after {
            effect.await;
        }
        self.died.notify_one();
        std::future::pending().await
    }

    async fn alive(&self) {
        if self.is_dead() {
            std::future::pending::<()>().await;
        }
    }
}

/// The records of intents as one process sees them.
pub(crate) struct MortalIntents {
    pub(crate) store: Arc<Memory>,
    pub(crate) fuse: Arc<Fuse>,
}

impl Store for MortalIntents {
    fn insert(&self, intent: Intent) -> StoreFuture<'_, Intent> {
        Box::pin(async move {
            let insert = async { self.store.insert(intent).await };
            self.fuse.guard(insert).await
        })
    }

    fn get(&self, id: &IntentId) -> StoreFuture<'_, Option<Intent>> {
        let id = id.clone();
        Box::pin(async move {
            self.fuse.alive().await;
            self.store.get(&id).await
        })
    }

    fn of_payment(&self, payment: B256) -> StoreFuture<'_, Option<Intent>> {
        self.store.of_payment(payment)
    }

    fn forbid(&self, payment: B256, reason: &str, at: u64) -> StoreFuture<'_, Forbidden> {
        let reason = reason.to_owned();
        Box::pin(async move {
            let forbid = async { self.store.forbid(payment, &reason, at).await };
            self.fuse.guard(forbid).await
        })
    }

    fn forbidden(&self, payment: B256) -> StoreFuture<'_, Option<String>> {
        self.store.forbidden(payment)
    }

    fn write(&self, intent: Intent) -> StoreFuture<'_, Intent> {
        Box::pin(async move {
            let write = async { self.store.write(intent).await };
            self.fuse.guard(write).await
        })
    }

    fn open(&self) -> StoreFuture<'_, Vec<IntentId>> {
        Box::pin(async move {
            self.fuse.alive().await;
            self.store.open().await
        })
    }

    fn unsettled(&self) -> StoreFuture<'_, Vec<IntentId>> {
        Box::pin(async move {
            self.fuse.alive().await;
            self.store.unsettled().await
        })
    }

    fn since(&self, created_at: u64) -> StoreFuture<'_, Vec<Intent>> {
        self.store.since(created_at)
    }

    fn of_owner(&self, owner: &str, created_at: u64, most: u32) -> StoreFuture<'_, Vec<Intent>> {
        self.store.of_owner(owner, created_at, most)
    }

    fn is_busy(&self, wallet: Address) -> StoreFuture<'_, Option<IntentId>> {
        self.store.is_busy(wallet)
    }
}

/// The book of coins for gas as one process sees it.
pub(crate) struct MortalBook {
    pub(crate) book: Arc<MemoryBook>,
    pub(crate) fuse: Arc<Fuse>,
}

impl Book for MortalBook {
    fn book(&self, top_up: TopUp, limits: Limits) -> BookFuture<'_, Booked> {
        Box::pin(async move {
            let book = async { self.book.book(top_up, limits).await };
            self.fuse.guard(book).await
        })
    }
}

/// The sender's records as one process sees them.
pub(crate) struct MortalRecords {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) fuse: Arc<Fuse>,
}

impl tx_sender::Store for MortalRecords {
    fn acquire(
        &self,
        lane: Lane,
        holder: &str,
        now: u64,
        seconds: u64,
        takeover: Takeover,
    ) -> tx_sender::StoreFuture<'_, Option<Fence>> {
        let holder = holder.to_owned();
        Box::pin(async move {
            let store = &self.store;
            let take = async { store.acquire(lane, &holder, now, seconds, takeover).await };
            self.fuse.guard(take).await
        })
    }

    fn give_back(&self, fence: Fence, holder: &str) -> tx_sender::StoreFuture<'_, ()> {
        let holder = holder.to_owned();
        Box::pin(async move {
            let give = async { self.store.give_back(fence, &holder).await };
            self.fuse.guard(give).await
        })
    }

    fn insert(&self, record: Record) -> tx_sender::StoreFuture<'_, Record> {
        Box::pin(async move {
            let insert = async { self.store.insert(record).await };
            self.fuse.guard(insert).await
        })
    }

    fn get(&self, key: &str) -> tx_sender::StoreFuture<'_, Option<Record>> {
        self.store.get(key)
    }

    fn live(&self, lane: Lane) -> tx_sender::StoreFuture<'_, Vec<Record>> {
        Box::pin(async move {
            self.fuse.alive().await;
            self.store.live(lane).await
        })
    }

    fn lanes(&self) -> tx_sender::StoreFuture<'_, Vec<Lane>> {
        self.store.lanes()
    }

    fn write(&self, fence: Fence, records: Vec<Record>) -> tx_sender::StoreFuture<'_, Vec<Record>> {
        Box::pin(async move {
            let write = async { self.store.write(fence, records).await };
            self.fuse.guard(write).await
        })
    }

    fn amend(&self, record: Record) -> tx_sender::StoreFuture<'_, Record> {
        Box::pin(async move {
            let amend = async { self.store.amend(record).await };
            self.fuse.guard(amend).await
        })
    }

    fn prune(&self, submitted_before: u64) -> tx_sender::StoreFuture<'_, u64> {
        self.store.prune(submitted_before)
    }
}

/// A node as one process sees it: a transaction that is sent leaves a trace.
#[derive(Clone)]
pub(crate) struct MortalNode {
    pub(crate) chain: DevChain,
    pub(crate) up: Arc<AtomicBool>,
    pub(crate) fuse: Arc<Fuse>,
}

impl Transport for MortalNode {
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        Box::pin(async move {
            let exchange = async {
                tokio::time::sleep(Duration::from_millis(2)).await;
                if !self.up.load(Ordering::SeqCst) {
                    return Err(NodeFault::Unreachable);
                }
                match self.chain.answer(&body) {
                    Reply::Http { body, .. } => Ok(body),
                    _ => Err(NodeFault::Lost { method }),
                }
            };
            if method == "eth_sendRawTransaction" {
                self.fuse.guard(exchange).await
            } else {
                self.fuse.alive().await;
                exchange.await
            }
        })
    }
}

/// What the payments of a test are known by.
pub(crate) fn payment(number: u8) -> B256 {
    B256::repeat_byte(number)
}
