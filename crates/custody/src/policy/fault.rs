//! The reason why a list of targets is refused.

use alloy_primitives::{Address, Selector};
use exact::address::AddressFault;
use thiserror::Error;

/// The reason why a list of reviewed targets is refused. It is used as a whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TargetsFault {
    /// The text is not TOML, has an unknown or missing key, or a value of another type.
    #[error("{message}")]
    Malformed {
        /// The reader's message.
        message: String,
    },
    /// The list has no version.
    #[error("version: expected a text that names the list, observed none")]
    VersionEmpty,
    /// A target has chain 0.
    #[error("targets[{index}].chain_id: expected a chain id, observed 0")]
    ChainZero {
        /// The target's index in the file, from 0.
        index: usize,
    },
    /// The text is not an address, or its checksum is wrong.
    #[error("targets[{index}].{key}: {cause}")]
    Address {
        /// The target's index in the file, from 0.
        index: usize,
        /// The key.
        key: &'static str,
        /// The reason.
        cause: AddressFault,
    },
    /// The address is zero.
    #[error("targets[{index}].{key}: expected a contract, observed the zero address")]
    AddressZero {
        /// The target's index in the file, from 0.
        index: usize,
        /// The key.
        key: &'static str,
    },
    /// The text is not a selector. It is not repeated.
    #[error(
        "targets[{index}].selectors: expected 0x and 8 hexadecimal digits, observed another text of {length} characters"
    )]
    SelectorMalformed {
        /// The target's index in the file, from 0.
        index: usize,
        /// The number of the text's characters.
        length: usize,
    },
    /// Two contracts have one product id.
    #[error("targets: expected the product {product_id} once, observed it of two contracts")]
    DuplicateProduct {
        /// The id.
        product_id: String,
    },
    /// A contract appears twice on one chain.
    #[error("targets: expected {contract} of chain {chain_id} once, observed it twice")]
    Duplicate {
        /// The chain.
        chain_id: u64,
        /// The contract.
        contract: Address,
    },
    /// A function appears twice on one target.
    #[error("selectors of {contract}: expected {observed} once, observed it twice")]
    SelectorDuplicate {
        /// The target.
        contract: Address,
        /// The function.
        observed: Selector,
    },
    /// A target has no functions and is not marked as a spender.
    #[error(
        "selectors of {contract}: expected at least one, or spender_only = true, observed none"
    )]
    SelectorsEmpty {
        /// The target.
        contract: Address,
    },
    /// The function is never called with a wallet's key.
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
    /// A target that is only a spender has functions.
    #[error(
        "selectors of {contract}: expected none beside spender_only = true, observed {observed}"
    )]
    SpenderCalled {
        /// The target.
        contract: Address,
        /// The number of functions.
        observed: usize,
    },
    /// The contract has no description.
    #[error("what of {contract}: expected a description of the contract, observed an empty text")]
    WhatEmpty {
        /// The target.
        contract: Address,
    },
    /// A vault has some of its keys without the others.
    #[error(
        "{missing} of {contract}: a vault has product_id, protocol and asset, observed some of them"
    )]
    VaultIncomplete {
        /// The target.
        contract: Address,
        /// The first missing or empty key.
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
