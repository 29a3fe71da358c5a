//! The reason why an audit is invalid.

use alloy_primitives::B256;
use thiserror::Error;

/// The reason why an audit is invalid. `seq` is the expected number of the record.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AuditError {
    /// It is not a record.
    #[error("record {seq} is malformed")]
    Malformed {
        /// The record.
        seq: u64,
    },
    /// Records are missing, added or moved.
    #[error("record {expected} has the number {observed}")]
    Sequence {
        /// The next number.
        expected: u64,
        /// Its number.
        observed: u64,
    },
    /// It does not follow the record before it.
    #[error("record {seq} does not follow the one before it")]
    Chain {
        /// The record.
        seq: u64,
    },
    /// It was changed.
    #[error("record {seq} has the hash {observed}, and its bytes have {expected}")]
    Hash {
        /// The record.
        seq: u64,
        /// The hash of its bytes.
        expected: B256,
        /// The stated hash.
        observed: B256,
    },
    /// Its inputs do not match the digest.
    #[error("the inputs of record {seq} do not have its digest")]
    Inputs {
        /// The record.
        seq: u64,
    },
    /// Its inputs lead to another decision.
    #[error("the inputs of record {seq} decide otherwise")]
    Decision {
        /// The record.
        seq: u64,
    },
    /// Its inputs have other rules than the creation, or another baseline than the check before it
    /// left.
    #[error("the inputs of record {seq} do not continue those before")]
    Continuity {
        /// The record.
        seq: u64,
    },
    /// The clock ran backwards.
    #[error("record {seq} is older than the one before it")]
    Time {
        /// The record.
        seq: u64,
    },
    /// The check before it did not ask for the move, or the move breaks the rules, or it ends
    /// another move.
    #[error("record {seq} is about a move that is impossible there")]
    Move {
        /// The record.
        seq: u64,
    },
    /// The first record is not a creation, a later one is, or a record follows the end.
    #[error("record {seq} is impossible at its place")]
    Order {
        /// The record.
        seq: u64,
    },
}

impl AuditError {
    /// The stable machine-readable name of the error.
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
