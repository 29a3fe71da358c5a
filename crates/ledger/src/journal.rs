//! [`Journal`], the port to a durable journal of payments. The port depends on no storage, except
//! for the [`Condition`] of a database.

use alloy_primitives::{Address, U256};
use storage::postgres::Condition;
use x402_wire::AuthorizationKey;

use crate::{
    answer::{PendingSettlement, StoredReceipt},
    claim::{Claim, RequestBinding},
    error::LedgerError,
    purchase::Repeated,
    spending::{Missing, Spent},
    state::EntryId,
    status::{PaymentRecord, PaymentStatus, Reservation},
};

/// A durable journal of payments.
///
/// After `Ok`, the effect of an operation survives a crash and a loss of power; only [`start_work`]
/// makes no such promise. Every move of an entry is one conditional write: it starts from an
/// allowed state ([`Transition::from`]), or fails with [`LedgerError::WrongState`].
///
/// Dropping a future does not cancel its operation. So a server must run a paid call, including its
/// claim, in a task of its own, and call [`abandon`] from time to time to close the entries of
/// orphaned calls.
///
/// Times are Unix seconds, and the caller gives them. The time of an entry never runs backwards: a
/// time before its last change counts as the time of that change.
///
/// # Credit
///
/// Settled payments earn their payer credit, in micro-USD. [`settle`] and [`resolve`] add the
/// amount of the entry, once for each entry and up to a cap. [`release`] subtracts the cost of the
/// call. Both are part of the entry's move.
///
/// Callers without credit pay from a pool that they share, or from the share of their address. The
/// journal stores the deficit of both, which shrinks with time at the rates of the options.
///
/// [`start_work`]: Journal::start_work
/// [`abandon`]: Journal::abandon
/// [`settle`]: Journal::settle
/// [`release`]: Journal::release
/// [`resolve`]: Journal::resolve
/// [`Transition::from`]: crate::Transition::from
pub trait Journal: Send + Sync + 'static {
    /// Claims an authorization for one request, before any work begins.
    ///
    /// Of all claims of one authorization exactly one is [`Reserved`](Reservation::Reserved), until
    /// that one is released. After a settlement attempt, only the same request can reserve it
    /// again, because work with an effect may have been done for that request.
    ///
    /// A `payment_id` that the payer has already used with another authorization gives
    /// [`IdentifierTaken`](PaymentStatus::IdentifierTaken) for another request, and
    /// [`Occupied`](PaymentStatus::Occupied) for the same one, unless the other one was released.
    ///
    /// A claim that counts as a purchase ([`Purchase`](crate::Purchase)) and has no identifier
    /// takes the place of its payer and request. While another authorization has the place, the
    /// claim is [`Occupied`](PaymentStatus::Occupied): until that one is released, or settled and
    /// [delivered](Self::mark_delivered). An action counts for
    /// [`again_seconds`](crate::Options::again_seconds) from its settlement in any case, and a
    /// purchase that was not delivered no longer than that.
    ///
    /// A claim includes the look-up of [`find`](Self::find), so callers need not call both.
    fn reserve(
        &self,
        claim: Claim,
    ) -> impl Future<Output = Result<Reservation, LedgerError>> + Send;

    /// Returns the status that another purchase of the payer gives to a claim:
    /// [`Occupied`](PaymentStatus::Occupied) or
    /// [`IdentifierTaken`](PaymentStatus::IdentifierTaken). `None` when there is none. Writes
    /// nothing.
    fn occupant(
        &self,
        claim: Claim,
    ) -> impl Future<Output = Result<Option<PaymentStatus>, LedgerError>> + Send;

    /// Lets an entry that was reserved as [`Unproven`](crate::Purchase::Unproven) count as the
    /// purchase of `claim`, before its work begins, because its payer is proven now. It takes the
    /// identifier or the place. The result is as of [`reserve`](Self::reserve); when it is
    /// [`Known`](Reservation::Known), the caller must release the entry.
    fn prove(
        &self,
        entry: EntryId,
        claim: Claim,
    ) -> impl Future<Output = Result<Reservation, LedgerError>> + Send;

    /// Returns the answer of the settled purchase `first` for another authorization of the same
    /// payer and request, which is then never settled: it is remembered as a repetition, and
    /// [`find`](Self::find) gives it the same answer.
    ///
    /// The caller must have proven that the payer signed the authorization.
    fn repeat(
        &self,
        claim: Claim,
        first: EntryId,
    ) -> impl Future<Output = Result<Repeated, LedgerError>> + Send;

    /// Marks that the answer of an entry was written whole to a connection. The purchase loses its
    /// place then, unless it is an action.
    ///
    /// Nobody waits for the mark. It is written soon, with other writes, as a rule within a second.
    /// Every later claim at this server finds it. A crash may lose it.
    fn mark_delivered(&self, entry: EntryId);

    /// Returns the status of an authorization for a request, without a claim. `None` when it can be
    /// reserved. Ignores payment identifiers.
    ///
    /// It is for checks that must first know whether a payment is new. It is also for payments
    /// whose validity has ended, because their payer still gets the stored answer.
    fn find(
        &self,
        key: &AuthorizationKey,
        request: &RequestBinding,
        now: u64,
    ) -> impl Future<Output = Result<Option<PaymentStatus>, LedgerError>> + Send;

    /// Returns the public record of an authorization. `None` when the journal has no entry of it.
    /// Writes nothing.
    fn look_up(
        &self,
        key: &AuthorizationKey,
    ) -> impl Future<Output = Result<Option<PaymentRecord>, LedgerError>> + Send;

    /// Marks the start of the work.
    ///
    /// Nobody waits for the mark, and a later write makes it durable. An entry whose mark is lost
    /// is still [`State::Reserved`], and a restart releases both in the same way.
    ///
    /// [`State::Reserved`]: crate::State::Reserved
    fn start_work(&self, entry: EntryId);

    /// Stores the answer. A server must call it before the settlement request.
    fn begin_settlement(
        &self,
        entry: EntryId,
        settlement: PendingSettlement,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Records that the payment was charged, before the answer is sent. The payer earns the entry's
    /// amount as credit.
    ///
    /// A charge is a fact, whichever server has the entry. Only the server with the receipt can
    /// record the charge, so it need not have the entry. `key` is the charged authorization. On a
    /// shared journal, an entry of another authorization is [`LedgerError::NoSuchEntry`].
    fn settle(
        &self,
        entry: EntryId,
        key: AuthorizationKey,
        receipt: StoredReceipt,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Records that nothing was charged, deletes the stored answer, and subtracts `spent`. The
    /// authorization may then be reserved again: by any request, or only by the same one if a
    /// settlement was attempted.
    ///
    /// The caller must be certain of it. A settlement without a verdict needs
    /// [`mark_unknown`](Self::mark_unknown) instead.
    fn release(
        &self,
        entry: EntryId,
        reason: &str,
        spent: Spent,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Records that the settlement ended without a verdict, with the transaction if it is known. An
    /// entry that is already unknown gets the new transaction and cause, and keeps its time.
    fn mark_unknown(
        &self,
        entry: EntryId,
        transaction: Option<String>,
        cause: &str,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Records that no server can find out the result of an unknown entry any more. The entry keeps
    /// all its data and waits for the operator. [`undecided`](Self::undecided) does not list it, it
    /// is never pruned, and only [`resolve`](Self::resolve) moves it.
    fn mark_undecidable(
        &self,
        entry: EntryId,
        cause: &str,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Decides an undecidable entry as the operator says. A released one is retired if its
    /// settlement was attempted ([`retire`](Self::retire)): nobody knows who has its authorization.
    fn resolve(
        &self,
        entry: EntryId,
        resolution: Resolution,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Lists at most `limit` unknown entries after `after` (from the beginning when `None`), oldest
    /// first, with the data that a reconciler needs.
    fn undecided(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Undecided>, LedgerError>> + Send;

    /// Lists at most `limit` undecidable entries after `after` (from the beginning when `None`),
    /// oldest first.
    fn undecidable(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Undecided>, LedgerError>> + Send;

    /// Counts the entries without a decision, for metrics. Reads only indexes.
    fn open_counts(&self) -> impl Future<Output = Result<OpenCounts, LedgerError>> + Send;

    /// Returns the credit of a payer in micro-USD.
    fn credit(&self, payer: Address) -> impl Future<Output = Result<u64, LedgerError>> + Send;

    /// Returns the sum of a payer's settled payments in micro-USD, including deleted entries. The
    /// sum never falls. Payments that were settled before the journal kept this sum count with the
    /// payer's credit at the time of the upgrade.
    fn paid(&self, payer: Address) -> impl Future<Output = Result<u64, LedgerError>> + Send;

    /// Subtracts the cost of a payer's work when no release does so.
    fn debit(
        &self,
        payer: Address,
        spent: Spent,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Returns the deficits of the pool of newcomers and of the shares of addresses.
    fn missing(&self, now: u64) -> impl Future<Output = Result<Missing, LedgerError>> + Send;

    /// Closes the entries that the previous run of this server left in flight. A server must call
    /// it at its start, before the first claim. Entries before settlement are released, and entries
    /// in settlement become unknown.
    fn recover(&self, now: u64) -> impl Future<Output = Result<Recovery, LedgerError>> + Send;

    /// Closes entries in flight as [`recover`](Self::recover) does, if they have not changed since
    /// `untouched_since` and are not in `owned`.
    ///
    /// It is for orphaned calls, whose task has ended (a panic, a full disk) and does not move the
    /// entry any more. `owned` is a snapshot of the entries that have a live task in this server,
    /// taken before the call. The sweep never closes these, whatever their age. An entry that is
    /// claimed after the snapshot is not in it. So `untouched_since` must be earlier than the
    /// snapshot by more than the time between a claim and its place in `owned`.
    ///
    /// Closing the entry of a live call by mistake loses nothing. Before settlement, its next move
    /// is refused and nothing is charged. In settlement, `settle` is still allowed from unknown.
    ///
    /// One call examines a bounded number of entries, in batches between which payments proceed.
    /// The next call continues where it stopped, so a large backlog takes several calls.
    fn abandon(
        &self,
        owned: Vec<EntryId>,
        untouched_since: u64,
        now: u64,
    ) -> impl Future<Output = Result<Recovery, LedgerError>> + Send;

    /// Prunes the next small batch of entries. Deletes the answers past their retention, and the
    /// whole entries whose authorization has expired and whose own retention is over. Entries
    /// without a decision stay, whatever their age.
    ///
    /// The caller should repeat it while [`Pruned::more`] is true. Such a run examines a part of a
    /// large journal, and the next run continues where it stopped.
    fn prune(&self, now: u64) -> impl Future<Output = Result<Pruned, LedgerError>> + Send;

    /// Checks that a durable write works, for readiness.
    fn probe(&self) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Returns the size of the journal on disk in bytes, including its log, for metrics.
    ///
    /// # Errors
    ///
    /// [`LedgerError::CannotOpen`] when the size cannot be read.
    fn size_bytes(&self) -> Result<u64, LedgerError>;

    /// Returns the number under which this server holds entries now. A server with another number
    /// than the one that reserved an entry has lost that entry, even if it owns it again, because
    /// others may have sent its payment meanwhile. A journal for one server has only one number.
    fn owner(&self) -> i64 {
        0
    }

    /// Returns the condition that an entry is still reserved by the server whose number was
    /// `owner`.
    ///
    /// Some work continues without its call, or has an effect that cannot be undone. Another
    /// component of the same database begins such work only under this condition. So nothing begins
    /// for an entry that another server has released, however long the call was suspended.
    ///
    /// `None` for a journal of one server, because only the call itself releases its entry.
    fn reservation(&self, entry: EntryId, owner: i64) -> Option<Condition> {
        let _ = (entry, owner);
        None
    }

    /// Retires the authorization of a released entry. No request can reserve it again, and its
    /// status is [`Retired`](PaymentStatus::Retired). Returns `false` when it was reserved again
    /// meanwhile, or when others may have seen it in a settlement.
    ///
    /// With `is_refused`, the only party that could settle the authorization has refused it for
    /// good, so it is also retired after a settlement attempt.
    ///
    /// A server must call this before it asks a payer to sign a new payment while the current one
    /// could still be settled. A copy of the current one may arrive later, at this server or
    /// another one.
    fn retire(
        &self,
        entry: EntryId,
        is_refused: bool,
    ) -> impl Future<Output = Result<bool, LedgerError>> + Send;

    /// Ends the lease after this server's last move, so that other servers need not wait for its
    /// end.
    fn close(&self) -> impl Future<Output = Result<(), LedgerError>> + Send {
        async { Ok(()) }
    }
}

/// The operator's decision about an undecidable entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The payment was charged. The payer gets the stored answer with this receipt, and earns the
    /// amount as credit.
    Settled(StoredReceipt),
    /// The payment was not charged.
    Released {
        /// The operator's reason.
        reason: String,
    },
}

/// An entry whose settlement has no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// The entry.
    pub entry: EntryId,
    /// The exact JSON text of the payment.
    pub payload_json: String,
    /// The payment requirements that the payment matched, as JSON text.
    pub requirements_json: String,
    /// The transaction, if one is known.
    pub transaction: Option<String>,
    /// When the entry became unknown or undecidable, in Unix seconds.
    pub since: u64,
    /// Why there is no verdict.
    pub cause: Option<String>,
    /// The amount, in the asset's smallest unit.
    pub amount: U256,
    /// The payer.
    pub payer: Address,
    /// The method of the paid request.
    pub method: String,
    /// The path of that request, without the query.
    pub path: String,
}

/// The numbers of entries without a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenCounts {
    /// Entries that are reserved, working or settling.
    pub in_flight: u64,
    /// Entries that a reconciler has to decide.
    pub unknown: u64,
    /// Entries that the operator has to decide.
    pub undecidable: u64,
    /// When the oldest unknown entry became unknown, in Unix seconds.
    pub oldest_unknown: Option<u64>,
}

/// How many entries in flight were closed, by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Entries that were released, because nothing was charged.
    pub released: u64,
    /// Entries that became unknown, because they may have been charged.
    pub unknown: u64,
}

impl Recovery {
    /// The cause of the entries that [`Journal::recover`] closes.
    pub const CAUSE: &'static str = "restart";
}

/// The result of one batch of pruning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Deleted entries.
    pub entries: u64,
    /// Remaining entries whose answer was deleted.
    pub answers: u64,
    /// When the batch ended a round over all entries: how many of them stay without end, because
    /// their authorization never ends.
    pub endless: Option<u64>,
    /// Whether the run continues with the next call.
    pub more: bool,
}
