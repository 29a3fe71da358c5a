//! A buyer: reads a challenge, signs one of its options, and keeps the payment.

use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::{Address, B256, U256, hex};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use dev_chain::BUYER;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use x402_wire::{
    Authorization, PaymentRequired, Scheme, SettlementResponse, ascii_json, decode_header,
    encode_header, header,
};

use crate::process::server::Server;

/// How many seconds a payment is valid.
const VALID_SECONDS: u64 = 600;

#[derive(Clone)]
pub(crate) struct Buyer {
    signer: PrivateKeySigner,
    http: reqwest::Client,
}

/// A signed payment and its request.
#[derive(Debug, Clone)]
pub(crate) struct Payment {
    pub(crate) target: String,
    /// The value of `PAYMENT-SIGNATURE`.
    pub(crate) header: String,
    pub(crate) signature: String,
    pub(crate) asset: Address,
    pub(crate) amount: U256,
    pub(crate) nonce: B256,
}

impl Payment {
    /// Removes the payment identifier: another payment for the same request may then be the same
    /// purchase.
    pub(crate) fn unidentified(mut self) -> Self {
        let signed = decode_header(self.header.as_bytes()).unwrap();
        let mut signed: Value = serde_json::from_str(&signed).unwrap();
        signed.as_object_mut().unwrap().remove("extensions");
        self.header = encode_header(&ascii_json(&signed).unwrap());
        self
    }
}

/// A response of the server.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Buyer {
    pub(crate) fn new() -> Self {
        Self::with_key(&BUYER.key)
    }

    /// A buyer with this key. It has no money yet.
    pub(crate) fn with_key(key: &B256) -> Self {
        Self {
            signer: PrivateKeySigner::from_bytes(key).unwrap(),
            http: test_support::http_client(),
        }
    }

    /// A buyer with a new key.
    pub(crate) fn stranger() -> Self {
        Self {
            signer: PrivateKeySigner::random(),
            ..Self::new()
        }
    }

    pub(crate) fn address(&self) -> Address {
        self.signer.address()
    }

    /// Sends a `GET`, with or without a payment; `None` when the server ends before it has
    /// answered.
    pub(crate) async fn try_get(&self, url: &str, payment: Option<&str>) -> Option<Answer> {
        self.try_send(self.http.get(url), payment).await
    }

    /// Sends a `POST`, with or without a payment; `None` when the server ends before it has
    /// answered.
    pub(crate) async fn try_post(
        &self,
        url: &str,
        body: &Value,
        payment: Option<&str>,
    ) -> Option<Answer> {
        let request = self.http.post(url).body(body.to_string());
        self.try_send(request, payment).await
    }

    async fn try_send(
        &self,
        mut request: reqwest::RequestBuilder,
        payment: Option<&str>,
    ) -> Option<Answer> {
        if let Some(payment) = payment {
            request = request.header(header::PAYMENT_SIGNATURE, payment);
        }
        let response = request.send().await.ok()?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Some(Answer {
            status,
            headers,
            text: response.text().await.ok()?,
        })
    }

    pub(crate) async fn get(&self, server: &Server, target: &str) -> Answer {
        self.try_get(&server.url(target), None)
            .await
            .expect("an answer")
    }

    pub(crate) async fn present(&self, server: &Server, payment: &Payment) -> Answer {
        let url = server.url(&payment.target);
        self.try_get(&url, Some(&payment.header))
            .await
            .expect("an answer")
    }

    /// Asks for the challenge of a call and signs its `exact` option in the asset with this number.
    pub(crate) async fn sign(&self, server: &Server, target: &str, asset: usize) -> Payment {
        let unpaid = self.get(server, target).await;
        self.sign_offer(&unpaid, target, asset)
    }

    /// Signs the `exact` option in the asset with this number, from the answer to an unpaid call.
    /// The payment's identifier makes it a purchase of its own, and lets answers about the payer's
    /// own wallet be given again.
    pub(crate) fn sign_offer(&self, unpaid: &Answer, target: &str, asset: usize) -> Payment {
        assert_eq!(unpaid.status, 402, "{}", unpaid.text);
        let challenge = unpaid.headers[header::PAYMENT_REQUIRED].as_bytes();
        let challenge = PaymentRequired::from_header(challenge).unwrap();
        let mut exact = challenge
            .options()
            .filter(|option| option.scheme == Scheme::Exact);
        let option = exact.nth(asset).unwrap();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let mut nonce = B256::ZERO;
        getrandom::fill(nonce.as_mut_slice()).unwrap();
        let authorization = Authorization {
            from: self.signer.address(),
            to: option.pay_to,
            value: option.amount,
            valid_after: U256::ZERO,
            valid_before: U256::from(now + VALID_SECONDS),
            nonce,
        };
        let digest = authorization.digest(option.domain_separator());
        let signature =
            hex::encode_prefixed(self.signer.sign_hash_sync(&digest).unwrap().as_bytes());
        let payment = json!({
            "x402Version": 2,
            "resource": challenge.resource,
            "accepted": option,
            "payload": { "signature": signature, "authorization": authorization },
            "extensions": {
                "payment-identifier": { "info": { "id": format!("mine-{nonce}") } },
            },
        });
        Payment {
            target: target.to_owned(),
            header: encode_header(&ascii_json(&payment).unwrap()),
            signature,
            asset: option.asset,
            amount: option.amount,
            nonce,
        }
    }
}

impl Answer {
    pub(crate) fn body(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    pub(crate) fn error(&self, member: &str) -> Value {
        self.body()["error"][member].clone()
    }

    /// The transaction of the receipt.
    pub(crate) fn transaction(&self) -> String {
        let receipt = self
            .headers
            .get(header::PAYMENT_RESPONSE)
            .expect("a receipt");
        let receipt = SettlementResponse::from_header(receipt.as_bytes()).unwrap();
        assert!(receipt.success, "{receipt:?}");
        receipt.transaction
    }

    /// Asserts that a refusal says that nothing was charged. Some statuses have a state that says
    /// it instead.
    pub(crate) fn assert_uncharged(&self) {
        let body = self.body();
        let refusal = if self.status == 402 {
            &body["refusal"]
        } else {
            &body["error"]
        };
        assert_eq!(refusal["charged"], false, "{} {}", self.status, self.text);
    }
}
