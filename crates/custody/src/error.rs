//! What can go wrong.

use std::io;

use alloy_primitives::Address;
use keystore::KeystoreError;
use thiserror::Error;

use crate::{ExportRefusal, Owner, PolicyRefusal};

/// Why custody could not do what was asked. No path, no secret and no key is repeated.
#[derive(Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CustodyError {
    /// The wallets that are there were made under another secret.
    #[error("the operator's secret does not open the wallets that are there")]
    WrongSecret,
    /// There is no secret.
    #[error("the operator's secret is empty")]
    EmptySecret,
    /// Others than the owner may read or write what holds keys.
    #[error("{what} has mode {observed:o}, expected {expected:o}")]
    Permissions {
        /// The folder, or whose file it is.
        what: String,
        /// What it should be.
        expected: u32,
        /// What it is.
        observed: u32,
    },
    /// The folder or a file cannot be read or written.
    #[error("cannot {doing}: {kind}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// Why not.
        kind: io::ErrorKind,
    },
    /// A wallet's file cannot be used. No other wallet is made in its place.
    #[error("the wallet of {owner} cannot be opened: {cause}")]
    Damaged {
        /// Whose.
        owner: Owner,
        /// Why.
        cause: KeystoreError,
    },
    /// The file in an owner's place says that it is another one's.
    #[error("the file of {expected} holds the wallet of {observed:?}")]
    OtherOwner {
        /// By the file's name.
        expected: Owner,
        /// By what stands in it.
        observed: String,
    },
    /// The folder that wallets are written into holds another wallet of an owner.
    #[error(
        "the other folder holds another wallet of {owner}: expected {expected}, observed {observed}"
    )]
    AnotherWallet {
        /// Whose.
        owner: Owner,
        /// The owner's wallet.
        expected: Address,
        /// The one that is there.
        observed: Address,
    },
    /// No wallet has this address.
    #[error("no wallet has the address {0}")]
    UnknownWallet(Address),
    /// A key could not be made.
    #[error(transparent)]
    Key(KeystoreError),
    /// The typed data cannot be hashed.
    #[error("the typed data is malformed")]
    TypedData,
    /// The policy does not admit what was to be signed.
    #[error("the policy refuses: {0}")]
    Refused(PolicyRefusal),
    /// Another process works with the folder in a way that excludes this one.
    #[error("the folder of the wallets is in use: {by}")]
    FolderInUse {
        /// What the other process does, as far as that follows.
        by: &'static str,
    },
    /// The wallet was exported to its owner: its key signs nothing here any more.
    #[error("the wallet {0} was exported to its owner and signs nothing any more")]
    Exported(Address),
    /// The request to export a wallet is not granted.
    #[error("the export is refused: {0}")]
    Export(ExportRefusal),
    /// The provider did not answer, or fails at present. It may have done what was asked; asked
    /// again it answers the same.
    #[error("the custody provider cannot be had {doing}: {why}")]
    ProviderUnavailable {
        /// What was asked.
        doing: &'static str,
        /// What came instead of an answer.
        why: &'static str,
    },
    /// The provider limits how often it is asked.
    #[error("the custody provider was asked too often {doing}")]
    ProviderBusy {
        /// What was asked.
        doing: &'static str,
    },
    /// The provider refuses.
    #[error("the custody provider refuses {doing}: {status}")]
    ProviderRefused {
        /// What was asked.
        doing: &'static str,
        /// Its code: never its words, which name organisations and users.
        status: String,
    },
    /// People have to approve first: the provider's own policy demands it.
    #[error("the custody provider waits for approvals {doing}")]
    ApprovalNeeded {
        /// What was asked.
        doing: &'static str,
    },
    /// The provider's answer has another form than is documented.
    #[error(
        "the custody provider was asked {doing}, and its answer has another form than is documented"
    )]
    ProviderMalformed {
        /// What was asked.
        doing: &'static str,
    },
    /// The provider's signature is another key's, or of something else than was shown.
    #[error("the signature is of {observed}, expected {expected}")]
    OtherSigner {
        /// The wallet.
        expected: Address,
        /// Whose the signature is, taken as one of what was shown.
        observed: Address,
    },
    /// The work was cut off. It may or may not have been done; asked again it answers the same.
    #[error("the work was cut off")]
    Interrupted,
}

impl CustodyError {
    /// The stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::WrongSecret => "custody_wrong_secret",
            Self::EmptySecret => "custody_empty_secret",
            Self::Permissions { .. } => "custody_permissions",
            Self::Io { .. } => "custody_io",
            Self::Damaged { .. } => "custody_damaged",
            Self::OtherOwner { .. } => "custody_other_owner",
            Self::AnotherWallet { .. } => "custody_another_wallet",
            Self::UnknownWallet(_) => "custody_unknown_wallet",
            Self::Key(error) => error.code(),
            Self::TypedData => "custody_typed_data",
            Self::Refused(refusal) => refusal.code(),
            Self::FolderInUse { .. } => "custody_folder_in_use",
            Self::Exported(_) => "custody_wallet_exported",
            Self::Export(refusal) => refusal.code(),
            Self::ProviderUnavailable { .. } => "custody_provider_unavailable",
            Self::ProviderBusy { .. } => "custody_provider_busy",
            Self::ProviderRefused { .. } => "custody_provider_refused",
            Self::ApprovalNeeded { .. } => "custody_approval_needed",
            Self::ProviderMalformed { .. } => "custody_provider_malformed",
            Self::OtherSigner { .. } => "custody_other_signer",
            Self::Interrupted => "custody_interrupted",
        }
    }

    pub(crate) fn io(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Io {
            doing,
            kind: error.kind(),
        }
    }
}
