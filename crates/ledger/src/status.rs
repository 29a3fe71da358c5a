//! The status of a payment: for its request, and for anyone who asks.

use x402_wire::AuthorizationKey;

use crate::{
    answer::StoredAnswer,
    state::{EntryId, State},
};

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// The authorization is reserved for this claim.
    Reserved(EntryId),
    /// The authorization is not reserved: the payment has this status.
    Known(PaymentStatus),
}

/// The status of a payment that cannot be reserved, for the request that it came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaymentStatus {
    /// A call for the same payment and request is in progress.
    InFlight {
        /// Its entry.
        entry: EntryId,
        /// Its state: reserved, working or settling.
        state: State,
    },
    /// It was charged, and this is its answer.
    Answered(StoredAnswer),
    /// The authorization belongs to another request, or came with another signature or payment
    /// identifier before.
    BoundElsewhere,
    /// The payer has used the payment identifier with another authorization that was not released.
    IdentifierTaken {
        /// The transaction of the other authorization if it is settled; empty when its scheme had
        /// none.
        transaction: Option<String>,
        /// The other authorization while its payment is stored: from its settlement until its
        /// answer is deleted.
        key: Option<AuthorizationKey>,
        /// Whether the other request had the same method, path, query and body. `false` also for
        /// entries that an older version of the journal has written.
        same_request: bool,
    },
    /// A reconciler has to find out whether it was charged.
    Unknown {
        /// Its entry.
        entry: EntryId,
        /// The transaction, if one is known.
        transaction: Option<String>,
    },
    /// The operator has to decide whether it was charged.
    Undecidable {
        /// Its entry.
        entry: EntryId,
        /// The transaction, if one is known.
        transaction: Option<String>,
    },
    /// It was refused and nothing was charged; its payer was told to sign a new payment.
    Retired {
        /// The reason why it was refused.
        reason: String,
    },
    /// It was charged and answered, and the retention of the answer is over.
    AnswerExpired {
        /// The transaction of its receipt; empty when its scheme had none.
        transaction: String,
    },
}

/// The record of an authorization that anyone may read. It says nothing about the request or the
/// answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentRecord {
    /// Its newest entry.
    pub entry: EntryId,
    /// The state of the entry.
    pub state: State,
    /// When the entry came into that state, in Unix seconds. The start of the work
    /// ([`State::Working`]) changes no time.
    pub since: u64,
    /// The transaction: that of the receipt when the entry is settled, the last known one when it
    /// is unknown or undecidable.
    pub transaction: Option<String>,
    /// The reason why the entry is released, unknown or undecidable.
    pub reason: Option<String>,
    /// Whether the authorization may have left this server in a settlement request, for this entry
    /// or an earlier one. Others can then execute it until it expires, even after a release.
    /// `false` also for entries that an older version of the journal has released.
    pub attempted: bool,
}
