//! A journal in memory with the semantics that [`Journal`] documents. It has no thread: only the
//! order of the calls decides its behaviour.

mod books;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloy_primitives::Address;
use ledger::{
    Claim, EntryId, Journal, LedgerError, Missing, OpenCounts, Options, PaymentRecord,
    PaymentStatus, PendingSettlement, Pruned, Recovery, Repeated, RequestBinding, Reservation,
    Resolution, Spent, State, StoredReceipt, Transition, Undecided,
};
use x402_wire::AuthorizationKey;

use self::books::{Books, Entry};

/// Clones share one journal.
#[derive(Clone)]
pub(super) struct ModelJournal {
    /// The instance of a server that uses the journal.
    instance: Arc<AtomicI64>,
    /// Whether other tasks run during each call.
    takes_turns: bool,
    books: Arc<Mutex<Books>>,
    /// The calls that fail now.
    broken: Arc<Mutex<BTreeSet<&'static str>>>,
    /// A sweep releases this entry right after the next call of this name.
    swept_after: Arc<Mutex<Option<(&'static str, EntryId)>>>,
}

impl ModelJournal {
    /// Makes an empty journal with these options.
    pub(super) fn new(options: Options) -> Self {
        Self {
            instance: Arc::default(),
            takes_turns: false,
            books: Arc::new(Mutex::new(Books::new(options))),
            broken: Arc::default(),
            swept_after: Arc::default(),
        }
    }

    /// Makes an empty journal that lets other tasks run before and after each of its calls takes
    /// effect.
    pub(super) fn taking_turns(options: Options) -> Self {
        Self {
            takes_turns: true,
            ..Self::new(options)
        }
    }

    /// Returns the same journal as another instance uses it.
    pub(super) fn of_instance(&self, instance: i64) -> Self {
        Self {
            instance: Arc::new(instance.into()),
            ..self.clone()
        }
    }

    /// Lets this server continue as another instance, which takes over the open entries that still
    /// belong to it.
    pub(super) fn go_on_as(&self, instance: i64) {
        let before = self.instance.swap(instance, Ordering::SeqCst);
        self.books().take_along(before, instance);
    }

    /// Ends the leases of these instances.
    pub(super) fn expire(&self, instances: &[i64]) {
        self.books().expired.extend(instances);
    }

    /// Makes this call fail from now on, without an effect.
    pub(super) fn break_call(&self, name: &'static str) {
        self.broken.lock().unwrap().insert(name);
    }

    /// Ends all failures.
    pub(super) fn mend(&self) {
        self.broken.lock().unwrap().clear();
    }

    /// Loses the answers of payments in settlement, as a replica that takes over may.
    pub(super) fn lose_answers(&self) {
        self.books().lose_answers();
    }

    /// Releases an entry right after the next call of this name.
    pub(super) fn sweep_after(&self, name: &'static str, entry: EntryId) {
        *self.swept_after.lock().unwrap() = Some((name, entry));
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves an entry, which needs the lease and must belong to this instance.
    async fn own<T>(
        &self,
        transition: Transition,
        entry: EntryId,
        effect: impl FnOnce(&mut Books) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        self.call(transition.as_str(), |books| {
            books.may_move(self.owner(), entry, transition)?;
            effect(books)
        })
        .await
    }

    async fn call<T>(
        &self,
        name: &'static str,
        effect: impl FnOnce(&mut Books) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        if self.takes_turns {
            tokio::task::yield_now().await;
        }
        if self.broken.lock().unwrap().contains(name) {
            return Err(LedgerError::Full);
        }
        let done = effect(&mut self.books());
        let swept = self
            .swept_after
            .lock()
            .unwrap()
            .take_if(|(after, _)| *after == name);
        if let Some((_, entry)) = swept {
            let given_back = self.books().release(entry, Transition::Release, "swept", 0);
            assert!(given_back.is_ok(), "{given_back:?}");
        }
        if self.takes_turns {
            tokio::task::yield_now().await;
        }
        done
    }
}

impl Journal for ModelJournal {
    async fn reserve(&self, claim: Claim) -> Result<Reservation, LedgerError> {
        self.call("reserve", |books| books.reserve(self.owner(), claim))
            .await
    }

    async fn occupant(&self, claim: Claim) -> Result<Option<PaymentStatus>, LedgerError> {
        self.call("occupant", |books| Ok(books.others(&claim).err()))
            .await
    }

    async fn prove(&self, entry: EntryId, claim: Claim) -> Result<Reservation, LedgerError> {
        self.call("prove", |books| books.prove(entry, claim)).await
    }

    async fn repeat(&self, claim: Claim, first: EntryId) -> Result<Repeated, LedgerError> {
        self.call("repeat", |books| Ok(books.repeat(claim, first)))
            .await
    }

    fn mark_delivered(&self, entry: EntryId) {
        self.books().mark_delivered(entry);
    }

    async fn find(
        &self,
        key: &AuthorizationKey,
        request: &RequestBinding,
        _now: u64,
    ) -> Result<Option<PaymentStatus>, LedgerError> {
        self.call("find", |books| Ok(books.find(key, request)))
            .await
    }

    async fn look_up(&self, key: &AuthorizationKey) -> Result<Option<PaymentRecord>, LedgerError> {
        self.call("look_up", |books| Ok(books.record(key))).await
    }

