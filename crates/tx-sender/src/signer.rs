//! The port to a signer, which holds a key. Every answer of a signer is checked.

mod check;
mod keystore;
mod local;
mod web3signer;

use std::pin::Pin;

use alloy_consensus::{SignableTransaction, Signed, TxEip1559, TxLegacy};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256};

pub use self::check::{Checked, check, signed};
pub use self::keystore::KeyFileError;
pub use self::local::{HashSigner, InvalidKey, LocalKey};
pub use self::web3signer::Web3Signer;
use crate::{Fees, SignError};

/// A pending answer of a signer.
pub type SignFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, SignError>> + Send + 'a>>;

/// The holder of one account's key.
///
/// A signer may hold the key itself or ask a remote service. Its answer is parsed, compared with
/// the request field by field, and recovered to the account ([`signed`]). Only then is it stored or
/// sent.
pub trait TransactionSigner: Send + Sync + 'static {
    /// Returns the account.
    fn account(&self) -> Address;

    /// Returns the bytes of the signed transaction (EIP-2718). The signer itself never sends them,
    /// so bytes that are not returned have no effect.
    fn sign<'a>(&'a self, unsigned: &'a Unsigned) -> SignFuture<'a, Bytes>;
}

/// A transaction that is to be signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsigned {
    /// The chain id (EIP-155).
    pub chain_id: u64,
    /// The nonce of the account.
    pub nonce: u64,
    /// The account that is called.
    pub to: Address,
    /// The native coin that is sent with the call, in wei.
    pub value: U256,
    /// The calldata.
    pub input: Bytes,
    /// The most gas that the transaction may use.
    pub gas_limit: u64,
    /// The fee fields. They also determine the type of the transaction.
    pub fees: Fees,
}

impl Unsigned {
    /// Returns the hash that is signed. It is the hash of the transaction without a signature.
    #[must_use]
    pub fn signature_hash(&self) -> B256 {
        match self.fees {
            Fees::Dynamic { max, tip } => self.dynamic(max, tip).signature_hash(),
            Fees::Legacy { price } => self.legacy(price).signature_hash(),
        }
    }

    /// Returns the bytes of the transaction with this signature.
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
