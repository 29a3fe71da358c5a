//! Signed payments of the tests, and the terms that they pay.

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use dev_chain::{BUYER, PAYEE};
use settlement::Timeouts;
use x402_wire::{
    Asset, Authorization, MicroUsd, Network, Payment, PaymentPayload, PaymentRequirements, Scheme,
    Terms,
};

/// The time of the tests and of the vectors, in Unix seconds.
pub(crate) const NOW: u64 = 1_795_219_200;

pub(crate) const PRICE: u64 = 2_000;

pub(crate) const USDT0: usize = 0;
pub(crate) const USDC: usize = 1;
pub(crate) const USDG: usize = 2;

pub(crate) fn terms() -> Terms {
    Terms {
        network: Network::evm(196),
        pay_to: PAYEE.address,
        max_timeout_seconds: 300,
        assets: Asset::chain_196().to_vec(),
    }
}

/// Returns limits that are long enough for a busy machine, with short times between polls.
pub(crate) fn timeouts() -> Timeouts {
    let long = Duration::from_secs(20);
    Timeouts {
        connect: long,
        verify: long,
        settle: long,
        rpc: long,
        receipt: long,
        poll_budget: long,
        poll_interval: Duration::from_millis(2),
    }
}

/// Returns short limits, for tests in which the other side does not answer.
pub(crate) fn impatient() -> Timeouts {
    let short = Duration::from_millis(80);
    Timeouts {
        verify: short,
        settle: short,
        rpc: short,
        receipt: short,
        poll_budget: short,
        ..timeouts()
    }
}

/// The parts of a payment. `sign` makes the payment.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) asset: usize,
    pub(crate) scheme: Scheme,
    pub(crate) key: B256,
    pub(crate) from: Address,
    pub(crate) valid_after: u64,
    pub(crate) valid_before: u64,
    pub(crate) nonce: B256,
}

impl Draft {
    pub(crate) fn new(asset: usize) -> Self {
        Self {
            asset,
            scheme: Scheme::Exact,
            key: BUYER.key,
            from: BUYER.address,
            valid_after: 0,
            valid_before: NOW + 300,
            nonce: B256::repeat_byte(0x11),
        }
    }

    pub(crate) fn nonce(self, byte: u8) -> Self {
        Self {
            nonce: B256::repeat_byte(byte),
            ..self
        }
    }

    pub(crate) fn requirements(&self) -> PaymentRequirements {
        let terms = terms();
        let offer = terms.offer(MicroUsd::dollars("0.002"));
        let asset = terms.assets[self.asset].address;
        let mut options = offer.options();
        options
            .find(|option| option.asset == asset && option.scheme == self.scheme)
            .unwrap()
            .clone()
    }

    pub(crate) fn authorization(&self) -> Authorization {
        Authorization {
            from: self.from,
            to: PAYEE.address,
            value: U256::from(PRICE),
            valid_after: U256::from(self.valid_after),
            valid_before: U256::from(self.valid_before),
            nonce: self.nonce,
        }
    }

    pub(crate) fn digest(&self) -> B256 {
        self.authorization()
            .digest(self.requirements().domain_separator())
    }

    /// Returns the 65 bytes of the key's signature.
    pub(crate) fn signature(&self) -> Bytes {
        let signer = PrivateKeySigner::from_bytes(&self.key).unwrap();
        signer
            .sign_hash_sync(&self.digest())
            .unwrap()
            .as_bytes()
            .into()
    }

    pub(crate) fn sign(&self) -> Payment {
        self.with_signature(&self.signature())
    }

    pub(crate) fn with_signature(&self, signature: &[u8]) -> Payment {
        self.with_signature_text(&hex::encode_prefixed(signature))
    }

    pub(crate) fn with_signature_text(&self, signature: &str) -> Payment {
        let accepted = self.requirements().to_json();
        let authorization = serde_json::to_string(&self.authorization()).unwrap();
        let json = format!(
            r#"{{"x402Version":2,"accepted":{accepted},"payload":{{"signature":"{signature}","authorization":{authorization}}}}}"#
        );
        let payload = PaymentPayload::from_json(json.as_bytes()).unwrap();
        Payment::matching(&terms().offer(MicroUsd::dollars("0.002")), payload).unwrap()
    }
}

/// Makes a valid payment in an asset.
pub(crate) fn payment(asset: usize) -> Payment {
    Draft::new(asset).sign()
}

/// Makes a payment under `aggr_deferred`, whose signature only the broker can judge.
pub(crate) fn deferred(asset: usize) -> Payment {
    let draft = Draft {
        scheme: Scheme::AggrDeferred,
        ..Draft::new(asset)
    };
    draft.with_signature_text("c2Vzc2lvbiBrZXkgc2lnbmF0dXJl")
}
