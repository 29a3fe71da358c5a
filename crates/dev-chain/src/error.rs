//! What can go wrong while a chain is set up or read directly.

use std::io;

use alloy_primitives::{Address, Bytes};

/// A refusal of the builder or of a direct read. JSON-RPC errors are answers, not values of this
/// type.
#[derive(Debug, thiserror::Error)]
pub enum DevChainError {
    /// The compiled contracts that are part of this crate could not be read.
    #[error("contract artifact {contract} is unreadable: {reason}")]
    Artifact {
        /// The contract's name.
        contract: &'static str,
        /// What the reader found.
        reason: &'static str,
    },
    /// Two things were placed at one address.
    #[error("address {address} is taken twice")]
    AddressTaken {
        /// The address in question.
        address: Address,
    },
    /// Code that starts like an EIP-7702 delegation and is none.
    #[error("code for {address} is not valid")]
    InvalidCode {
        /// Where it was to be placed.
        address: Address,
    },
    /// A call that has to succeed did not.
    #[error("call to {contract} failed with output {output}")]
    Call {
        /// The contract that was called.
        contract: Address,
        /// What it returned, often an ABI-encoded reason.
        output: Bytes,
    },
    /// A contract answered something else than the caller's interface says.
    #[error("answer of {contract} is not what its interface says: {output}")]
    Answer {
        /// The contract that was called.
        contract: Address,
        /// What it returned.
        output: Bytes,
    },
    /// The EVM refused to run at all, which no input of this crate should cause.
    #[error("execution refused: {0}")]
    Execution(#[from] ExecutionError),
    /// A private key that is zero or too large.
    #[error("not a private key")]
    Key,
    /// The listening socket could not be had.
    #[error("cannot listen: {0}")]
    Listen(#[from] io::Error),
}

impl DevChainError {
    /// A stable name for each variant.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Artifact { .. } => "artifact_unreadable",
            Self::AddressTaken { .. } => "address_taken",
            Self::InvalidCode { .. } => "invalid_code",
            Self::Call { .. } => "call_failed",
            Self::Answer { .. } => "answer_malformed",
            Self::Execution(_) => "execution_refused",
            Self::Key => "key_invalid",
            Self::Listen(_) => "listen_failed",
        }
    }
}

/// Why the EVM did not run a transaction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecutionError {
    /// The transaction may not be part of a block on this state.
    #[error("{0}")]
    Invalid(revm::context::result::InvalidTransaction),
    /// The EVM itself failed.
    #[error("the EVM failed: {detail}")]
    Internal {
        /// What the EVM reported.
        detail: String,
    },
}
