//! The transactions of an action.

use serde::{Deserialize, Serialize};

/// What a transaction of an action is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Takes the principal from the owner to the wallet, by the owner's signed authorization.
    Principal,
    /// Takes an allowance back before another one is given.
    ApproveReset,
    /// Allows exactly what the call takes.
    Approve,
    /// What the action is about.
    Call,
    /// Takes back what is left of an allowance.
    Clear,
    /// Receives on the destination chain what a bridge has burned.
    Mint,
    /// Sends tokens to the owner.
    Transfer,
}

impl StepKind {
    /// The word in answers and keys.
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
