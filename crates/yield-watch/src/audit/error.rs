//! Why an audit is invalid.

use alloy_primitives::B256;
use thiserror::Error;

/// Why an audit is invalid. `seq` is the number that the invalid record should have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The record has another form.
    #[error("record {seq} is malformed")]
    Malformed {
        /// The record.
        seq: u64,
    },
    /// Records are missing, added or moved.
    #[error("record {expected} has the number {observed}")]
    Sequence {
        /// The expected number.
        expected: u64,
        /// The number that the record states.
        observed: u64,
    },
    /// The record does not contain the hash of the record before it.
    #[error("record {seq} does not follow the one before it")]
    Chain {
        /// The record.
        seq: u64,
    },
    /// The record was changed.
    #[error("record {seq} has the hash {observed}, and its bytes have {expected}")]
    Hash {
        /// The record.
        seq: u64,
        /// The hash of its bytes.
        expected: B256,
        /// The stated hash.
        observed: B256,
    },
    /// The inputs of the record do not match their digest.
    #[error("the inputs of record {seq} do not have its digest")]
    Inputs {
        /// The record.
        seq: u64,
    },
    /// The inputs of the record lead to another decision.
    #[error("the inputs of record {seq} decide otherwise")]
    Decision {
        /// The record.
        seq: u64,
    },
    /// The inputs of the record have other rules than the creation, or another baseline than the
    /// check before it has left.
    #[error("the inputs of record {seq} do not continue those before")]
    Continuity {
        /// The record.
        seq: u64,
    },
    /// The record is older than the one before it.
    #[error("record {seq} is older than the one before it")]
    Time {
        /// The record.
        seq: u64,
    },
    /// The check before did not request this move, or the move breaks the rules, or the record ends
    /// another move.
    #[error("record {seq} is about a move that is impossible there")]
    Move {
        /// The record.
        seq: u64,
    },
    /// The first record is not a creation, a later record is one, or a record follows the end.
    #[error("record {seq} is impossible at its place")]
    Order {
        /// The record.
        seq: u64,
    },
}

impl AuditError {
    /// Returns the stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "audit_malformed",
            Self::Sequence { .. } => "audit_sequence",
            Self::Chain { .. } => "audit_chain",
            Self::Hash { .. } => "audit_hash",
            Self::Inputs { .. } => "audit_inputs",
            Self::Decision { .. } => "audit_decision",
            Self::Continuity { .. } => "audit_continuity",
            Self::Time { .. } => "audit_time",
            Self::Move { .. } => "audit_move",
            Self::Order { .. } => "audit_order",
        }
    }
}
