//! The journal as a process of the simulation sees it: slow, and sometimes failing.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread::{self, Thread};

use alloy_primitives::Address;
use ledger::{
    Claim, EntryId, Journal, LedgerError, Missing, OpenCounts, PaymentRecord, PaymentStatus,
    PendingSettlement, Pruned, Recovery, Repeated, RequestBinding, Reservation, Resolution, Spent,
    StoredReceipt, Undecided,
};
use x402_wire::AuthorizationKey;

use super::store::Store;
use super::world::{Life, World};

/// A journal whose calls take a while, and may fail, before and after they take effect.
///
/// [`LedgerError`] promises that a failed operation wrote nothing. A disk that fails at the very
/// moment of a commit breaks that promise, so here a call may fail although it wrote.
///
/// A process that is cut off from a database learns at once that the database cannot be reached, or
/// that a connection was lost after its call had taken effect.
pub(super) struct FaultyJournal<S: Store> {
    pub(super) world: Arc<World>,
    pub(super) life: Life,
    pub(super) store: Arc<S>,
    pub(super) member: Arc<S::Member>,
}

impl<S: Store> FaultyJournal<S> {
    fn inner(&self) -> Arc<S::Journal> {
        self.store.journal(&self.member)
    }

    async fn call<T>(
        &self,
        name: &'static str,
        effect: impl Future<Output = Result<T, LedgerError>>,
    ) -> Result<T, LedgerError> {
        self.life.step(&self.world).await;
        if self.life.is_cut_off(&self.world) {
            self.world
                .note(|| format!("journal: {name} cannot be reached"));
            let reason = "cut off".to_owned();
            return Err(LedgerError::Unavailable { reason });
        }
        if self.world.goes_wrong(self.world.rates.journal) {
            self.world.note(|| format!("journal: {name} fails"));
            return Err(LedgerError::Busy);
        }
        // Ends the leases that are over by now.
        drop(self.inner());
        let done = at_once(effect);
        self.life.step(&self.world).await;
        if self.life.is_cut_off(&self.world) {
            let note = || format!("journal: {name} takes effect and is cut off");
            self.world.note(note);
            return Err(LedgerError::Interrupted { operation: name });
        }
        if done.is_ok() && self.world.goes_wrong(self.world.rates.journal) {
            let note = || format!("journal: {name} takes effect and fails");
            self.world.note(note);
            return Err(LedgerError::Full);
        }
        done
    }
}

/// Finishes a call of a journal before anything else happens. The thread of a real journal works
/// meanwhile.
pub(super) fn at_once<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

impl<S: Store> Journal for FaultyJournal<S> {
    async fn reserve(&self, claim: Claim) -> Result<Reservation, LedgerError> {
        let inner = self.inner();
        let effect = async {
            let reserved = inner.reserve(claim).await;
            // A server that learns from this that it has lost its lease renews it at once.
            if reserved == Err(LedgerError::LeaseLost) && self.store.beat(&self.member) {
                self.world.note(|| "server: had lost its lease".to_owned());
            }
            reserved
        };
        self.call("reserve", effect).await
    }

    async fn occupant(&self, claim: Claim) -> Result<Option<PaymentStatus>, LedgerError> {
        let inner = self.inner();
        let effect = async { inner.occupant(claim).await };
        self.call("occupant", effect).await
    }

    async fn prove(&self, entry: EntryId, claim: Claim) -> Result<Reservation, LedgerError> {
        let inner = self.inner();
        let effect = async { inner.prove(entry, claim).await };
        self.call("prove", effect).await
    }

    async fn repeat(&self, claim: Claim, first: EntryId) -> Result<Repeated, LedgerError> {
        let inner = self.inner();
        let effect = async { inner.repeat(claim, first).await };
        self.call("repeat", effect).await
    }

    fn mark_delivered(&self, entry: EntryId) {
        if !self.life.is_over() {
            self.inner().mark_delivered(entry);
        }
    }

    async fn find(
        &self,
        key: &AuthorizationKey,
        request: &RequestBinding,
        now: u64,
    ) -> Result<Option<PaymentStatus>, LedgerError> {
        let inner = self.inner();
        let effect = async { inner.find(key, request, now).await };
        self.call("find", effect).await
    }

    async fn look_up(&self, key: &AuthorizationKey) -> Result<Option<PaymentRecord>, LedgerError> {
        let inner = self.inner();
        let effect = async { inner.look_up(key).await };
        self.call("look_up", effect).await
    }

    fn start_work(&self, entry: EntryId) {
        // The note is not durable: a crash or a failed commit loses it.
        if self.life.is_over() {
            return;
        }
        match self.world.goes_wrong(self.world.rates.journal) {
            true => self.world.note(|| "journal: start_work is lost".to_owned()),
            false => self.inner().start_work(entry),
        }
    }

