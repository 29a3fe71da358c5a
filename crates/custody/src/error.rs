//! The errors of custody, for all providers. After an error that leaves the outcome open, the same
//! request may be repeated.

use std::io;

use alloy_primitives::Address;
use keystore::KeystoreError;
use thiserror::Error;

use crate::{ExportRefusal, Owner, PolicyRefusal};

/// The reason why custody could not do its work. No path, secret or key is repeated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CustodyError {
    /// The existing wallets were made under another secret.
    #[error("the operator's secret does not open the wallets that are there")]
    WrongSecret,
    /// The secret is empty.
    #[error("the operator's secret is empty")]
    EmptySecret,
    /// Other users than the owner may read or write a file or folder with keys.
    #[error("{what} has mode {observed:o}, expected {expected:o}")]
    Permissions {
        /// The folder, or the owner of the file.
        what: String,
        /// The required mode.
        expected: u32,
        /// The observed mode.
        observed: u32,
    },
    /// The folder or a file cannot be read or written.
    #[error("cannot {doing}: {kind}")]
    Io {
        /// The attempted operation.
        doing: &'static str,
        /// The reason.
        kind: io::ErrorKind,
    },
    /// A wallet's file is unusable. Its owner gets no other wallet and no other address.
    #[error("the wallet's file {file} {fault}")]
    File {
        /// The name of the file.
        file: String,
        /// What is wrong with it.
        fault: FileFault,
    },
    /// The folder that wallets are written into holds another wallet of an owner.
    #[error("the folder holds another wallet of {owner}: expected {expected}, observed {observed}")]
    AnotherWallet {
        /// The owner of the wallet.
        owner: Owner,
        /// The owner's wallet.
        expected: Address,
        /// The wallet in the folder.
        observed: Address,
    },
    /// The wallet in a file that is to be taken over belongs to another owner here.
    #[error("the wallet {address} in {file} is the wallet of {owner} here")]
    AddressTaken {
        /// The name of the file.
        file: String,
        /// The wallet.
        address: Address,
        /// Its owner.
        owner: Owner,
    },
    /// The folder has no wallets, and some are recorded.
    #[error("the folder of the wallets is empty, and {recorded} of its wallets are recorded")]
    FolderEmpty {
        /// How many are recorded.
        recorded: usize,
    },
    /// The records of wallets cannot be read or written. The same request may be repeated.
    #[error("the records of wallets cannot be used: {code}")]
    Records {
        /// The code of the store's error.
        code: &'static str,
    },
    /// No wallet has this address.
    #[error("no wallet has the address {0}")]
    UnknownWallet(Address),
    /// A key could not be created.
    #[error(transparent)]
    Key(KeystoreError),
    /// The typed data cannot be hashed.
    #[error("the typed data is malformed")]
    TypedData,
    /// The policy refuses to sign this.
    #[error("the policy refuses: {0}")]
    Refused(PolicyRefusal),
    /// Another process uses the folder in a way that excludes this one.
    #[error("the folder of the wallets is in use: {by}")]
    FolderInUse {
        /// The other process's use of the folder, as far as it is known.
        by: &'static str,
    },
    /// The wallet was exported to its owner: its key signs nothing here any more.
    #[error("the wallet {0} was exported to its owner and signs nothing any more")]
    Exported(Address),
    /// The request to export a wallet is refused.
    #[error("the export is refused: {0}")]
    Export(ExportRefusal),
    /// The provider did not answer, or fails at present. It may have done the work; a repeated
    /// request gets the same answer.
    #[error("the custody provider is unavailable {doing}: {why}")]
    ProviderUnavailable {
        /// The request.
        doing: &'static str,
        /// The failure.
        why: &'static str,
    },
    /// The provider limits the rate of requests.
    #[error("the custody provider was asked too often {doing}")]
    ProviderBusy {
        /// The request.
        doing: &'static str,
    },
    /// The provider refuses.
    #[error("the custody provider refuses {doing}: {status}")]
    ProviderRefused {
        /// The request.
        doing: &'static str,
        /// Its code. Its message is left out, because it names organisations and users.
        status: String,
    },
    /// People have to approve first, by the provider's own policy.
    #[error("the custody provider waits for approvals {doing}")]
    ApprovalNeeded {
        /// The request.
        doing: &'static str,
    },
    /// The provider's answer differs from the documented form.
    #[error(
        "the custody provider was asked {doing}, and its answer has another form than is documented"
    )]
    ProviderMalformed {
        /// The request.
        doing: &'static str,
    },
    /// The provider's signature is another key's, or covers other data.
    #[error("the signature is of {observed}, expected {expected}")]
    OtherSigner {
        /// The wallet.
        expected: Address,
        /// The signer, if the signature covers the requested data.
        observed: Address,
    },
    /// As many wallets exist as may exist. No other one is made.
    #[error("{most} wallets exist, which is the most, and no further one is made")]
    WalletsFull {
        /// The most wallets.
        most: usize,
    },
    /// As many wallets were made within an hour as may be made. No other one was made.
    #[error("{most} wallets were made within an hour, which is the most")]
    TooManyNewWallets {
        /// The most wallets of an hour.
        most: usize,
        /// Seconds until another one can be made.
        retry_after_seconds: u64,
    },
    /// The work was interrupted. It may or may not be done; a repeated request gets the same
    /// answer.
    #[error("the work was cut off")]
    Interrupted,
}

