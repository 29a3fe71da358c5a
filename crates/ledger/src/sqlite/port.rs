//! [`Journal`] for [`SqliteLedger`]. Each operation is a request in the writer's queue.

use std::sync::atomic::Ordering;

use alloy_primitives::Address;
use storage::sqlite;
use x402_wire::AuthorizationKey;

use super::{SqliteLedger, store::Sweep};
use crate::{
    answer::{PendingSettlement, StoredReceipt},
    claim::{Claim, RequestBinding},
    error::LedgerError,
    journal::{Journal, OpenCounts, Pruned, Recovery, Resolution, Undecided},
    purchase::Repeated,
    spending::{Missing, Spent},
    state::{EntryId, State},
    status::{PaymentRecord, PaymentStatus, Reservation},
};

/// The most batches of one sweep for orphaned calls. They have 16,384 entries, each of which takes
/// the writer some microseconds.
const ABANDON_BATCHES: u32 = 64;

// The methods about a payment queue their request when they are called, so their futures contain
// only the wait for the reply.
impl Journal for SqliteLedger {
    fn reserve(
        &self,
        claim: Claim,
    ) -> impl Future<Output = Result<Reservation, LedgerError>> + Send {
        let digest = claim.key.digest();
        let claimed = self.submit("reserve", move |store| store.reserve(digest, &claim));
        async move {
            let reservation = claimed.await?;
            if let Reservation::Known(status) = &reservation {
                self.check(status)?;
            }
            Ok(reservation)
        }
    }

    fn occupant(
        &self,
        claim: Claim,
    ) -> impl Future<Output = Result<Option<PaymentStatus>, LedgerError>> + Send {
        self.submit("occupant", move |store| store.occupant(&claim))
    }

    fn prove(
        &self,
        entry: EntryId,
        claim: Claim,
    ) -> impl Future<Output = Result<Reservation, LedgerError>> + Send {
        self.submit("prove", move |store| store.prove(entry, &claim))
    }

    fn repeat(
        &self,
        claim: Claim,
        first: EntryId,
    ) -> impl Future<Output = Result<Repeated, LedgerError>> + Send {
        let digest = claim.key.digest();
        let repeated = self.submit("repeat", move |store| store.repeat(digest, &claim, first));
        async move {
            let repeated = repeated.await?;
            if let Repeated::Answered(stored) = &repeated {
                self.check_answer(stored)?;
            }
            Ok(repeated)
        }
    }

    fn mark_delivered(&self, entry: EntryId) {
        self.marks().delivered.push(entry);
        // The writer looks at the marks after each batch for a while, and is woken afterwards.
        if self.is_idle.swap(false, Ordering::SeqCst) {
            drop(self.submit("mark_delivered", |_| Ok(())));
        }
    }

    fn find(
        &self,
        key: &AuthorizationKey,
        request: &RequestBinding,
        now: u64,
    ) -> impl Future<Output = Result<Option<PaymentStatus>, LedgerError>> + Send {
        let (digest, request) = (key.digest(), request.digest());
        let status = self.submit("find", move |store| store.find(digest, request, now));
        async move {
            let status = status.await?;
            if let Some(status) = &status {
                self.check(status)?;
            }
            Ok(status)
        }
    }

    fn look_up(
        &self,
        key: &AuthorizationKey,
    ) -> impl Future<Output = Result<Option<PaymentRecord>, LedgerError>> + Send {
        let digest = key.digest();
        self.submit("look_up", move |store| store.look_up(digest))
    }

    fn retire(
        &self,
        entry: EntryId,
        is_refused: bool,
    ) -> impl Future<Output = Result<bool, LedgerError>> + Send {
        self.submit("retire", move |store| store.retire(entry, is_refused))
    }

    fn start_work(&self, entry: EntryId) {
        // The writer adds the mark to its next batch, because a mark is not worth a wake-up or a
        // commit.
        self.marks().begun.push(entry);
    }

