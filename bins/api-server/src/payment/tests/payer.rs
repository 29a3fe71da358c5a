//! Payers, and the payments that they sign.

use alloy_primitives::{Address, B256, U256, hex};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use serde_json::json;
use x402_wire::{Authorization, PaymentPayload, PaymentRequirements};

/// A payer with a key of its own.
pub(super) struct Payer {
    signer: PrivateKeySigner,
}

/// The terms of a payment, and the window of its authorization.
#[derive(Clone)]
pub(super) struct Order {
    pub(super) option: PaymentRequirements,
    pub(super) nonce: B256,
    /// The end of the window, in Unix seconds.
    pub(super) valid_before: u64,
    pub(super) payment_id: Option<String>,
}

impl Payer {
    /// Makes the payer with this number, which must not be 0.
    pub(super) fn new(number: u8) -> Self {
        Self {
            signer: PrivateKeySigner::from_bytes(&B256::repeat_byte(number)).unwrap(),
        }
    }

    pub(super) fn address(&self) -> Address {
        self.signer.address()
    }

    pub(super) fn sign(&self, order: &Order) -> PaymentPayload {
        let authorization = authorization(self.address(), order);
        let digest = authorization.digest(order.option.domain_separator());
        let signature = self.signer.sign_hash_sync(&digest).unwrap();
        payload(order, &authorization, &signature.as_bytes())
    }
}

/// Makes a payment in the name of any payer, with any signature.
pub(super) fn written(from: Address, order: &Order, signature: &[u8]) -> PaymentPayload {
    payload(order, &authorization(from, order), signature)
}

fn authorization(from: Address, order: &Order) -> Authorization {
    Authorization {
        from,
        to: order.option.pay_to,
        value: order.option.amount,
        valid_after: U256::ZERO,
        valid_before: U256::from(order.valid_before),
        nonce: order.nonce,
    }
}

fn payload(order: &Order, authorization: &Authorization, signature: &[u8]) -> PaymentPayload {
    let mut message = json!({
        "x402Version": 2,
        "accepted": order.option,
        "payload": {
            "signature": hex::encode_prefixed(signature),
            "authorization": authorization,
        },
    });
    if let Some(id) = &order.payment_id {
        message["extensions"] = json!({ "payment-identifier": { "info": { "id": id } } });
    }
    PaymentPayload::from_json(message.to_string().as_bytes()).unwrap()
}
