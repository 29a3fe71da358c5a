//! Assets that differ from the configuration.

use alloy_primitives::{Address, B256};
use thiserror::Error;
use x402_wire::Network;

/// How an asset on the chain differs from the configuration. Signatures under the configured name
/// and version would fail there, or pay with something else.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AssetFault {
    /// `DOMAIN_SEPARATOR()` is not the one of the configured name and version (EIP-712).
    #[error(
        "asset {asset} is not `{name}` version `{version}`: expected the domain separator {expected}, \
         observed {observed}"
    )]
    AssetMismatch {
        /// The token.
        asset: Address,
        /// The configured EIP-712 name.
        name: String,
        /// The configured EIP-712 version.
        version: String,
        /// The separator that the configuration gives.
        expected: B256,
        /// The separator that the token states.
        observed: B256,
    },
    /// The address has no contract.
    #[error("asset {asset} (`{name}`) has no code on {network}")]
    NoCode {
        /// The configured address.
        asset: Address,
        /// The configured EIP-712 name.
        name: String,
        /// The network that was searched.
        network: Network,
    },
    /// The contract has no `DOMAIN_SEPARATOR()`, so it cannot implement EIP-3009.
    #[error(
        "asset {asset} (`{name}`) has no DOMAIN_SEPARATOR(): it does not take EIP-3009 payments"
    )]
    NoSeparator {
        /// The token.
        asset: Address,
        /// The configured EIP-712 name.
        name: String,
    },
}

impl AssetFault {
    /// Returns a stable code for logs and scripts.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::AssetMismatch { .. } => "asset_mismatch",
            Self::NoCode { .. } => "asset_without_code",
            Self::NoSeparator { .. } => "asset_without_domain_separator",
        }
    }
}
