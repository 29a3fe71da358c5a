//! A small x402 v2 client of the demo: reads the challenge, signs one option, and sends the same
//! request again. A client for real money must compare the offer with a policy of its own; this one
//! pays what is asked.

use std::net::SocketAddr;
use std::time::Duration;

use alloy_primitives::{B256, U256};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use bytes::Bytes;
use dev_chain::DevAccount;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use x402_wire::{
    Authorization, AuthorizationKey, PaymentId, PaymentPayload, PaymentRequired,
    PaymentRequirements, Scheme, SettlementResponse, ascii_json, encode_header, header,
};

/// An error of a paid call of the buyer.
#[derive(Debug, Error)]
pub(crate) enum BuyerError {
    #[error("the server cannot be reached: {0}")]
    Connection(#[from] std::io::Error),
    #[error("the exchange with the server failed: {0}")]
    Http(#[from] hyper::Error),
    #[error("not a request target: {0}")]
    Target(#[from] http::Error),
    #[error("the answer has no readable {0} header")]
    Header(&'static str),
    #[error("the challenge offers no option with scheme exact")]
    NoOption,
    #[error("signing failed")]
    Sign,
}

/// The server's answer.
pub(crate) struct BuyerAnswer {
    pub(crate) status: u16,
    pub(crate) body: Value,
    /// The body as text, to compare two answers.
    pub(crate) text: String,
    pub(crate) challenge: Option<PaymentRequired>,
    pub(crate) receipt: Option<SettlementResponse>,
}

/// A buyer with a key and a server.
pub(crate) struct Buyer {
    signer: PrivateKeySigner,
    account: DevAccount,
    server: SocketAddr,
}

impl Buyer {
    pub(crate) fn new(account: DevAccount, server: SocketAddr) -> Result<Self, BuyerError> {
        let signer = PrivateKeySigner::from_bytes(&account.key).map_err(|_| BuyerError::Sign)?;
        Ok(Self {
            signer,
            account,
            server,
        })
    }

    pub(crate) fn account(&self) -> DevAccount {
        self.account
    }

    pub(crate) fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.server)
    }

    pub(crate) async fn get(
        &self,
        target: &str,
        payment: Option<&str>,
    ) -> Result<BuyerAnswer, BuyerError> {
        let mut request = Request::get(target);
        if let Some(payment) = payment {
            request = request.header(header::PAYMENT_SIGNATURE, payment);
        }
        self.ask(request, String::new()).await
    }

    /// Posts a JSON text.
    pub(crate) async fn post(
        &self,
        target: &str,
        body: String,
        payment: Option<&str>,
    ) -> Result<BuyerAnswer, BuyerError> {
        let request = Request::post(target);
        let mut request = request.header(http::header::CONTENT_TYPE, "application/json");
        if let Some(payment) = payment {
            request = request.header(header::PAYMENT_SIGNATURE, payment);
        }
        self.ask(request, body).await
    }

    /// Sends a paid call, and hangs up as soon as the server has the payment: the answer is lost.
    pub(crate) async fn lose(&self, target: &str, payment: &str) -> Result<(), BuyerError> {
        let payload = PaymentPayload::from_header(payment.as_bytes());
        let key = payload.ok().and_then(|payload| payload.authorization_key());
        let AuthorizationKey {
            asset,
            payer,
            nonce,
            ..
        } = key.ok_or(BuyerError::Sign)?;
        let mut stream = TcpStream::connect(self.server).await?;
        let host = self.server;
        let name = header::PAYMENT_SIGNATURE;
        let head = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n{name}: {payment}\r\n\r\n");
        stream.write_all(head.as_bytes()).await?;
        let state = format!("/payments/{asset}/{payer}/{nonce}");
        let not_seen = Value::from("not_seen");
        while self.get(&state, None).await?.body.get("state") == Some(&not_seen) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    async fn ask(
        &self,
        request: http::request::Builder,
        body: String,
    ) -> Result<BuyerAnswer, BuyerError> {
        let stream = TcpStream::connect(self.server).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let request = request.header(http::header::HOST, self.server.to_string());
        let response = sender
            .send_request(request.body(Full::new(Bytes::from(body)))?)
            .await?;
        let status = response.status().as_u16();
        let challenge = match response.headers().get(header::PAYMENT_REQUIRED) {
            Some(value) => Some(
                PaymentRequired::from_header(value.as_bytes())
                    .map_err(|_| BuyerError::Header("PAYMENT-REQUIRED"))?,
            ),
            None => None,
        };
        let receipt = match response.headers().get(header::PAYMENT_RESPONSE) {
            Some(value) => Some(
                SettlementResponse::from_header(value.as_bytes())
                    .map_err(|_| BuyerError::Header("PAYMENT-RESPONSE"))?,
            ),
            None => None,
        };
        let body = response.into_body().collect().await?.to_bytes();
        let text = String::from_utf8_lossy(&body).into_owned();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Ok(BuyerAnswer {
            status,
            body,
            text,
            challenge,
            receipt,
        })
    }

    /// Signs the first `exact` option of a challenge, valid for the given seconds. Returns the
    /// header value.
    pub(crate) fn sign(
        &self,
        challenge: &PaymentRequired,
        valid_seconds: u64,
    ) -> Result<String, BuyerError> {
        self.sign_named(challenge, valid_seconds, None)
    }

    /// Does the same with a payment identifier.
    pub(crate) fn sign_named(
        &self,
        challenge: &PaymentRequired,
        valid_seconds: u64,
        payment_id: Option<&PaymentId>,
    ) -> Result<String, BuyerError> {
        let option = challenge
            .options()
            .find(|option| option.scheme == Scheme::Exact)
            .ok_or(BuyerError::NoOption)?;
        let mut nonce = B256::ZERO;
        getrandom::fill(nonce.as_mut_slice()).map_err(|_| BuyerError::Sign)?;
        let now = u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default();
        let authorization = Authorization {
            from: self.account.address,
            to: option.pay_to,
            value: option.amount,
            valid_after: U256::ZERO,
            valid_before: U256::from(now.saturating_add(valid_seconds)),
            nonce,
        };
        self.header(challenge, option, &authorization, payment_id)
    }

    fn header(
        &self,
        challenge: &PaymentRequired,
        option: &PaymentRequirements,
        authorization: &Authorization,
        payment_id: Option<&PaymentId>,
    ) -> Result<String, BuyerError> {
        let digest = authorization.digest(option.domain_separator());
        let signature = self
            .signer
            .sign_hash_sync(&digest)
            .map_err(|_| BuyerError::Sign)?;
        let mut payment = json!({
            "x402Version": 2,
            "resource": challenge.resource,
            "accepted": option,
            "payload": {
                "signature": alloy_primitives::hex::encode_prefixed(signature.as_bytes()),
                "authorization": authorization,
            },
        });
        if let (Some(id), Some(members)) = (payment_id, payment.as_object_mut()) {
            let named = json!({ "payment-identifier": { "info": { "id": id } } });
            members.insert("extensions".to_owned(), named);
        }
        // JSON can always be written as JSON.
        Ok(encode_header(&ascii_json(&payment).unwrap_or_default()))
    }
}
