//! The reason why a wallet is not exported.

use alloy_primitives::Address;
use thiserror::Error;

/// The reason why a request to export a wallet is refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExportRefusal {
    /// The document is not a request.
    #[error("the request is malformed: {0}")]
    Malformed(String),
    /// A signature of another length belongs to a contract, and only a chain could judge it
    /// (EIP-1271).
    #[error(
        "expected a signature of 65 bytes, observed {observed}: an owner that is a contract cannot ask for an export"
    )]
    ContractOwner {
        /// The length in bytes.
        observed: usize,
    },
    /// The bytes are not a signature, or not in the one form with the lower `s`.
    #[error("the bytes are not a signature in the canonical form with the lower s")]
    Signature,
    /// Another key than the owner's signed, or the signature covers other data: another brand,
    /// wallet or key.
    #[error("the signature is of {observed}, expected the owner {expected}")]
    OtherSigner {
        /// The owner.
        expected: Address,
        /// The signer, if the signature covers this request.
        observed: Address,
    },
    /// The owner has another wallet.
    #[error("the owner's wallet is {expected}, not {observed}")]
    OtherWallet {
        /// The owner's wallet.
        expected: Address,
        /// The requested wallet.
        observed: Address,
    },
    /// It was signed in the future.
    #[error("the request was issued at {issued_at}, and it is {now} now")]
    IssuedLater {
        /// The time, in Unix seconds.
        issued_at: u64,
        /// Now.
        now: u64,
    },
    /// It is older than a week.
    #[error("the request was issued at {issued_at}, more than a week before {now}")]
    Expired {
        /// The time, in Unix seconds.
        issued_at: u64,
        /// Now.
        now: u64,
    },
    /// The public key cannot be encrypted to.
    #[error("the public key is not a usable X25519 key")]
    PublicKey,
}

impl ExportRefusal {
    /// The stable machine-readable name of the refusal.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "wallet_export_malformed",
            Self::ContractOwner { .. } => "wallet_export_contract_owner",
            Self::Signature => "wallet_export_signature",
            Self::OtherSigner { .. } => "wallet_export_other_signer",
            Self::OtherWallet { .. } => "wallet_export_other_wallet",
            Self::IssuedLater { .. } => "wallet_export_issued_later",
            Self::Expired { .. } => "wallet_export_expired",
            Self::PublicKey => "wallet_export_public_key",
        }
    }
}
