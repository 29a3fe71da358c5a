//! The errors of the sender, and the reasons for which a lane is held.

use alloy_primitives::{Address, U256};
use thiserror::Error;

use crate::{IllegalMove, Lane, NodeFault};

/// Why the sender could not do its work. A call that ends with such an error has sent nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SenderError {
    /// The chain of the lane is not configured.
    #[error("chain {chain_id} is not configured")]
    UnknownChain {
        /// The chain.
        chain_id: u64,
    },
    /// No signer signs for the account of the lane.
    #[error("no signer is configured for account {account}")]
    UnknownAccount {
        /// The account.
        account: Address,
    },
    /// Another request already has this key.
    #[error("the key {key:?} belongs to another request")]
    KeyReused {
        /// The key.
        key: String,
    },
    /// No record has this key.
    #[error("no transaction has the key {key:?}")]
    UnknownKey {
        /// The key.
        key: String,
    },
    /// The transaction is already in a block, or over.
    #[error(transparent)]
    TooLate(#[from] IllegalMove),
    /// The records cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SenderError {
    /// Returns the stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownChain { .. } => "sender_unknown_chain",
            Self::UnknownAccount { .. } => "sender_unknown_account",
            Self::KeyReused { .. } => "sender_key_reused",
            Self::UnknownKey { .. } => "sender_unknown_key",
            Self::TooLate(_) => "sender_too_late",
            Self::Store(error) => error.code(),
        }
    }
}

/// Why the store failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another writer has changed the record since it was read, or another record claims its nonce.
    #[error("the record {key:?} has changed since it was read, or its nonce is taken")]
    Conflict {
        /// The record's key.
        key: String,
    },
    /// Another process has taken the lane since this fence was issued.
    #[error("lane {lane} was taken by another sender")]
    Fenced {
        /// The lane.
        lane: Lane,
    },
    /// Other work has taken the account's turn since this fence was issued.
    #[error("the turn of account {account} has passed to other work")]
    TurnLost {
        /// The account.
        account: Address,
    },
    /// The store cannot be used now. The detail contains no path and no secret.
    #[error("the sender's records cannot be used: {code}")]
    Unavailable {
        /// The store's own code.
        code: &'static str,
    },
}

impl StoreError {
    /// Returns the stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "sender_record_conflict",
            Self::Fenced { .. } => "sender_lane_fenced",
            Self::TurnLost { .. } => "sender_turn_lost",
            Self::Unavailable { .. } => "sender_store_unavailable",
        }
    }
}

/// Why a signer did not sign.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SignError {
    /// The signer did not answer, or not in time. It may have signed nevertheless. Such a signature
    /// is never used.
    #[error("the signer did not answer in time")]
    Unavailable,
    /// The signer refuses.
    #[error("the signer refuses: {message}")]
    Refused {
        /// The signer's message, at most 200 characters of it.
        message: String,
    },
    /// The signer signed another transaction than the requested one. The signature is dropped.
    #[error("the signer has signed another {member}")]
    OtherField {
        /// The first member that differs.
        member: &'static str,
    },
    /// The answer is not a signed transaction.
    #[error("the signer's answer is no signed transaction")]
    Malformed,
    /// The signature has the higher one of the two possible values of `s` (EIP-2).
    #[error("the signature is malleable")]
    HighS,
    /// The signature is of another account, so somebody has exchanged the key.
    #[error("the signature is of account {observed}, expected {expected}")]
    OtherAccount {
        /// The lane's account.
        expected: Address,
        /// The account that made the signature.
        observed: Address,
    },
}

impl SignError {
    /// Returns the stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unavailable => "signer_unavailable",
            Self::Refused { .. } => "signer_refused",
            Self::OtherField { .. } => "signer_other_field",
            Self::Malformed => "signer_malformed",
            Self::HighS => "signer_high_s",
            Self::OtherAccount { .. } => "signer_other_account",
        }
    }
}

/// Why a lane is held. The hold ends by itself when its cause ends.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Hold {
    /// The account cannot pay for the next transaction.
    #[error("account {account} holds {balance} wei and needs {needed}")]
    NoGas {
        /// The account.
        account: Address,
        /// How many wei the pending transactions and the next one need.
        needed: U256,
        /// The account's balance, in wei.
        balance: U256,
    },
    /// The gas price is above the sender's cap.
    #[error("one gas costs {needed} wei, and the cap is {cap}")]
    FeesAboveCap {
        /// The lowest price that would be enough, in wei.
        needed: u128,
        /// The cap, in wei.
        cap: u128,
    },
    /// No node answers.
    #[error("no node can be asked: {0}")]
    Nodes(NodeFault),
    /// Two nodes contradict each other about a block. Neither is believed.
    #[error("the nodes contradict each other about block {number}")]
    Contradiction {
        /// The number of the block.
        number: u64,
    },
    /// A nonce is used, and the nodes show neither a receipt nor the transaction that used it.
    /// Requests behind it continue.
    #[error("nonce {nonce} is used, and the nodes do not show by which transaction")]
    OutcomeUnknown {
        /// The nonce.
        nonce: u64,
    },
    /// Every node refuses the transaction without effect that would close a nonce.
    #[error("the nodes refuse the transaction that is to close nonce {nonce}: {message}")]
    NoopRefused {
        /// The nonce.
        nonce: u64,
        /// The message of a node, at most 200 characters of it.
        message: String,
    },
    /// The signer does not sign.
    #[error(transparent)]
    Signer(SignError),
    /// The records cannot be used.
    #[error(transparent)]
    Store(StoreError),
}

impl Hold {
    /// Returns the stable machine-readable name of the hold.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoGas { .. } => "no_gas",
            Self::FeesAboveCap { .. } => "fees_above_cap",
            Self::Nodes(_) => "nodes_unavailable",
            Self::Contradiction { .. } => "nodes_contradict",
            Self::OutcomeUnknown { .. } => "outcome_unknown",
            Self::NoopRefused { .. } => "noop_refused",
            Self::Signer(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }
}
