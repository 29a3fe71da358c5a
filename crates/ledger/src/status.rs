//! Where a payment stands, as the journal tells it.

use x402_wire::AuthorizationKey;

use crate::{
    answer::StoredAnswer,
    state::{EntryId, State},
};

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// The authorization is the caller's to work for.
    Reserved(EntryId),
    /// It is not: this is where the payment stands.
    Known(PaymentStatus),
}

/// Where a payment stands that cannot be reserved, for the request that it came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaymentStatus {
    /// The same payment for the same request is being worked on.
    InFlight {
        /// Its entry.
        entry: EntryId,
        /// How far it is: reserved, working or settling.
        state: State,
    },
    /// It was charged, and this is the answer that it bought.
    Answered(StoredAnswer),
    /// The authorization belongs to another request, or it came with another signature or payment
    /// identifier before.
    BoundElsewhere,
    /// The payer has used the payment identifier with another authorization, which was not
    /// released.
    IdentifierTaken {
        /// The other authorization's transaction when it is settled. Empty when its scheme has none
        /// at that time.
        transaction: Option<String>,
        /// The other authorization, while the payment is stored: from its settlement on, until its
        /// answer is deleted.
        key: Option<AuthorizationKey>,
        /// Whether the identifier was used for the same method, path, query and body. `false` also
        /// for entries that an older version of the journal has written.
        same_request: bool,
    },
    /// Whether it was charged is not known yet.
    Unknown {
        /// Its entry.
        entry: EntryId,
        /// The transaction, if one is known.
        transaction: Option<String>,
    },
    /// Whether it was charged is left to the operator.
    Undecidable {
        /// Its entry.
        entry: EntryId,
        /// The transaction, if one is known.
        transaction: Option<String>,
    },
    /// It was charged and answered, and the answer is past its retention.
    AnswerExpired {
        /// The transaction of its receipt. Empty when its scheme had none at that time.
        transaction: String,
    },
}

/// Where an authorization stands, whoever asks. It tells nothing of the request and the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentRecord {
    /// Its newest entry.
    pub entry: EntryId,
    /// The state of the entry.
    pub state: State,
    /// When the entry came into that state, Unix seconds. That the work has begun
    /// ([`State::Working`]) is only noted and changes no time.
    pub since: u64,
    /// The transaction: of the receipt when it is settled, the last one that is known when it is
    /// unknown or undecidable.
    pub transaction: Option<String>,
    /// Why it is released, unknown or undecidable.
    pub reason: Option<String>,
    /// Whether a settlement was asked for, or may have been, for this entry or an earlier one of
    /// the authorization: it has left this server, and others can execute it until it expires, even
    /// when it is released. `false` also for what an older version of the journal has released.
    pub attempted: bool,
}
