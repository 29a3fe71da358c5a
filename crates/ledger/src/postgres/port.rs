//! [`Journal`] for [`PostgresLedger`](super::PostgresLedger).
//!
//! Each write runs in a task of its own, so dropping a future does not cancel its write.

use std::sync::{Arc, atomic::Ordering};

use alloy_primitives::Address;
use storage::postgres::Condition;
use x402_wire::AuthorizationKey;

use super::{Inner, PostgresLedger, claims::reservation, open::Sweep};
use crate::{
    answer::{PendingSettlement, StoredReceipt},
    claim::{Claim, RequestBinding},
    column::kept,
    error::LedgerError,
    journal::{Journal, OpenCounts, Pruned, Recovery, Resolution, Undecided},
    purchase::Repeated,
    spending::{Missing, Spent},
    state::{EntryId, Transition},
    status::{PaymentRecord, PaymentStatus, Reservation},
};

impl PostgresLedger {
    /// Runs a write to its end, even if its caller does not wait for it.
    async fn write<T, F>(&self, work: impl FnOnce(Arc<Inner>) -> F + Send) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, LedgerError>> + Send + 'static,
    {
        let work = work(Arc::clone(&self.0));
        tokio::spawn(work).await.unwrap_or(Err(LedgerError::Closed))
    }
}

impl Journal for PostgresLedger {
    async fn reserve(&self, claim: Claim) -> Result<Reservation, LedgerError> {
        self.write(|inner| async move { inner.reserve(&claim).await })
            .await
    }

    async fn occupant(&self, claim: Claim) -> Result<Option<PaymentStatus>, LedgerError> {
        self.0.occupant(&claim).await
    }

    async fn prove(&self, entry: EntryId, claim: Claim) -> Result<Reservation, LedgerError> {
        self.write(move |inner| async move { inner.prove(entry, &claim).await })
            .await
    }

    async fn repeat(&self, claim: Claim, first: EntryId) -> Result<Repeated, LedgerError> {
        self.write(move |inner| async move { inner.repeat(&claim, first).await })
            .await
    }

    fn mark_delivered(&self, entry: EntryId) {
        self.0.mark_delivered(entry);
    }

    async fn find(
        &self,
        key: &AuthorizationKey,
        request: &RequestBinding,
        now: u64,
    ) -> Result<Option<PaymentStatus>, LedgerError> {
        let digest = kept(key.digest());
        self.0.find(&digest, request.digest(), now).await
    }

    async fn look_up(&self, key: &AuthorizationKey) -> Result<Option<PaymentRecord>, LedgerError> {
        self.0.look_up(&kept(key.digest())).await
    }

    fn start_work(&self, entry: EntryId) {
        self.0.working().insert(entry.number());
    }

    async fn begin_settlement(
        &self,
        entry: EntryId,
        settlement: PendingSettlement,
        now: u64,
    ) -> Result<(), LedgerError> {
        self.write(|inner| async move { inner.begin_settlement(entry, &settlement, now).await })
            .await
    }

    async fn settle(
        &self,
        entry: EntryId,
        key: AuthorizationKey,
        receipt: StoredReceipt,
        now: u64,
    ) -> Result<(), LedgerError> {
        self.write(move |inner| async move { inner.settle(entry, &key, &receipt, now).await })
            .await
    }

    async fn release(
        &self,
        entry: EntryId,
        reason: &str,
        spent: Spent,
        now: u64,
    ) -> Result<(), LedgerError> {
        let (reason, instance) = (reason.to_owned(), self.0.instance.id());
        self.write(move |inner| async move {
            let transition = Transition::Release;
            inner
                .end_uncharged(Some(instance), entry, transition, &reason, spent, now)
                .await
        })
        .await
    }

    async fn mark_unknown(
        &self,
        entry: EntryId,
        transaction: Option<String>,
        cause: &str,
        now: u64,
    ) -> Result<(), LedgerError> {
        let cause = cause.to_owned();
        self.write(|inner| async move {
            let transaction = transaction.as_deref();
            inner.mark_unknown(entry, transaction, &cause, now).await
        })
        .await
    }

