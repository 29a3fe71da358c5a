//! The fence's records as seen by a process that ends at its n-th effect.

use std::sync::Arc;

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::{LogEntry, Policy};
use fence_server as fence;
use test_support::Fuse;

use crate::memory::Memory;

/// The fence's records as one process sees them.
pub(crate) struct MortalFence {
    pub(crate) store: Arc<Memory>,
    pub(crate) fuse: Arc<Fuse>,
}

impl fence::Store for MortalFence {
    fn install(&self, policy: Policy, at: UtcSeconds) -> fence::StoreFuture<'_, ()> {
        self.store.install(policy, at)
    }

    fn history(&self) -> fence::StoreFuture<'_, Option<String>> {
        self.store.history()
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
        refusal: LogEntry,
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
    ) -> fence::StoreFuture<'_, Vec<delegation_fence::LogRecord>> {
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
