//! The port to whoever holds a key, and the check of everything that comes back from it.

mod check;
#[cfg(feature = "keystore")]
mod keystore;
mod local;
#[cfg(feature = "web3signer")]
mod web3signer;

use std::pin::Pin;

use alloy_consensus::{SignableTransaction, Signed, TxEip1559, TxLegacy};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256};

pub use self::check::{Checked, check, signed};
#[cfg(feature = "keystore")]
pub use self::keystore::KeyFileError;
pub use self::local::{HashSigner, InvalidKey, LocalKey};
#[cfg(feature = "web3signer")]
pub use self::web3signer::Web3Signer;
use crate::{Fees, SignError};

/// The answer of a signer.
pub type SignFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, SignError>> + Send + 'a>>;

/// Whoever holds the key of one account.
///
/// A signer that holds the key itself and one that asks a remote service are the same here: what it
/// returns is parsed, compared with the request field by field and recovered to the account
/// ([`signed`]) before it is stored or sent.
pub trait TransactionSigner: Send + Sync + 'static {
    /// The account.
    fn account(&self) -> Address;

    /// The signed transaction's bytes (EIP-2718). Signing leaves no trace outside: bytes that are
    /// not returned are never sent by the signer.
    fn sign<'a>(&'a self, unsigned: &'a Unsigned) -> SignFuture<'a, Bytes>;
}

/// A transaction as it is handed to a signer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsigned {
    /// The chain (EIP-155).
    pub chain_id: u64,
    /// The account's transaction number.
    pub nonce: u64,
    /// Whom it calls.
    pub to: Address,
    /// The coins that it carries, in wei.
    pub value: U256,
    /// Its calldata.
    pub input: Bytes,
    /// The most gas that it may use.
    pub gas_limit: u64,
    /// Its fee fields, which also tell its type.
    pub fees: Fees,
}

impl Unsigned {
    /// What is signed: the hash of the transaction without a signature.
    #[must_use]
    pub fn signature_hash(&self) -> B256 {
        match self.fees {
            Fees::Dynamic { max, tip } => self.dynamic(max, tip).signature_hash(),
            Fees::Legacy { price } => self.legacy(price).signature_hash(),
        }
    }

    /// The signed transaction's bytes.
    #[must_use]
    pub fn with_signature(&self, signature: Signature) -> Bytes {
        match self.fees {
            Fees::Dynamic { max, tip } => encode(self.dynamic(max, tip), signature),
            Fees::Legacy { price } => encode(self.legacy(price), signature),
        }
    }

    fn dynamic(&self, max: u128, tip: u128) -> TxEip1559 {
        TxEip1559 {
            chain_id: self.chain_id,
            nonce: self.nonce,
            gas_limit: self.gas_limit,
            max_fee_per_gas: max,
            max_priority_fee_per_gas: tip,
            to: TxKind::Call(self.to),
            value: self.value,
            access_list: Default::default(),
            input: self.input.clone(),
        }
    }

    fn legacy(&self, price: u128) -> TxLegacy {
        TxLegacy {
            chain_id: Some(self.chain_id),
            nonce: self.nonce,
            gas_price: price,
            gas_limit: self.gas_limit,
            to: TxKind::Call(self.to),
            value: self.value,
            input: self.input.clone(),
        }
    }
}

fn encode<T>(transaction: T, signature: Signature) -> Bytes
where
    T: SignableTransaction<Signature>,
    Signed<T>: Encodable2718,
{
    transaction.into_signed(signature).encoded_2718().into()
}