    fn begin_settlement(
        &self,
        entry: EntryId,
        settlement: PendingSettlement,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send {
        // The work is complete, so a mark that is not written yet is not needed any more.
        self.marks().begun.retain(|mark| *mark != entry);
        self.submit("begin_settlement", move |store| {
            store.begin_settlement(entry, &settlement, now)
        })
    }

    fn settle(
        &self,
        entry: EntryId,
        // Only one server writes a file, and it gives each number once, so the entry's number is
        // enough.
        _key: AuthorizationKey,
        receipt: StoredReceipt,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send {
        self.submit("settle", move |store| store.settle(entry, &receipt, now))
    }

    fn release(
        &self,
        entry: EntryId,
        reason: &str,
        spent: Spent,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send {
        let reason = reason.to_owned();
        self.submit("release", move |store| {
            store.release(entry, &reason, spent, now)
        })
    }

    fn mark_unknown(
        &self,
        entry: EntryId,
        transaction: Option<String>,
        cause: &str,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send {
        let cause = cause.to_owned();
        self.submit("mark_unknown", move |store| {
            store.mark_unknown(entry, transaction.as_deref(), &cause, now)
        })
    }

    fn mark_undecidable(
        &self,
        entry: EntryId,
        cause: &str,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send {
        let cause = cause.to_owned();
        self.submit("mark_undecidable", move |store| {
            store.mark_undecidable(entry, &cause, now)
        })
    }

    fn resolve(
        &self,
        entry: EntryId,
        resolution: Resolution,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send {
        self.submit("resolve", move |store| {
            store.resolve(entry, &resolution, now)
        })
    }

    async fn undecided(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, LedgerError> {
        let operation =
            move |store: &mut super::Store<'_>| store.list(State::Unknown, after, limit);
        self.submit("undecided", operation).await
    }

    async fn undecidable(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, LedgerError> {
        let operation =
            move |store: &mut super::Store<'_>| store.list(State::Undecidable, after, limit);
        self.submit("undecidable", operation).await
    }

    async fn open_counts(&self) -> Result<OpenCounts, LedgerError> {
        self.submit("open_counts", |store| store.open_counts())
            .await
    }

    fn credit(&self, payer: Address) -> impl Future<Output = Result<u64, LedgerError>> + Send {
        self.submit("credit", move |store| store.credit(payer))
    }

    fn paid(&self, payer: Address) -> impl Future<Output = Result<u64, LedgerError>> + Send {
        self.submit("paid", move |store| store.paid(payer))
    }

    fn debit(
        &self,
        payer: Address,
        spent: Spent,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send {
        self.submit("debit", move |store| store.debit(payer, spent, now))
    }

    fn missing(&self, now: u64) -> impl Future<Output = Result<Missing, LedgerError>> + Send {
        self.submit("missing", move |store| store.missing(now))
    }

    async fn recover(&self, now: u64) -> Result<Recovery, LedgerError> {
        let sweep = Sweep::everything(Recovery::CAUSE, now);
        let recovery = self.sweep("recover", sweep, 0, |_| true).await?;
        if recovery != Recovery::default() {
            tracing::warn!(
                released = recovery.released,
                unknown = recovery.unknown,
                "the previous run left payments open"
            );
        }
        Ok(recovery)
    }

    async fn abandon(
        &self,
        owned: Vec<EntryId>,
        untouched_since: u64,
        now: u64,
    ) -> Result<Recovery, LedgerError> {
        let sweep = Sweep::untouched("abandoned", owned, untouched_since, now);
        let first = self.abandon_after.load(Ordering::Relaxed);
        let mut left = ABANDON_BATCHES;
        let go_on = |next: Option<i64>| {
            self.abandon_after
                .store(next.unwrap_or(0), Ordering::Relaxed);
            left = left.saturating_sub(1);
            left > 0
        };
        self.sweep("abandon", sweep, first, go_on).await
    }

    async fn prune(&self, now: u64) -> Result<Pruned, LedgerError> {
        self.submit("prune", move |store| store.prune(now)).await
    }

    async fn probe(&self) -> Result<(), LedgerError> {
        self.submit("probe", |store| store.probe()).await
    }

    fn size_bytes(&self) -> Result<u64, LedgerError> {
        Ok(sqlite::size_bytes(&self.path)?)
    }
}
