//! The keys of a plan's transactions at the sender. One key uses at most one nonce.

use delegation_fence::{Admitted, Event, Transaction};

/// The purpose of a top-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The steps. They get no top-up after the end of the plan.
    Steps,
    /// The clearing of the allowance after a halt, and the closing of a step's nonce. It has no
    /// deadline, because the allowance stays until it is cleared.
    Clearing,
}

impl Purpose {
    /// The purpose of a top-up for this transaction.
    pub(crate) const fn of(transaction: Transaction) -> Self {
        match transaction {
            Transaction::Step(_) | Transaction::Swap => Self::Steps,
            Transaction::Clear(_) => Self::Clearing,
        }
    }
}

/// The key of a transaction of a plan. Each time the transaction turned out never to have been
/// signed, the next attempt gets a new key. The old key can send nothing any more.
pub(crate) fn of(admitted: &Admitted, transaction: Transaction, events: &[Event]) -> String {
    let unsent = events
        .iter()
        .filter(|event| **event == Event::Unsent(transaction))
        .count();
    format!("fence/{}/{transaction}/{unsent}", admitted.payload_digest)
}

/// The key of a top-up for a plan's gas. Top-ups for the clearing after a halt have their own keys.
pub(crate) fn top_up(admitted: &Admitted, purpose: Purpose, number: u8) -> String {
    let digest = admitted.payload_digest;
    match purpose {
        Purpose::Steps => format!("fence/{digest}/gas/{number}"),
        Purpose::Clearing => format!("fence/{digest}/gas/clear/{number}"),
    }
}
