//! A buyer for tests. It makes valid payments, and drafts that a test can make invalid.

use alloy_primitives::{Address, B256, U256, hex};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use dev_chain::DevAccount;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use x402_wire::{
    Authorization, PaymentRequired, SettlementResponse, ascii_json, encode_header, header,
};

pub struct Buyer {
    signer: PrivateKeySigner,
    base: String,
    pub client: Client,
}

pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn body(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    /// The code of an error answer, or the reason of a 402.
    pub fn code(&self) -> String {
        let body = self.body();
        let code = body
            .pointer("/refusal/reason")
            .or_else(|| body.pointer("/error/code"));
        code.and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    pub fn challenge(&self) -> PaymentRequired {
        let value = self
            .headers
            .get(header::PAYMENT_REQUIRED)
            .expect("PAYMENT-REQUIRED");
        PaymentRequired::from_header(value.as_bytes()).unwrap()
    }

    pub fn receipt(&self) -> Option<SettlementResponse> {
        let value = self.headers.get(header::PAYMENT_RESPONSE)?;
        Some(SettlementResponse::from_header(value.as_bytes()).unwrap())
    }

    /// The advice in an answer: what the caller should do next with its payment.
    pub fn next(&self) -> Value {
        let body = self.body();
        let next = body.pointer("/refusal/next");
        let next = next.or_else(|| body.pointer("/error/next"));
        next.cloned().unwrap_or_default()
    }

    /// The name of the advised action.
    pub fn action(&self) -> String {
        self.next()["action"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Asserts the status, the code, and that nothing was charged.
    #[track_caller]
    pub fn is_refused(&self, status: u16, code: &str) {
        assert_eq!(
            (self.status, self.code().as_str()),
            (status, code),
            "{}",
            self.text
        );
        let body = self.body();
        let charged = body
            .pointer("/refusal/charged")
            .or_else(|| body.pointer("/error/charged"));
        assert_eq!(charged, Some(&Value::Bool(false)), "{}", self.text);
    }
}

/// A payment as JSON, which a test can change before it is sent.
pub struct Draft {
    pub authorization: Authorization,
    pub option: usize,
    pub challenge: PaymentRequired,
}

impl Buyer {
    pub fn new(account: DevAccount, base: &str) -> Self {
        Self {
            signer: PrivateKeySigner::from_bytes(&account.key).unwrap(),
            base: base.to_owned(),
            client: test_support::http_client(),
        }
    }

    /// A buyer with a new key and no money.
    pub fn stranger(base: &str) -> Self {
        Self {
            signer: PrivateKeySigner::random(),
            base: base.to_owned(),
            client: test_support::http_client(),
        }
    }

    /// Sends requests to the server at `base` from now on.
    pub fn ask(&mut self, base: &str) {
        self.base = base.to_owned();
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    pub fn request(&self, method: Method, target: &str) -> RequestBuilder {
        self.client
            .request(method, format!("{}{target}", self.base))
    }

    pub async fn send(&self, request: RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer {
            status,
            headers,
            text: response.text().await.unwrap(),
        }
    }

    pub async fn get(&self, target: &str) -> Answer {
        self.send(self.request(Method::GET, target)).await
    }

    pub async fn get_paid(&self, target: &str, payment: &str) -> Answer {
        let request = self.request(Method::GET, target);
        self.send(request.header(header::PAYMENT_SIGNATURE, payment))
            .await
    }

    pub async fn post_paid(&self, target: &str, body: &Value, payment: &str) -> Answer {
        let request = self.request(Method::POST, target).body(body.to_string());
        self.send(request.header(header::PAYMENT_SIGNATURE, payment))
            .await
    }

    /// Drafts the payment of a call, without a signature.
    pub async fn draft(&self, method: Method, target: &str) -> Draft {
        let challenge = self.send(self.request(method, target)).await.challenge();
        let option = challenge.options().next().unwrap();
        let now = u64::try_from(jiff::Timestamp::now().as_second()).unwrap();
        let mut nonce = B256::ZERO;
        getrandom::fill(nonce.as_mut_slice()).unwrap();
        let authorization = Authorization {
            from: self.signer.address(),
            to: option.pay_to,
            value: option.amount,
            valid_after: U256::ZERO,
            valid_before: U256::from(now + 300),
            nonce,
        };
        Draft {
            authorization,
            option: 0,
            challenge,
        }
    }

    /// Makes a valid payment header for a call.
    pub async fn payment(&self, target: &str) -> String {
        let draft = self.draft(Method::GET, target).await;
        header_of(&self.signed(&draft))
    }

    /// Signs a draft under the domain of its option. The payment's identifier makes it a purchase
    /// of its own: without one, a second payment for the same request may be a repetition of the
    /// first.
    pub fn signed(&self, draft: &Draft) -> Value {
        let option = draft.challenge.options().nth(draft.option).unwrap();
        let digest = draft.authorization.digest(option.domain_separator());
        let signature = self.signer.sign_hash_sync(&digest).unwrap();
        json!({
            "x402Version": 2,
            "resource": draft.challenge.resource,
            "accepted": option,
            "payload": {
                "signature": hex::encode_prefixed(signature.as_bytes()),
                "authorization": draft.authorization,
            },
            "extensions": { "payment-identifier": {
                "info": { "id": hex::encode(draft.authorization.nonce) },
            } },
        })
    }

    pub fn address(&self) -> Address {
        self.signer.address()
    }
}

pub fn header_of(payment: &Value) -> String {
    encode_header(&ascii_json(payment).unwrap())
}
