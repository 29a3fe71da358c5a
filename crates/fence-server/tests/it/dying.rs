//! A store that goes away.

use std::ops::Deref;
use std::sync::Arc;

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::{LogEntry, LogRecord, Policy, Spent};
use fence_server::{
    InstalledPolicy, KeptSubmission, Lease, Store, StoreError, StoreFuture, View, Write,
};

/// The store of a process that ends at one of its writes.
pub(crate) struct Dying(test_support::Dying<dyn Store, StoreError>);

impl Dying {
    pub(crate) fn new(inner: Arc<dyn Store>, left: usize, after: bool) -> Self {
        let gone = || StoreError::Unavailable { code: "killed" };
        Self(test_support::Dying::new(inner, left, after, gone))
    }

    /// A store whose process goes on.
    pub(crate) fn never(inner: Arc<dyn Store>) -> Self {
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
    fn install(&self, policy: Policy, at: UtcSeconds) -> StoreFuture<'_, ()> {
        self.0.read(|store| store.install(policy, at))
    }
    fn installed(&self) -> StoreFuture<'_, Option<InstalledPolicy>> {
        self.0.read(|store| store.installed())
    }
    fn view(&self, account: Address, grant_id: B256, plan: Option<B256>) -> StoreFuture<'_, View> {
        self.0.read(|store| store.view(account, grant_id, plan))
    }
    fn write(&self, write: Write) -> StoreFuture<'_, u64> {
        self.0.write(|store| store.write(write))
    }
    fn note_refusal(
        &self,
        account: Address,
        grant_id: B256,
        refusal: LogEntry,
        most: u32,
    ) -> StoreFuture<'_, ()> {
        self.0
            .write(|store| store.note_refusal(account, grant_id, refusal, most))
    }
    fn log(
        &self,
        account: Address,
        grant_id: B256,
        from: u64,
        most: u32,
    ) -> StoreFuture<'_, Vec<LogRecord>> {
        self.0
            .read(|store| store.log(account, grant_id, from, most))
    }
    fn submission(&self, payload_digest: B256) -> StoreFuture<'_, Option<KeptSubmission>> {
        self.0.read(|store| store.submission(payload_digest))
    }
    fn sendings(&self, ended_since: UtcSeconds) -> StoreFuture<'_, Vec<B256>> {
        self.0.read(|store| store.sendings(ended_since))
    }
    fn gas_spent(&self, account: Address, at: UtcSeconds) -> StoreFuture<'_, Spent> {
        self.0.read(|store| store.gas_spent(account, at))
    }
    fn acquire(
        &self,
        account: Address,
        holder: &str,
        now: UtcSeconds,
        seconds: u64,
    ) -> StoreFuture<'_, Option<Lease>> {
        self.0
            .read(|store| store.acquire(account, holder, now, seconds))
    }
    fn give_back(&self, lease: Lease, holder: &str) -> StoreFuture<'_, ()> {
        self.0.read(|store| store.give_back(lease, holder))
    }
    fn forget(&self, now: UtcSeconds, most: u32) -> StoreFuture<'_, u64> {
        self.0.read(|store| store.forget(now, most))
    }
    fn history(&self) -> StoreFuture<'_, Option<String>> {
        self.0.history()
    }
    fn probe(&self) -> StoreFuture<'_, ()> {
        self.0.read(|store| store.probe())
    }
}
