//! Why a list of targets is not used.

use addresses::AddressFault;
use alloy_primitives::{Address, Selector};
use thiserror::Error;

/// Why a list of reviewed targets is not used. It is used whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TargetsFault {
    /// No TOML, a key that there is not, a key that is missing, or a value of another kind.
    #[error("{message}")]
    Malformed {
        /// What the reader says.
        message: String,
    },
    /// Nothing names the list.
    #[error("version: expected a text that names the list, observed none")]
    VersionEmpty,
    /// A target of chain 0.
    #[error("targets[{index}].chain_id: expected a chain id, observed 0")]
    ChainZero {
        /// The target's place in the file, from 0.
        index: usize,
    },
    /// A text that is no address, or not the one that was meant.
    #[error("targets[{index}].{key}: {cause}")]
    Address {
        /// The target's place in the file, from 0.
        index: usize,
        /// The key.
        key: &'static str,
        /// Why not.
        cause: AddressFault,
    },
    /// The zero address.
    #[error("targets[{index}].{key}: expected a contract, observed the zero address")]
    AddressZero {
        /// The target's place in the file, from 0.
        index: usize,
        /// The key.
        key: &'static str,
    },
    /// A text that is no selector. It is not repeated.
    #[error(
        "targets[{index}].selectors: expected 0x and 8 hexadecimal digits, observed another text of {length} characters"
    )]
    SelectorMalformed {
        /// The target's place in the file, from 0.
        index: usize,
        /// The text's characters.
        length: usize,
    },
    /// Two contracts with one product id.
    #[error("targets: expected the product {product_id} once, observed it of two contracts")]
    DuplicateProduct {
        /// The id.
        product_id: String,
    },
    /// A contract twice on one chain.
    #[error("targets: expected {contract} of chain {chain_id} once, observed it twice")]
    Duplicate {
        /// The chain.
        chain_id: u64,
        /// The contract.
        contract: Address,
    },
    /// A function twice on one target.
    #[error("selectors of {contract}: expected {observed} once, observed it twice")]
    SelectorDuplicate {
        /// The target.
        contract: Address,
        /// The function.
        observed: Selector,
    },
    /// A target without functions that is not marked as a spender.
    #[error(
        "selectors of {contract}: expected at least one, or spender_only = true, observed none"
    )]
    SelectorsEmpty {
        /// The target.
        contract: Address,
    },
    /// A function that is never called with a wallet's key.
    #[error(
        "selectors of {contract}: {function} ({observed}) cannot be reviewed: its arguments give tokens away unjudged"
    )]
    SelectorNever {
        /// The target.
        contract: Address,
        /// The function.
        observed: Selector,
        /// Its name.
        function: &'static str,
    },
    /// A target that is only to spend has functions.
    #[error(
        "selectors of {contract}: expected none beside spender_only = true, observed {observed}"
    )]
    SpenderCalled {
        /// The target.
        contract: Address,
        /// How many.
        observed: usize,
    },
    /// Nothing says what the contract is.
    #[error("what of {contract}: expected what the contract is, observed an empty text")]
    WhatEmpty {
        /// The target.
        contract: Address,
    },
    /// Some of a vault's keys without the others.
    #[error(
        "{missing} of {contract}: a vault has product_id, protocol and asset, observed some of them"
    )]
    VaultIncomplete {
        /// The target.
        contract: Address,
        /// The first key that is missing or empty.
        missing: &'static str,
    },
}

impl TargetsFault {
    /// The stable machine-readable name of the fault.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "wallet_targets_malformed",
            Self::VersionEmpty => "wallet_targets_version_empty",
            Self::ChainZero { .. } => "wallet_targets_chain_zero",
            Self::Address { .. } => "wallet_targets_address",
            Self::AddressZero { .. } => "wallet_targets_address_zero",
            Self::SelectorMalformed { .. } => "wallet_targets_selector_malformed",
            Self::DuplicateProduct { .. } => "wallet_targets_duplicate_product",
            Self::Duplicate { .. } => "wallet_targets_duplicate",
            Self::SelectorDuplicate { .. } => "wallet_targets_selector_duplicate",
            Self::SelectorsEmpty { .. } => "wallet_targets_selectors_empty",
            Self::SelectorNever { .. } => "wallet_targets_selector_never",
            Self::SpenderCalled { .. } => "wallet_targets_spender_called",
            Self::WhatEmpty { .. } => "wallet_targets_what_empty",
            Self::VaultIncomplete { .. } => "wallet_targets_vault_incomplete",
        }
    }
}