    async fn mark_undecidable(
        &self,
        entry: EntryId,
        cause: &str,
        now: u64,
    ) -> Result<(), LedgerError> {
        let cause = cause.to_owned();
        self.write(|inner| async move { inner.mark_undecidable(entry, &cause, now).await })
            .await
    }

    async fn resolve(
        &self,
        entry: EntryId,
        resolution: Resolution,
        now: u64,
    ) -> Result<(), LedgerError> {
        self.write(|inner| async move { inner.resolve(entry, &resolution, now).await })
            .await
    }

    async fn undecided(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, LedgerError> {
        self.write(move |inner| async move { inner.undecided(after, limit).await })
            .await
    }

    async fn undecidable(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, LedgerError> {
        self.0.undecidable(after, limit).await
    }

    async fn open_counts(&self) -> Result<OpenCounts, LedgerError> {
        self.0.open_counts().await
    }

    async fn credit(&self, payer: Address) -> Result<u64, LedgerError> {
        self.0.credit(payer).await
    }

    async fn paid(&self, payer: Address) -> Result<u64, LedgerError> {
        super::paid(&self.0.postgres, payer).await
    }

    async fn debit(&self, payer: Address, spent: Spent, now: u64) -> Result<(), LedgerError> {
        self.write(move |inner| async move { inner.debit(payer, spent, now).await })
            .await
    }

    async fn missing(&self, now: u64) -> Result<Missing, LedgerError> {
        self.0.missing(now).await
    }

    /// Closes the open entries of expired instances. Entries of live instances stay.
    async fn recover(&self, now: u64) -> Result<Recovery, LedgerError> {
        let sweep = Sweep {
            cause: Recovery::CAUSE,
            owned: Vec::new(),
            untouched_since: 0,
        };
        let mut total = Recovery::default();
        loop {
            let swept = sweep.clone();
            let closed = self
                .write(|inner| async move { inner.sweep(&swept, now).await })
                .await?;
            total.released = total.released.saturating_add(closed.released);
            total.unknown = total.unknown.saturating_add(closed.unknown);
            if self.0.abandon_after.load(Ordering::Relaxed) == 0 {
                break;
            }
        }
        if total != Recovery::default() {
            tracing::warn!(
                released = total.released,
                unknown = total.unknown,
                "instances that live no more had left payments open"
            );
        }
        Ok(total)
    }

    async fn abandon(
        &self,
        owned: Vec<EntryId>,
        untouched_since: u64,
        now: u64,
    ) -> Result<Recovery, LedgerError> {
        let sweep = Sweep {
            cause: "abandoned",
            owned: owned.into_iter().map(EntryId::number).collect(),
            untouched_since,
        };
        self.write(|inner| async move { inner.sweep(&sweep, now).await })
            .await
    }

    async fn prune(&self, now: u64) -> Result<Pruned, LedgerError> {
        self.write(move |inner| async move { inner.prune(now).await })
            .await
    }

    async fn probe(&self) -> Result<(), LedgerError> {
        self.write(|inner| async move { inner.probe().await }).await
    }

    /// Returns the size at the last count of open entries.
    fn size_bytes(&self) -> Result<u64, LedgerError> {
        Ok(self.0.size_bytes.load(Ordering::Relaxed))
    }

    fn owner(&self) -> i64 {
        self.0.instance.id()
    }

    fn reservation(&self, entry: EntryId, owner: i64) -> Option<Condition> {
        Some(reservation(entry, owner))
    }

    async fn retire(&self, entry: EntryId, is_refused: bool) -> Result<bool, LedgerError> {
        self.write(move |inner| async move { inner.retire(entry, is_refused).await })
            .await
    }

    /// Ends the lease.
    async fn close(&self) -> Result<(), LedgerError> {
        self.0.write_deliveries().await;
        Ok(self.0.instance.give_up().await?)
    }
}
