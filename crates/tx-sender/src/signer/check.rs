//! Checks every answer of a signer.

use std::time::Duration;

use alloy_consensus::crypto::SECP256K1N_HALF;
use alloy_consensus::{Transaction, TxEnvelope, Typed2718};
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, B256, Bytes};

use super::{TransactionSigner, Unsigned};
use crate::{Fees, SignError};

/// A signed transaction that equals the requested one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The hash.
    pub hash: B256,
    /// The signed bytes.
    pub raw: Bytes,
}

/// Gets a transaction signed for the signer's account. Waits for at most `patience`. Accepts only
/// an answer that passes [`check`].
///
/// # Errors
/// What is wrong with the answer. [`SignError::Unavailable`] when none came in time.
pub async fn signed(
    signer: &dyn TransactionSigner,
    asked: &Unsigned,
    patience: Duration,
) -> Result<Checked, SignError> {
    let answer = tokio::time::timeout(patience, signer.sign(asked)).await;
    let raw = answer.unwrap_or(Err(SignError::Unavailable))?;
    check(&raw, asked, signer.account())
}

/// Parses a signer's answer, and compares every field with the request. The signature must be the
/// account's, with the lower `s` (EIP-2).
///
/// # Errors
/// What is wrong with the answer.
pub fn check(raw: &Bytes, asked: &Unsigned, account: Address) -> Result<Checked, SignError> {
    let signed = TxEnvelope::decode_2718_exact(raw).map_err(|_| SignError::Malformed)?;
    let (kind, max, tip) = match asked.fees {
        Fees::Dynamic { max, tip } => (2, max, Some(tip)),
        Fees::Legacy { price } => (0, price, None),
    };
    let fields = [
        ("type", signed.ty() == kind),
        ("chain id", signed.chain_id() == Some(asked.chain_id)),
        ("nonce", signed.nonce() == asked.nonce),
        ("recipient", signed.to() == Some(asked.to)),
        ("value", signed.value() == asked.value),
        ("calldata", *signed.input() == asked.input),
        ("gas limit", signed.gas_limit() == asked.gas_limit),
        ("fee", signed.max_fee_per_gas() == max),
        ("priority fee", signed.max_priority_fee_per_gas() == tip),
        (
            "access list",
            signed.access_list().is_none_or(|list| list.is_empty()),
        ),
        ("authorization list", signed.authorization_list().is_none()),
    ];
    if let Some((member, _)) = fields.into_iter().find(|(_, same)| !same) {
        return Err(SignError::OtherField { member });
    }
    let signature = signed.signature();
    if signature.s() > SECP256K1N_HALF {
        return Err(SignError::HighS);
    }
    let observed = signature
        .recover_address_from_prehash(&signed.signature_hash())
        .map_err(|_| SignError::Malformed)?;
    if observed != account {
        return Err(SignError::OtherAccount {
            expected: account,
            observed,
        });
    }
    // The bytes are built from the request and this signature, whatever else the answer contains.
    let rebuilt = asked.with_signature(*signature);
    if rebuilt != *raw {
        return Err(SignError::OtherField { member: "encoding" });
    }
    Ok(Checked {
        hash: *signed.tx_hash(),
        raw: rebuilt,
    })
}