/// What is wrong with a wallet's file. The fault is its owner's alone.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FileFault {
    /// The file is not the one that was written under this name: it was changed, damaged, renamed
    /// or put in another one's place.
    #[error("was altered: it {how}")]
    Altered {
        /// What shows it.
        how: &'static str,
    },
    /// The file was written under another secret, or in another folder.
    #[error("was written under another secret or in another folder")]
    OfAnotherSecret,
    /// The file has the old form, in which nothing binds the key to its owner.
    #[error("has the old form, which binds no key to its owner")]
    OldForm,
    /// There is no file, although the owner's wallet is recorded.
    #[error("is missing, expected the wallet {expected}")]
    Missing {
        /// The recorded wallet.
        expected: Address,
    },
    /// The file is a good one, but no wallet of its owner is recorded.
    #[error("is unknown: no wallet of its owner is recorded")]
    Unknown,
    /// The file holds another wallet than is expected.
    #[error("holds the wallet {observed}, expected {expected}")]
    AddressDiffers {
        /// The expected wallet.
        expected: Address,
        /// The wallet in the file.
        observed: Address,
    },
}

impl FileFault {
    /// The codes of all faults.
    pub const CODES: [&'static str; 6] = [
        "wallet_file_missing",
        "wallet_file_unknown",
        "wallet_file_altered",
        "wallet_file_of_another_secret",
        "wallet_file_old_form",
        "wallet_address_differs",
    ];

    /// The stable machine-readable name of the fault.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Altered { .. } => "wallet_file_altered",
            Self::OfAnotherSecret => "wallet_file_of_another_secret",
            Self::OldForm => "wallet_file_old_form",
            Self::Missing { .. } => "wallet_file_missing",
            Self::Unknown => "wallet_file_unknown",
            Self::AddressDiffers { .. } => "wallet_address_differs",
        }
    }

    /// The error of the file with this name.
    pub(crate) fn of(self, file: &str) -> CustodyError {
        CustodyError::File {
            file: file.to_owned(),
            fault: self,
        }
    }
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
            Self::File { fault, .. } => fault.code(),
            Self::AnotherWallet { .. } => "wallet_address_differs",
            Self::AddressTaken { .. } => "wallet_address_taken",
            Self::FolderEmpty { .. } => "wallet_folder_empty",
            Self::Records { .. } => "wallet_records_unavailable",
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
            Self::WalletsFull { .. } => "wallets_full",
            Self::TooManyNewWallets { .. } => "too_many_new_wallets",
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
