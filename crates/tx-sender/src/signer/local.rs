//! Signers that sign hashes: a key in this process, and services for which alloy has a client.

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

/// A signer of transactions that is made from a signer of hashes. The signer of hashes signs 32
/// bytes as an Ethereum key does: it is a key in this process, or a service for which alloy has a
/// client.
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
    /// Reads a key of 32 bytes from hexadecimal digits.
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
            // The error of a service may contain data that identifies its account, so it is
            // dropped.
            let signature = signature.map_err(|_| SignError::Unavailable)?;
            // A service may return either of the two possible values of `s`. Both belong to the
            // same signature, so the lower one is taken.
            Ok(unsigned.with_signature(signature.normalized_s()))
        })
    }
}