    fn start_work(&self, entry: EntryId) {
        let mut books = self.books();
        // Without an effect when the entry was moved meanwhile.
        let _ = books
            .may_move(self.owner(), entry, Transition::StartWork)
            .and_then(|()| books.advance(entry, Transition::StartWork, 0, |_| ()));
    }

    async fn begin_settlement(
        &self,
        entry: EntryId,
        settlement: PendingSettlement,
        now: u64,
    ) -> Result<(), LedgerError> {
        let begin = |entry: &mut Entry| {
            entry.payment = Some(settlement.payment);
            entry.answer = Some(settlement.answer);
        };
        self.own(Transition::BeginSettlement, entry, |books| {
            books.advance(entry, Transition::BeginSettlement, now, begin)
        })
        .await
    }

    async fn settle(
        &self,
        entry: EntryId,
        key: AuthorizationKey,
        receipt: StoredReceipt,
        now: u64,
    ) -> Result<(), LedgerError> {
        self.own(Transition::Settle, entry, |books| {
            books.must_be(entry, &key)?;
            books.end_charged(entry, Transition::Settle, receipt, now)
        })
        .await
    }

    async fn release(
        &self,
        entry: EntryId,
        reason: &str,
        spent: Spent,
        now: u64,
    ) -> Result<(), LedgerError> {
        self.own(Transition::Release, entry, |books| {
            let payer = books.release(entry, Transition::Release, reason, now)?;
            books.spend(payer, spent, now);
            Ok(())
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
        let mark = |entry: &mut Entry| {
            entry.transaction = transaction.or(entry.transaction.take());
            entry.cause = Some(cause.to_owned());
        };
        self.own(Transition::MarkUnknown, entry, |books| {
            books.advance(entry, Transition::MarkUnknown, now, mark)
        })
        .await
    }

    async fn mark_undecidable(
        &self,
        entry: EntryId,
        cause: &str,
        now: u64,
    ) -> Result<(), LedgerError> {
        let mark = |entry: &mut Entry| entry.cause = Some(cause.to_owned());
        self.own(Transition::MarkUndecidable, entry, |books| {
            books.advance(entry, Transition::MarkUndecidable, now, mark)
        })
        .await
    }

    async fn resolve(
        &self,
        entry: EntryId,
        resolution: Resolution,
        now: u64,
    ) -> Result<(), LedgerError> {
        self.call("resolve", |books| match resolution {
            Resolution::Settled(receipt) => {
                books.end_charged(entry, Transition::ResolveSettled, receipt, now)
            }
            Resolution::Released { reason } => books
                .release(entry, Transition::ResolveReleased, &reason, now)
                .map(drop),
        })
        .await
    }

    async fn undecided(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, LedgerError> {
        self.call("undecided", |books| {
            Ok(books.undecided(self.owner(), after, limit))
        })
        .await
    }

    async fn undecidable(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, LedgerError> {
        self.call("undecidable", |books| {
            Ok(books.list(State::Undecidable, after, limit))
        })
        .await
    }

    async fn open_counts(&self) -> Result<OpenCounts, LedgerError> {
        self.call("open_counts", |books| Ok(books.counts())).await
    }

    async fn credit(&self, payer: Address) -> Result<u64, LedgerError> {
        self.call("credit", |books| {
            Ok(books.credit.get(&payer).copied().unwrap_or_default())
        })
        .await
    }

    async fn paid(&self, payer: Address) -> Result<u64, LedgerError> {
        self.call("paid", |books| {
            Ok(books.paid.get(&payer).copied().unwrap_or_default())
        })
        .await
    }

    async fn debit(&self, payer: Address, spent: Spent, now: u64) -> Result<(), LedgerError> {
        self.call("debit", |books| {
            books.spend(payer, spent, now);
            Ok(())
        })
        .await
    }

    async fn missing(&self, now: u64) -> Result<Missing, LedgerError> {
        self.call("missing", |books| Ok(books.missing(now))).await
    }

    async fn recover(&self, now: u64) -> Result<Recovery, LedgerError> {
        self.call("recover", |books| {
            books.close(self.owner(), (&[], u64::MAX), "restart", now)
        })
        .await
    }

    async fn abandon(
        &self,
        owned: Vec<EntryId>,
        untouched_since: u64,
        now: u64,
    ) -> Result<Recovery, LedgerError> {
        self.call("abandon", |books| {
            books.close(self.owner(), (&owned, untouched_since), "abandoned", now)
        })
        .await
    }

    /// Deletes nothing, because no entry gets as old as a journal's retention.
    async fn prune(&self, _now: u64) -> Result<Pruned, LedgerError> {
        self.call("prune", |_| Ok(Pruned::default())).await
    }

    fn owner(&self) -> i64 {
        self.instance.load(Ordering::SeqCst)
    }

    async fn retire(&self, entry: EntryId, is_refused: bool) -> Result<bool, LedgerError> {
        self.call("retire", |books| Ok(books.retire(entry, is_refused)))
            .await
    }

    async fn probe(&self) -> Result<(), LedgerError> {
        Ok(())
    }

    fn size_bytes(&self) -> Result<u64, LedgerError> {
        Ok(0)
    }
}
