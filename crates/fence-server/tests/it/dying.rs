//! A store that goes away.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::{Entry, Policy, Record, Spent};
use fence_server::{
    InstalledPolicy, KeptSubmission, Lease, Store, StoreError, StoreFuture, View, Write,
};

/// A store whose process ends at one of its writes: before it, or after it and before anybody
/// learns of it. From then on nothing answers. Before that, it may begin another history.
pub(crate) struct Dying {
    inner: Arc<dyn Store>,
    /// Writes until the end.
    left: AtomicUsize,
    after: bool,
    history: Mutex<Option<String>>,
}

impl Dying {
    pub(crate) fn new(inner: Arc<dyn Store>, left: usize, after: bool) -> Self {
        Self {
            inner,
            left: AtomicUsize::new(left),
            after,
            history: Mutex::default(),
        }
    }

    /// A store whose process goes on.
    pub(crate) fn never(inner: Arc<dyn Store>) -> Self {
        Self::new(inner, usize::MAX, false)
    }

    /// A replica takes over.
    pub(crate) fn begin_history(&self, name: &str) {
        *self.history.lock().unwrap() = Some(name.to_owned());
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    fn read<'a, T: Send + 'a>(&'a self, future: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        if self.is_dead() { gone() } else { future }
    }

    fn write<'a, T: Send + 'a>(&'a self, future: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        if self.is_dead() {
            return gone();
        }
        if self.left.fetch_sub(1, Ordering::SeqCst) > 1 {
            return future;
        }
        let after = self.after;
        Box::pin(async move {
            if after {
                drop(future.await);
            }
            gone().await
        })
    }
}

fn gone<'a, T: Send + 'a>() -> StoreFuture<'a, T> {
    Box::pin(async { Err(StoreError::Unavailable { code: "killed" }) })
}

impl Store for Dying {
    fn install(&self, policy: Policy, at: UtcSeconds) -> StoreFuture<'_, ()> {
        self.inner.install(policy, at)
    }
    fn installed(&self) -> StoreFuture<'_, Option<InstalledPolicy>> {
        self.read(self.inner.installed())
    }
    fn view(&self, account: Address, grant_id: B256, plan: Option<B256>) -> StoreFuture<'_, View> {
        self.read(self.inner.view(account, grant_id, plan))
    }
    fn write(&self, write: Write) -> StoreFuture<'_, u64> {
        self.write(self.inner.write(write))
    }
    fn note_refusal(
        &self,
        account: Address,
        grant_id: B256,
        refusal: Entry,
        most: u32,
    ) -> StoreFuture<'_, ()> {
        self.write(self.inner.note_refusal(account, grant_id, refusal, most))
    }
    fn log(
        &self,
        account: Address,
        grant_id: B256,
        from: u64,
        most: u32,
    ) -> StoreFuture<'_, Vec<Record>> {
        self.read(self.inner.log(account, grant_id, from, most))
    }
    fn submission(&self, payload_digest: B256) -> StoreFuture<'_, Option<KeptSubmission>> {
        self.read(self.inner.submission(payload_digest))
    }
    fn sendings(&self, ended_since: UtcSeconds) -> StoreFuture<'_, Vec<B256>> {
        self.read(self.inner.sendings(ended_since))
    }
    fn gas_spent(&self, account: Address, at: UtcSeconds) -> StoreFuture<'_, Spent> {
        self.read(self.inner.gas_spent(account, at))
    }
    fn acquire(
        &self,
        account: Address,
        holder: &str,
        now: UtcSeconds,
        seconds: u64,
    ) -> StoreFuture<'_, Option<Lease>> {
        self.read(self.inner.acquire(account, holder, now, seconds))
    }
    fn give_back(&self, lease: Lease, holder: &str) -> StoreFuture<'_, ()> {
        self.read(self.inner.give_back(lease, holder))
    }
    fn history(&self) -> StoreFuture<'_, Option<String>> {
        let history = self.history.lock().unwrap().clone();
        self.read(Box::pin(async move { Ok(history) }))
    }
    fn probe(&self) -> StoreFuture<'_, ()> {
        self.read(self.inner.probe())
    }
}
