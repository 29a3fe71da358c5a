//! The errors of this crate: a configuration that cannot be used, and the causes of outcomes that
//! are unavailable.

mod asset;
mod cause;
mod remote;

use thiserror::Error;
use tx_sender::SenderError;

pub use self::asset::AssetFault;
pub use self::cause::Cause;
pub use self::remote::{Malformation, RemoteCall};
use crate::Mode;

/// Why a settlement cannot be set up. Every variant is a mistake in the configuration. An
/// unreachable service is no error here: it is asked again before the first payment.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettlementError {
    /// The records of our own transactions cannot be read.
    #[error(transparent)]
    Records(Box<SenderError>),
    /// A key that the mode requires is missing.
    #[error("{key} is required when the settlement mode is `{mode}`")]
    Missing {
        /// The configuration key.
        key: &'static str,
        /// The mode that requires it.
        mode: Mode,
    },
    /// The URL is not an absolute `http` or `https` URL. It may hold a key, so it is not repeated.
    #[error(
        "{key}: expected an absolute http or https URL with a host and without query or fragment"
    )]
    Url {
        /// The configuration key.
        key: &'static str,
    },
    /// The text is not a secp256k1 private key.
    #[error("{key}: expected 32 bytes as hexadecimal digits that are a secp256k1 private key")]
    PrivateKey {
        /// The configuration key.
        key: &'static str,
    },
    /// The credential cannot be sent in an HTTP header.
    #[error("{key}: expected visible ASCII characters")]
    Credential {
        /// The configuration key.
        key: &'static str,
    },
    /// The HTTP client could not be built, for example because the machine has no TLS certificates.
    #[error("the HTTP client cannot be set up: {detail}")]
    Client {
        /// The message of the TLS or HTTP library.
        detail: String,
    },
    /// The RPC endpoint serves another chain.
    #[error("settlement.rpc_url: expected chain {expected}, observed {observed}")]
    Chain {
        /// The chain of the payment terms.
        expected: u64,
        /// The chain that the endpoint reports.
        observed: u64,
    },
    /// An asset on the chain differs from the configuration.
    #[error(transparent)]
    Asset(Box<AssetFault>),
}

impl SettlementError {
    /// Returns a stable code for logs and scripts.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Records(error) => error.code(),
            Self::Missing { .. } => "settlement_key_missing",
            Self::Url { .. } => "settlement_url_invalid",
            Self::PrivateKey { .. } => "settlement_private_key_invalid",
            Self::Credential { .. } => "settlement_credential_invalid",
            Self::Client { .. } => "settlement_client_unusable",
            Self::Chain { .. } => "settlement_chain_mismatch",
            Self::Asset(fault) => fault.code(),
        }
    }
}

impl From<AssetFault> for SettlementError {
    fn from(fault: AssetFault) -> Self {
        Self::Asset(Box::new(fault))
    }
}
