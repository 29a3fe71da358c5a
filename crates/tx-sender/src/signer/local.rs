//! A key in this process.

use alloy_primitives::{Address, Bytes};
use alloy_signer::Signer;
use alloy_signer_local::PrivateKeySigner;
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use super::{SignFuture, TransactionSigner, Unsigned};
use crate::SignError;

/// The text is no private key. It is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("expected a private key of 32 bytes as hexadecimal digits")]
pub struct InvalidKey;

/// A signer that signs 32 bytes as an Ethereum key does: a key in the process, and the services for
/// which alloy has a client.
#[derive(Debug, Clone)]
pub struct HashSigner<S>(S);

/// A private key in this process.
pub type LocalKey = HashSigner<PrivateKeySigner>;

impl<S> HashSigner<S> {
    /// Makes a signer of transactions from a signer of hashes.
    #[must_use]
    pub const fn new(signer: S) -> Self {
        Self(signer)
    }
}

impl LocalKey {
    /// The key of 32 bytes, as hexadecimal digits.
    ///
    /// # Errors
    /// [`InvalidKey`].
    pub fn from_hex(key: &SecretString) -> Result<Self, InvalidKey> {
        let key = key.expose_secret().trim();
        key.parse().map(Self).map_err(|_| InvalidKey)
    }
}

impl<S: Signer + Send + Sync + 'static> TransactionSigner for HashSigner<S> {
    fn account(&self) -> Address {
        self.0.address()
    }

    fn sign<'a>(&'a self, unsigned: &'a Unsigned) -> SignFuture<'a, Bytes> {
        Box::pin(async move {
            let signature = self.0.sign_hash(&unsigned.signature_hash()).await;
            // A service's error may contain data that identifies its account.
            let signature = signature.map_err(|_| SignError::Unavailable)?;
            // Services return either of the two possible `s`; the lower one makes the same
            // signature.
            Ok(unsigned.with_signature(signature.normalized_s()))
        })
    }
}
