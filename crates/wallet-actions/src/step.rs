//! The purposes of an action's transactions.

use serde::{Deserialize, Serialize};

/// The purpose of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Moves the principal from the owner to the wallet, by the owner's signed authorization.
    Principal,
    /// Resets an existing allowance before a new one is given.
    ApproveReset,
    /// Approves exactly the amount that the call takes.
    Approve,
    /// The action's own call.
    Call,
    /// Clears what is left of an allowance.
    Clear,
    /// Mints the burned amount of a bridge on the destination chain.
    Mint,
    /// Sends tokens to the owner.
    Transfer,
}

impl StepKind {
    /// Returns the name that answers and keys use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Principal => "principal",
            Self::ApproveReset => "approve_reset",
            Self::Approve => "approve",
            Self::Call => "call",
            Self::Clear => "clear",
            Self::Mint => "mint",
            Self::Transfer => "transfer",
        }
    }
}
