//! A process that ends at its n-th effect: nothing that it does later happens, and nothing tells it
//! so.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::{Entry, Policy};
use fence_server as fence;
use tokio::sync::Notify;
use tx_sender::{Fence, Lane, MemoryStore, NodeFault, Record, StoreFuture, Takeover, Transport};

use crate::memory::Memory;
use crate::stage::InProcess;

#[derive(Default)]
pub(crate) struct Fuse {
    left: AtomicI64,
    /// Whether the effect at which it ends still happens.
    after: bool,
    dead: AtomicBool,
    asleep: AtomicBool,
    /// After how many effects it falls asleep; not at all below zero.
    tires: AtomicI64,
    pub(crate) fell_asleep: Notify,
    woken: Notify,
    pub(crate) died: Notify,
}

impl Fuse {
    pub(crate) fn new(effects: i64, after: bool) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicI64::new(effects),
            after,
            tires: AtomicI64::new(-1),
            ..Self::default()
        })
    }

    pub(crate) fn eternal() -> Arc<Self> {
        Self::new(i64::MAX, false)
    }

    /// Stops the process where it is, for good.
    pub(crate) fn blow(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Holds the process up at its next effect or reading, until it is woken.
    pub(crate) fn sleep(&self) {
        self.asleep.store(true, Ordering::SeqCst);
    }

    /// Holds the process up when so many more effects have happened.
    pub(crate) fn sleep_after(&self, effects: i64) {
        self.tires.store(effects, Ordering::SeqCst);
    }

    pub(crate) fn wake(&self) {
        self.asleep.store(false, Ordering::SeqCst);
        self.woken.notify_waiters();
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    pub(crate) fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::SeqCst)
    }

    /// An effect that leaves a trace.
    async fn guard<T>(&self, effect: impl Future<Output = T>) -> T {
        self.alive().await;
        if self.left.fetch_sub(1, Ordering::SeqCst) > 0 {
            let done = effect.await;
            if self.tires.fetch_sub(1, Ordering::SeqCst) == 1 {
                self.sleep();
                self.fell_asleep.notify_one();
            }
            // It may be held up before it hears what came of it.
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
        loop {
            let woken = self.woken.notified();
            if self.is_dead() {
                std::future::pending::<()>().await;
            }
            if !self.is_asleep() {
                return;
            }
            woken.await;
        }
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

/// The node as one process sees it: a transaction that is sent leaves a trace.
#[derive(Clone)]
pub(crate) struct MortalNode {
    pub(crate) node: InProcess,
    pub(crate) fuse: Arc<Fuse>,
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

/// The fence's records as one process sees them.
pub(crate) struct MortalFence {
    pub(crate) store: Arc<Memory>,
    pub(crate) fuse: Arc<Fuse>,
}

impl fence::Store for MortalFence {
    fn install(&self, policy: Policy, at: UtcSeconds) -> fence::StoreFuture<'_, ()> {
        self.store.install(policy, at)
    }

    fn installed(&self) -> fence::StoreFuture<'_, Option<fence::InstalledPolicy>> {
        Box::pin(async move {
            self.fuse.alive().await;
            self.store.installed().await
        })
    }

    fn view(
        &self,
        account: Address,
        grant_id: B256,
        plan: Option<B256>,
    ) -> fence::StoreFuture<'_, fence::View> {
        self.store.view(account, grant_id, plan)
    }

    fn write(&self, write: fence::Write) -> fence::StoreFuture<'_, u64> {
        Box::pin(async move {
            let write = async { self.store.write(write).await };
            self.fuse.guard(write).await
        })
    }

    fn note_refusal(
        &self,
        account: Address,
        grant_id: B256,
        refusal: Entry,
        most: u32,
    ) -> fence::StoreFuture<'_, ()> {
        self.store.note_refusal(account, grant_id, refusal, most)
    }

    fn log(
        &self,
        account: Address,
        grant_id: B256,
        from: u64,
        most: u32,
    ) -> fence::StoreFuture<'_, Vec<delegation_fence::Record>> {
        self.store.log(account, grant_id, from, most)
    }

    fn submission(&self, plan: B256) -> fence::StoreFuture<'_, Option<fence::KeptSubmission>> {
        Box::pin(async move {
            self.fuse.alive().await;
            self.store.submission(plan).await
        })
    }

    fn sendings(&self, since: UtcSeconds) -> fence::StoreFuture<'_, Vec<B256>> {
        Box::pin(async move {
            self.fuse.alive().await;
            self.store.sendings(since).await
        })
    }

    fn gas_spent(
        &self,
        account: Address,
        at: UtcSeconds,
    ) -> fence::StoreFuture<'_, delegation_fence::Spent> {
        self.store.gas_spent(account, at)
    }

    fn book_top_up(&self, top_up: fence::TopUp) -> fence::StoreFuture<'_, ()> {
        Box::pin(async move {
            let book = async { self.store.book_top_up(top_up).await };
            self.fuse.guard(book).await
        })
    }

    fn acquire(
        &self,
        account: Address,
        holder: &str,
        now: UtcSeconds,
        seconds: u64,
    ) -> fence::StoreFuture<'_, Option<fence::Lease>> {
        let holder = holder.to_owned();
        Box::pin(async move {
            let take = async { self.store.acquire(account, &holder, now, seconds).await };
            self.fuse.guard(take).await
        })
    }

    fn give_back(&self, lease: fence::Lease, holder: &str) -> fence::StoreFuture<'_, ()> {
        let holder = holder.to_owned();
        Box::pin(async move {
            let give = async { self.store.give_back(lease, &holder).await };
            self.fuse.guard(give).await
        })
    }

    fn probe(&self) -> fence::StoreFuture<'_, ()> {
        self.store.probe()
    }
}
