//! The port to the holder of the wallets' keys.
//!
//! A [`Custody`] keeps one wallet for each owner for ever. It decides what its keys sign; its
//! callers decide when.

use std::pin::Pin;

use alloy_dyn_abi::TypedData;
use alloy_primitives::{Address, B256, Signature};
use tx_sender::Unsigned;

use crate::{CustodyError, Owner, Purpose};

/// A pending answer of a custody provider.
pub type CustodyFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, CustodyError>> + Send + 'a>>;

/// A wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wallet {
    /// Its owner.
    pub owner: Owner,
    /// Its address, the same on every EVM chain.
    pub address: Address,
    /// When it was created, in Unix seconds, if that is known.
    pub created_at: Option<u64>,
    /// The holder of its key.
    pub provider: Provider,
    /// Whether its key was exported to its owner. The owner keeps this address for ever, but the
    /// key signs nothing here any more.
    pub exported: bool,
}

/// The holder of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Provider {
    /// This process, in encrypted files.
    Local,
    /// Turnkey, in its enclaves.
    Turnkey,
}

impl Provider {
    /// The word in the configuration and in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Turnkey => "turnkey",
        }
    }

    /// Whether keys never leave a trusted execution environment.
    #[must_use]
    pub const fn is_trusted_environment(self) -> bool {
        match self {
            Self::Local => false,
            Self::Turnkey => true,
        }
    }

    /// The place of the keys, in words.
    #[must_use]
    pub const fn holds(self) -> &'static str {
        match self {
            Self::Local => "in this process, not in a trusted execution environment",
            Self::Turnkey => "in Turnkey's enclaves, which are trusted execution environments",
        }
    }
}

/// A provider's statement about a wallet's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attestation {
    /// The wallet.
    pub wallet: Wallet,
    /// The statement, in a sentence.
    pub statement: String,
    /// Evidence for a party that does not trust this process; `local` has none.
    pub evidence: Option<Vec<u8>>,
}

/// The complete subject of a signature: a key signs nothing that its provider has not seen.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Subject<'a> {
    /// A transaction.
    Transaction(&'a Unsigned),
    /// Typed data (EIP-712).
    TypedData(&'a TypedData),
}

impl Subject<'_> {
    /// The hash that a signature covers.
    ///
    /// # Errors
    /// [`CustodyError::TypedData`].
    pub fn hash(&self) -> Result<B256, CustodyError> {
        match self {
            Self::Transaction(unsigned) => Ok(unsigned.signature_hash()),
            Self::TypedData(typed_data) => typed_data
                .eip712_signing_hash()
                .map_err(|_| CustodyError::TypedData),
        }
    }
}

/// Holds one wallet for each owner, and signs with it.
pub trait Custody: Send + Sync + 'static {
    /// The owner's wallet, created now if there is none. An owner has the same wallet for ever, and
    /// no other owner has it. When an error leaves open whether one was created, asking again
    /// tells.
    fn get_or_create(&self, owner: Owner) -> CustodyFuture<'_, Wallet>;

    /// The owner's wallet, if there is one.
    fn find(&self, owner: Owner) -> CustodyFuture<'_, Option<Wallet>>;

    /// The wallet with this address, if there is one. Any caller's question may lead here, so it
    /// opens no key.
    fn wallet_at(&self, address: Address) -> CustodyFuture<'_, Option<Wallet>>;

    /// Signs with the wallet's key. A key has no other use, so an implementation decides here what
    /// may be signed, and for which purpose. An exported wallet signs nothing
    /// ([`CustodyError::Exported`]).
    fn sign<'a>(
        &'a self,
        wallet: Address,
        subject: Subject<'a>,
        purpose: Purpose,
    ) -> CustodyFuture<'a, Signature>;

    /// The provider's statement about the owner's wallet.
    fn attest(&self, owner: Owner) -> CustodyFuture<'_, Option<Attestation>>;
}
