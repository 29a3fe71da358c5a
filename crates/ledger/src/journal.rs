//! The port: what a payment journal does, whatever it is stored in.

use x402_wire::AuthorizationKey;

use crate::{
    answer::{Settlement, StoredAnswer, StoredReceipt},
    claim::{Claim, RequestBinding},
    error::LedgerError,
    state::{EntryId, State},
};

/// A durable journal of payments.
///
/// When an operation answers `Ok`, its effect survives a crash and a loss of power, except for [`start_work`], which
/// is only noted. Every move of an entry is one conditional write: it happens from an allowed state
/// ([`Transition::from`]) or ends in [`LedgerError::WrongState`].
///
/// Dropping a future does not take its operation back. A server therefore runs a paid call in a task of its own, and
/// calls [`abandon`] from time to time for what a failure has left open.
///
/// Times are Unix seconds and come from the caller.
///
/// [`start_work`]: Journal::start_work
/// [`abandon`]: Journal::abandon
/// [`Transition::from`]: crate::Transition::from
pub trait Journal: Send + Sync + 'static {
    /// Claims an authorization for one request, before any work is done for it.
    ///
    /// Of any number of claims of one authorization exactly one is [`Reserved`](Reservation::Reserved), until it is
    /// released. A `payment_id` that the payer has already used with another authorization is
    /// [`BoundElsewhere`](Standing::BoundElsewhere), unless that one was released.
    fn reserve(
        &self,
        claim: Claim,
    ) -> impl Future<Output = Result<Reservation, LedgerError>> + Send;

    /// Where an authorization stands for a request, without claiming it; `None` when it could be reserved.
    ///
    /// For a payment whose window is over: a stored answer is still its payer's.
    fn find(
        &self,
        key: &AuthorizationKey,
        request: &RequestBinding,
        now: u64,
    ) -> impl Future<Output = Result<Option<Standing>, LedgerError>> + Send;

    /// Notes that the work has begun.
    ///
    /// Not awaited and durable only with a later write: a lost note reads as [`State::Reserved`], and a restart
    /// releases both alike.
    fn start_work(&self, entry: EntryId);

    /// Stores the answer, before settlement is asked for.
    fn begin_settlement(
        &self,
        entry: EntryId,
        settlement: Settlement,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Records that the payment was charged, before the answer goes out.
    fn settle(
        &self,
        entry: EntryId,
        receipt: StoredReceipt,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Records that nothing was charged. The stored answer is dropped and the authorization may be reserved again,
    /// for any request.
    ///
    /// Only for certainty: a settlement without a verdict is [`mark_unknown`](Self::mark_unknown).
    fn release(
        &self,
        entry: EntryId,
        reason: &str,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// Records that the settlement ended without a verdict, with the transaction if one is known. An entry that is
    /// already unknown takes a newly learned transaction and keeps its age.
    fn mark_unknown(
        &self,
        entry: EntryId,
        transaction: Option<String>,
        cause: &str,
        now: u64,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send;

    /// At most `limit` unknown entries after `after` (from the beginning when `None`), oldest first, with all that
    /// is needed to find out what became of them.
    fn undecided(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Undecided>, LedgerError>> + Send;

    /// At start-up, before the first claim: decides what this server's previous run left open. What had not come to
    /// settlement is released, what had is unknown.
    fn recover(&self, now: u64) -> impl Future<Output = Result<Recovery, LedgerError>> + Send;

    /// Decides, as [`recover`](Self::recover) does, every entry that has not changed since `untouched_since`.
    ///
    /// For entries whose call has died without a word (a panic, a full disk). `untouched_since` must be further in
    /// the past than any call can last. A call that is alive after all loses nothing: before settlement its next
    /// move is refused and nothing is charged, and after it `settle` is allowed from unknown.
    fn abandon(
        &self,
        untouched_since: u64,
        now: u64,
    ) -> impl Future<Output = Result<Recovery, LedgerError>> + Send;

    /// Deletes a small batch of what is no longer needed: answers past their retention, and whole entries once their
    /// authorization has expired as well. Open and unknown entries stay, however old.
    ///
    /// To be repeated while [`Pruned::more`] says so.
    fn prune(&self, now: u64) -> impl Future<Output = Result<Pruned, LedgerError>> + Send;

    /// Makes sure that a durable write works, for readiness.
    fn probe(&self) -> impl Future<Output = Result<(), LedgerError>> + Send;
}

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// The authorization is the caller's to work for.
    Reserved(EntryId),
    /// It is not: this is where it stands.
    Standing(Standing),
}

/// Where an authorization stands that cannot be reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The same payment for the same request is being worked on.
    InFlight {
        /// Its entry.
        entry: EntryId,
        /// How far it is: reserved, working or settling.
        state: State,
    },
    /// It was charged, and this is the answer that it bought.
    Answered(StoredAnswer),
    /// The authorization belongs to another request, or its payment identifier to another authorization.
    BoundElsewhere,
    /// Whether it was charged is not known yet.
    Unknown {
        /// Its entry.
        entry: EntryId,
        /// The transaction, if one is known.
        transaction: Option<String>,
    },
    /// It was charged and answered, and the answer is past its retention.
    AnswerExpired,
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
    /// Since when it is unknown, Unix seconds.
    pub since: u64,
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
    /// Whether there may be more to remove right away.
    pub more: bool,
}
