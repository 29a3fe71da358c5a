//! The errors of setting a chain up or reading it directly.

use std::io;

use alloy_primitives::{Address, Bytes};

/// A refusal of the builder or of a direct read. JSON-RPC errors are answers, not values of this
/// type.
#[derive(Debug, thiserror::Error)]
pub enum DevChainError {
    /// This crate's compiled contract could not be read.
    #[error("contract artifact {contract} is unreadable: {reason}")]
    Artifact {
        /// The contract's name.
        contract: &'static str,
        /// The defect.
        reason: &'static str,
    },
    /// Two contracts were placed at one address.
    #[error("address {address} is taken twice")]
    AddressTaken {
        /// The address in question.
        address: Address,
    },
    /// The code begins like an EIP-7702 delegation but is not one.
    #[error("code for {address} is not valid")]
    InvalidCode {
        /// Its intended address.
        address: Address,
    },
    /// A call that has to succeed failed.
    #[error("call to {contract} failed with output {output}")]
    Call {
        /// The contract that was called.
        contract: Address,
        /// Its output, often an ABI-encoded reason.
        output: Bytes,
    },
    /// The contract's answer does not match the caller's interface.
    #[error("answer of {contract} does not match its interface: {output}")]
    Answer {
        /// The contract that was called.
        contract: Address,
        /// Its output.
        output: Bytes,
    },
    /// The EVM refused to run. No input of this crate should cause that.
    #[error("execution refused: {0}")]
    Execution(#[from] ExecutionError),
    /// The private key is zero or too large.
    #[error("not a private key")]
    Key,
    /// The listening socket could not be opened.
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

/// The reason why the EVM did not run a transaction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecutionError {
    /// The transaction may not be part of a block on this state.
    #[error("{0}")]
    Invalid(revm::context::result::InvalidTransaction),
    /// The EVM itself failed.
    #[error("the EVM failed: {detail}")]
    Internal {
        /// The report of the EVM.
        detail: String,
    },
}
