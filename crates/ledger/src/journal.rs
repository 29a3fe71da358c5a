//! The port: what a payment journal does, whatever it is stored in.

use alloy_primitives::{Address, U256};
use x402_wire::AuthorizationKey;

use crate::{
    answer::{PendingSettlement, StoredReceipt},
    claim::{Claim, RequestBinding},
    error::LedgerError,
    spending::{Missing, Spent},
    state::EntryId,
    status::{PaymentRecord, PaymentStatus, Reservation},
};

/// A durable journal of payments.
///
/// When an operation answers `Ok`, its effect survives a crash and a loss of power, except for
/// [`start_work`], which is only noted. Every move of an entry is one conditional write: it happens
/// from an allowed state ([`Transition::from`]) or ends in [`LedgerError::WrongState`].
///
/// Dropping a future does not take its operation back. A server therefore runs a paid call, its
/// claim included, in a task of its own, and calls [`abandon`] from time to time for what a failure
/// has left open.
///
/// Times are Unix seconds and come from the caller. An entry's time never runs backwards: a reading
/// before its last change counts as the time of that change.
///
/// # Credit
///
/// What a payer's settled payments have earned, in micro-USD. [`settle`] and [`resolve`] add the
/// amount of the entry, once for each entry, up to a cap; [`release`] takes what the call has cost.
/// Both happen with the move of the entry or not at all.
///
/// Who has no credit pays from a pool that all such callers share, or from the share of its
/// address. Of both the journal keeps what is missing. It comes back with time, at the rates of the
/// options.
///
/// [`start_work`]: Journal::start_work
/// [`abandon`]: Journal::abandon
/// [`settle`]: Journal::settle
/// [`release`]: Journal::release
/// [`resolve`]: Journal::resolve
/// [`Transition::from`]: crate::Transition::from
pub trait Journal: Send + Sync + 'static {
    /// Claims an authorization for one request, before any work is done for it.
    ///
    /// Of any number of claims of one authorization exactly one is
    /// [`Reserved`](Reservation::Reserved), until it is released. A `payment_id` that the payer has
    /// already used with another authorization is
    /// [`IdentifierTaken`](PaymentStatus::IdentifierTaken), unless that one was released.
    ///
    /// It looks the authorization up as [`find`](Self::find) does: a caller that is ready to claim
    /// need not ask before.
    fn reserve(
        &self,
        claim: Claim,
    ) -> impl Future<Output = Result<Reservation, LedgerError>> + Send;

    /// Where an authorization stands for a request, without claiming it; `None` when it could be
    /// reserved. Payment identifiers are not looked at.
    ///
    /// For whatever must not be answered before it is certain that the payment is new, and for a
    /// payment whose window is over: a stored answer is still its payer's.
    fn find(
        &self,
        key: &AuthorizationKey,
        request: &RequestBinding,
        now: u64,
    ) -> impl Future<Output = Result<Option<PaymentStatus>, LedgerError>> + Send;

    /// Where an authorization stands, whoever asks; `None` when the journal has no entry of it.
    /// Writes nothing.
    fn look_up(
        &self,
        key: &AuthorizationKey,
    ) -> impl Future<Output = Result<Option<PaymentRecord>, LedgerError>> + Send;

    /// Notes that the work has begun.
    ///
    /// Not awaited and durable only with a later write: a lost note reads as [`State::Reserved`],
    /// and a restart releases both alike.
    ///
    /// [`State::Reserved`]: crate::State::Reserved
    fn start_work(&self, entry: EntryId);

    /// Stores the answer, before settlement is asked for.
    fn begin_settlement(
        &self,
        entry: EntryId,
        settlement: PendingSettlement,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Records that the payment was charged, before the answer goes out. The payer earns the
    /// entry's amount as credit.
    fn settle(
        &self,
        entry: EntryId,
        receipt: StoredReceipt,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Records that nothing was charged. The stored answer is dropped and the authorization may be
    /// reserved again, for any request. What was `spent` is taken from whoever pays for it.
    ///
    /// Only for certainty: a settlement without a verdict is [`mark_unknown`](Self::mark_unknown).
    fn release(
        &self,
        entry: EntryId,
        reason: &str,
        spent: Spent,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Records that the settlement ended without a verdict, with the transaction if one is known.
    /// An entry that is already unknown takes a newly learned transaction and cause, and keeps its
    /// age.
    fn mark_unknown(
        &self,
        entry: EntryId,
        transaction: Option<String>,
        cause: &str,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Records of an unknown entry that no server can find out any more what became of it. It stays
    /// for the operator, with all that is stored of it: it is not listed by
    /// [`undecided`](Self::undecided), never pruned, and moved by [`resolve`](Self::resolve) alone.
    fn mark_undecidable(
        &self,
        entry: EntryId,
        cause: &str,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Decides an undecidable entry by the operator's word.
    fn resolve(
        &self,
        entry: EntryId,
        resolution: Resolution,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// At most `limit` unknown entries after `after` (from the beginning when `None`), oldest
    /// first, with all that is needed to find out what became of them.
    fn undecided(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Undecided>, LedgerError>> + Send;

    /// At most `limit` undecidable entries after `after` (from the beginning when `None`), oldest
    /// first.
    fn undecidable(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Undecided>, LedgerError>> + Send;

    /// How many entries are not decided, for metrics. Reads no entry.
    fn open_counts(&self) -> impl Future<Output = Result<OpenCounts, LedgerError>> + Send;

    /// The credit of a payer in micro-USD.
    fn credit(&self, payer: Address) -> impl Future<Output = Result<u64, LedgerError>> + Send;

    /// The sum of a payer's settled payments in micro-USD, those included whose entries are
    /// deleted. Nothing is ever taken from it. For payments that were settled before the journal
    /// kept the sum, it is what they had left of credit at that time.
    fn paid(&self, payer: Address) -> impl Future<Output = Result<u64, LedgerError>> + Send;

    /// Takes what was spent on work for a payer that no release pays for.
    fn debit(
        &self,
        payer: Address,
        spent: Spent,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// What is missing of the newcomers' pool and of the shares of addresses.
    fn missing(&self, now: u64) -> impl Future<Output = Result<Missing, LedgerError>> + Send;

    /// At start-up, before the first claim: decides what this server's previous run left open. What
    /// had not come to settlement is released, what had is unknown.
    fn recover(&self, now: u64) -> impl Future<Output = Result<Recovery, LedgerError>> + Send;

    /// Decides, as [`recover`](Self::recover) does, entries in flight that have not changed since
    /// `untouched_since` and are not in `owned`.
    ///
    /// For entries whose call has died without a word (a panic, a full disk). `owned` is a snapshot
    /// of the entries that have a live task in this server, taken before the call; they are never
    /// touched, however old. An entry that was claimed after the snapshot is not in it:
    /// `untouched_since` must be earlier than the snapshot, and by more than an entry may wait
    /// between its claim and its place in `owned`. An entry that is given up while its call is
    /// alive after all loses nothing: before settlement its next move is refused and nothing is
    /// charged, and after it `settle` is allowed from unknown.
    ///
    /// One call looks at a bounded number of entries, in batches between which others have their
    /// turn, and the next one goes on where it has stopped; so a large backlog takes several.
    fn abandon(
        &self,
        owned: Vec<EntryId>,
        untouched_since: u64,
        now: u64,
    ) -> impl Future<Output = Result<Recovery, LedgerError>> + Send;

    /// Deletes what is no longer needed from the next small batch of entries: answers past their
    /// retention, and whole entries once their authorization has expired as well and nobody needs
    /// to look them up any more. Entries that are not decided stay, however old.
    ///
    /// To be repeated while [`Pruned::more`] says so, again and again: one such run looks at a part
    /// of a large journal, and the next one goes on where it has stopped.
    fn prune(&self, now: u64) -> impl Future<Output = Result<Pruned, LedgerError>> + Send;

    /// Makes sure that a durable write works, for readiness.
    fn probe(&self) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// The bytes that the journal takes on disk, its log included, for metrics.
    ///
    /// # Errors
    ///
    /// [`LedgerError::CannotOpen`] when they cannot be read.
    fn size_bytes(&self) -> Result<u64, LedgerError>;
}

/// What the operator has found out about an undecidable entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It was charged: the stored answer is the payer's, with this receipt, and the payer earns the
    /// amount as credit.
    Settled(StoredReceipt),
    /// Nothing was charged.
    Released {
        /// How the operator knows.
        reason: String,
    },
}

/// A settlement without a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// The entry.
    pub entry: EntryId,
    /// The payment, the exact JSON text that came.
    pub payload_json: String,
    /// The payment requirements that it was matched to, as JSON text.
    pub requirements_json: String,
    /// The transaction, if one is known.
    pub transaction: Option<String>,
    /// Since when it is unknown, or undecidable, Unix seconds.
    pub since: u64,
    /// Why it is.
    pub cause: Option<String>,
    /// The amount, in the asset's smallest unit.
    pub amount: U256,
    /// Who pays.
    pub payer: Address,
    /// The method of the request that it pays for.
    pub method: String,
    /// The path of that request, without the query.
    pub path: String,
}

/// How many entries are not decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenCounts {
    /// Reserved, working or settling.
    pub in_flight: u64,
    /// Settled or not: to be found out.
    pub unknown: u64,
    /// Left to the operator.
    pub undecidable: u64,
    /// Since when the longest unknown entry is unknown, Unix seconds.
    pub oldest_unknown: Option<u64>,
}

/// What became of entries that were left open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// How many were released: nothing had been charged.
    pub released: u64,
    /// How many are unknown now: they may have been charged.
    pub unknown: u64,
}

/// What one batch of pruning removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// How many entries were removed altogether.
    pub entries: u64,
    /// Of how many entries that stay the answer was removed.
    pub answers: u64,
    /// Whether this run goes on with the next call.
    pub more: bool,
}
