//! The status of a payment: for the request that it came with, and for anyone who asks.

use x402_wire::AuthorizationKey;

use crate::{
    answer::StoredAnswer,
    purchase::Occupant,
    state::{EntryId, State},
};

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// The authorization is reserved for this claim.
    Reserved(EntryId),
    /// The same, although an earlier purchase of the same payer for the same request has become
    /// undecidable. Both may be charged.
    ReservedBeside(EntryId),
    /// The authorization is not reserved: the payment has this status.
    Known(PaymentStatus),
}

/// The status of a payment that cannot be reserved, for the request that it came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaymentStatus {
    /// A call for the same payment and request is in progress.
    InFlight {
        /// The entry of that call.
        entry: EntryId,
        /// The state of the entry: reserved, working or settling.
        state: State,
    },
    /// The payment was charged, and this is its answer.
    Answered(StoredAnswer),
    /// The authorization belongs to another request: it is in use for that one, or a settlement was
    /// attempted for that one. Or it came earlier with another signature or payment identifier.
    BoundElsewhere,
    /// The payer has used the payment identifier for another request, with another authorization
    /// that was not released.
    IdentifierTaken {
        /// The transaction of the other authorization, if it is settled. Empty when its scheme had
        /// none.
        transaction: Option<String>,
        /// The other authorization. `None` for entries of SQLite files before version 10.
        key: Option<AuthorizationKey>,
    },
    /// Another authorization of the payer stands for the same purchase. Only a claim has this
    /// status, and nothing was reserved for it.
    Occupied(Occupant),
    /// A reconciler must find out whether the payment was charged.
    Unknown {
        /// The entry of the payment.
        entry: EntryId,
        /// The transaction, if one is known.
        transaction: Option<String>,
    },
    /// The operator must decide whether the payment was charged.
    Undecidable {
        /// The entry of the payment.
        entry: EntryId,
        /// The transaction, if one is known.
        transaction: Option<String>,
    },
    /// The payment was refused and nothing was charged. Its payer was asked to sign a new payment.
    Retired {
        /// Why it was refused.
        reason: String,
    },
    /// The payment was charged and answered, and the retention of its answer is over.
    AnswerExpired {
        /// The transaction of the receipt. Empty when the scheme had none.
        transaction: String,
    },
}

/// The record of an authorization that anyone may read. It does not show the request or the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentRecord {
    /// The newest entry of the authorization.
    pub entry: EntryId,
    /// The state of the entry.
    pub state: State,
    /// When the entry came into that state, in Unix seconds. The start of the work
    /// ([`State::Working`]) does not change this time.
    pub since: u64,
    /// The transaction: the one of the receipt when the entry is settled, the last known one when
    /// it is unknown or undecidable, the one of the purchase when it is a repetition.
    pub transaction: Option<String>,
    /// Why the entry is released, unknown or undecidable.
    pub reason: Option<String>,
    /// Whether the entry is released because another authorization's answer was given for it.
    pub is_repetition: bool,
    /// Whether the authorization is released and can never be reserved again.
    pub is_retired: bool,
    /// Whether the authorization may have left this server in a settlement request, for this entry
    /// or an earlier one. Others can then execute it until it expires, even after a release. Also
    /// `false` for entries that an older version of the journal has released.
    pub attempted: bool,
}
