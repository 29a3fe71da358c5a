//! Payments of the chain's buyer.

use alloy_primitives::{B256, U256, hex};
use dev_chain::{BUYER, PAYEE};
use rand::RngCore as _;
use secp256k1::{Message, Secp256k1, SecretKey};
use x402_wire::{Asset, Authorization, MicroUsd, Network, Payment, PaymentPayload, Terms};

use crate::BenchError;

pub(super) fn terms() -> Terms {
    Terms {
        network: Network::evm(196),
        pay_to: PAYEE.address,
        max_timeout_seconds: 300,
        assets: Asset::chain_196().to_vec(),
    }
}

/// A payment of the chain's buyer, with its own nonce.
pub(super) fn payment() -> Result<Payment, BenchError> {
    let unusable = || BenchError::Answer { what: "payment" };
    let terms = terms();
    let offer = terms.offer(MicroUsd::dollars("0.001"));
    let requirements = offer.options().next().ok_or_else(unusable)?;
    let mut nonce = B256::ZERO;
    rand::rng().fill_bytes(nonce.as_mut_slice());
    let authorization = Authorization {
        from: BUYER.address,
        to: PAYEE.address,
        value: requirements.amount,
        valid_after: U256::ZERO,
        valid_before: U256::from(u64::MAX / 2),
        nonce,
    };
    let digest = authorization.digest(requirements.domain_separator());
    let key = SecretKey::from_byte_array(BUYER.key.0)?;
    let signed = Secp256k1::new().sign_ecdsa_recoverable(Message::from_digest(digest.0), &key);
    let (id, compact) = signed.serialize_compact();
    let v = u8::try_from(i32::from(id)).unwrap_or_default();
    let signature = hex::encode_prefixed([&compact[..], &[v.saturating_add(27)]].concat());
    let payload = serde_json::json!({
        "x402Version": 2,
        "accepted": serde_json::from_str::<serde_json::Value>(&requirements.to_json())?,
        "payload": { "signature": signature, "authorization": authorization },
    });
    let payload =
        PaymentPayload::from_json(payload.to_string().as_bytes()).map_err(|_| unusable())?;
    Payment::matching(&offer, payload).map_err(|_| unusable())
}
