//! The keys under which the sender of transactions knows those of a plan. One key stands for one
//! nonce at most.

use delegation_fence::{Admitted, Event, Transaction};

/// What coins are given for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The steps. Nothing is given for them any more when the plan is over.
    Steps,
    /// The clearing of the allowance after a halt. It has no end: the allowance stays until it is
    /// cleared.
    Clearing,
}

/// The key of a transaction of a plan. Each time when it turned out that it was never signed, and
/// never will be, the next one has another key: the one before is dead.
pub(crate) fn of(admitted: &Admitted, transaction: Transaction, events: &[Event]) -> String {
    let unsent = events
        .iter()
        .filter(|event| **event == Event::Unsent(transaction))
        .count();
    format!("fence/{}/{transaction}/{unsent}", admitted.payload_digest)
}

/// The key of a transfer that pays for a plan's gas; those that pay for the clearing after a halt
/// have keys of their own.
pub(crate) fn top_up(admitted: &Admitted, purpose: Purpose, number: u8) -> String {
    let digest = admitted.payload_digest;
    match purpose {
        Purpose::Steps => format!("fence/{digest}/gas/{number}"),
        Purpose::Clearing => format!("fence/{digest}/gas/clear/{number}"),
    }
}