    async fn begin_settlement(
        &self,
        entry: EntryId,
        settlement: PendingSettlement,
        now: u64,
    ) -> Result<(), LedgerError> {
        let inner = self.inner();
        let effect = async { inner.begin_settlement(entry, settlement, now).await };
        self.call("begin_settlement", effect).await
    }

    async fn settle(
        &self,
        entry: EntryId,
        key: AuthorizationKey,
        receipt: StoredReceipt,
        now: u64,
    ) -> Result<(), LedgerError> {
        let inner = self.inner();
        let effect = async { inner.settle(entry, key, receipt, now).await };
        self.call("settle", effect).await
    }

    async fn release(
        &self,
        entry: EntryId,
        reason: &str,
        spent: Spent,
        now: u64,
    ) -> Result<(), LedgerError> {
        let inner = self.inner();
        // A release uses the number that the server has at its beginning, or does nothing.
        let owner = inner.owner();
        let effect = async {
            match inner.owner() == owner {
                true => inner.release(entry, reason, spent, now).await,
                false => Err(LedgerError::LeaseLost),
            }
        };
        self.call("release", effect).await
    }

    async fn mark_unknown(
        &self,
        entry: EntryId,
        transaction: Option<String>,
        cause: &str,
        now: u64,
    ) -> Result<(), LedgerError> {
        let inner = self.inner();
        let effect = async { inner.mark_unknown(entry, transaction, cause, now).await };
        self.call("mark_unknown", effect).await
    }

    async fn mark_undecidable(
        &self,
        entry: EntryId,
        cause: &str,
        now: u64,
    ) -> Result<(), LedgerError> {
        let inner = self.inner();
        let effect = async { inner.mark_undecidable(entry, cause, now).await };
        self.call("mark_undecidable", effect).await
    }

    async fn resolve(
        &self,
        entry: EntryId,
        resolution: Resolution,
        now: u64,
    ) -> Result<(), LedgerError> {
        let inner = self.inner();
        let effect = async { inner.resolve(entry, resolution, now).await };
        self.call("resolve", effect).await
    }

    async fn undecided(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, LedgerError> {
        let inner = self.inner();
        let effect = async { inner.undecided(after, limit).await };
        self.call("undecided", effect).await
    }

    async fn undecidable(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, LedgerError> {
        let inner = self.inner();
        let effect = async { inner.undecidable(after, limit).await };
        self.call("undecidable", effect).await
    }

    async fn open_counts(&self) -> Result<OpenCounts, LedgerError> {
        let inner = self.inner();
        let effect = async { inner.open_counts().await };
        self.call("open_counts", effect).await
    }

    async fn credit(&self, payer: Address) -> Result<u64, LedgerError> {
        let inner = self.inner();
        let effect = async { inner.credit(payer).await };
        self.call("credit", effect).await
    }

    async fn paid(&self, payer: Address) -> Result<u64, LedgerError> {
        let inner = self.inner();
        let effect = async { inner.paid(payer).await };
        self.call("paid", effect).await
    }

    async fn debit(&self, payer: Address, spent: Spent, now: u64) -> Result<(), LedgerError> {
        let inner = self.inner();
        let effect = async { inner.debit(payer, spent, now).await };
        self.call("debit", effect).await
    }

    async fn missing(&self, now: u64) -> Result<Missing, LedgerError> {
        let inner = self.inner();
        let effect = async { inner.missing(now).await };
        self.call("missing", effect).await
    }

    async fn recover(&self, now: u64) -> Result<Recovery, LedgerError> {
        let inner = self.inner();
        let effect = async { inner.recover(now).await };
        self.call("recover", effect).await
    }

    async fn abandon(
        &self,
        owned: Vec<EntryId>,
        untouched_since: u64,
        now: u64,
    ) -> Result<Recovery, LedgerError> {
        let inner = self.inner();
        let effect = async { inner.abandon(owned, untouched_since, now).await };
        self.call("abandon", effect).await
    }

    async fn prune(&self, now: u64) -> Result<Pruned, LedgerError> {
        let inner = self.inner();
        let effect = async { inner.prune(now).await };
        self.call("prune", effect).await
    }

    fn owner(&self) -> i64 {
        self.inner().owner()
    }

    async fn retire(&self, entry: EntryId, is_refused: bool) -> Result<bool, LedgerError> {
        let inner = self.inner();
        let effect = async { inner.retire(entry, is_refused).await };
        self.call("retire", effect).await
    }

    async fn probe(&self) -> Result<(), LedgerError> {
        let inner = self.inner();
        let effect = async { inner.probe().await };
        self.call("probe", effect).await
    }

    fn size_bytes(&self) -> Result<u64, LedgerError> {
        self.inner().size_bytes()
    }
}
