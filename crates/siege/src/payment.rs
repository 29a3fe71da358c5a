//! Payments as buyers and attackers make them: offers, signatures, and wallets.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::{Address, B256, U256, hex, keccak256};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use bench::exchange::{HttpAnswer, PAYMENT_REQUIRED, PAYMENT_SIGNATURE};
use bytes::Bytes;
use http::HeaderValue;
use serde_json::{Value, json};
use x402_wire::{
    Authorization, PaymentRequired, PaymentRequirements, Scheme, ascii_json, encode_header,
};

use crate::SiegeError;
use crate::chance::Chance;
use crate::client::Request;

/// The key that identifies an authorization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The token.
    pub asset: Address,
    /// The payer.
    pub payer: Address,
    /// The nonce.
    pub nonce: B256,
}

impl Key {
    /// Returns the path at which a server states the authorization's state.
    pub fn look_up(&self) -> String {
        format!("/payments/{self}")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.asset, self.payer, self.nonce)
    }
}

/// The offer that a server makes for a call without payment.
#[derive(Debug, Clone)]
pub struct Offer {
    resource: Value,
    options: Vec<PaymentRequirements>,
    deferred: Vec<PaymentRequirements>,
}

impl Offer {
    /// Reads the offer of an unpaid answer. `None` when the answer has none.
    pub fn of(answer: &HttpAnswer) -> Option<Self> {
        let header = answer.headers.get(PAYMENT_REQUIRED)?;
        let challenge = PaymentRequired::from_header(header.as_bytes()).ok()?;
        let (options, deferred) = challenge
            .options()
            .cloned()
            .partition(|option| option.scheme == Scheme::Exact);
        Some(Self {
            resource: serde_json::to_value(challenge.resource).ok()?,
            options,
            deferred,
        })
    }

    /// Returns the same offer with the options that a broker's promise pays.
    #[must_use]
    pub fn deferred(&self) -> Self {
        Self {
            options: self.deferred.clone(),
            ..self.clone()
        }
    }

    /// Whether the offer has no payment option.
    pub fn is_empty(&self) -> bool {
        self.options.is_empty()
    }

    /// Returns the same offer for another query of the same route.
    #[must_use]
    pub fn at(&self, target: &str) -> Self {
        let mut offer = self.clone();
        if let Some(url) = offer.resource.get_mut("url") {
            // The first three parts are `http:`, an empty one, and the host.
            let origin: Vec<_> = url
                .as_str()
                .unwrap_or_default()
                .split('/')
                .take(3)
                .collect();
            *url = format!("{}{target}", origin.join("/")).into();
        }
        offer
    }
}

/// A signed payment, and what it pays for.
#[derive(Debug, Clone)]
pub struct Signed {
    /// The key of its authorization.
    pub key: Key,
    /// The request that it pays for.
    pub target: String,
    /// The body of that request. Empty for a GET.
    body: Bytes,
    payment: Value,
}

impl Signed {
    /// Returns the value of `PAYMENT-SIGNATURE`.
    pub fn header(&self) -> HeaderValue {
        // Writing JSON as JSON cannot fail, and base64 is always a valid header value.
        let text = encode_header(&ascii_json(&self.payment).unwrap_or_default());
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
    }

    /// Returns the request that the payment pays for, with the payment.
    pub fn request(&self) -> Request {
        Request::with_body(&self.target, self.body.clone()).with(PAYMENT_SIGNATURE, self.header())
    }

    /// Returns the payment for a request with this body. Its identifier gets the caller the answer
    /// again.
    #[must_use]
    pub fn of_action(self, body: Bytes) -> Self {
        let id = format!("siege-{}", self.key.nonce);
        Self {
            body,
            ..self.named(&id)
        }
    }

    /// Returns another request, with the payment.
    pub fn request_of(&self, target: &str) -> Request {
        Request::get(target).with(PAYMENT_SIGNATURE, self.header())
    }

    /// Returns the same authorization with other signature bytes.
    #[must_use]
    pub fn under(&self, signature: &[u8]) -> Self {
        self.changed("/payload/signature", hex::encode_prefixed(signature).into())
    }

    /// Returns the payment with a payment identifier.
    #[must_use]
    pub fn named(&self, id: &str) -> Self {
        let extensions = json!({"payment-identifier": {"info": {"required": false, "id": id}}});
        let mut named = self.clone();
        if let Some(payment) = named.payment.as_object_mut() {
            payment.insert("extensions".to_owned(), extensions);
        }
        named
    }

    fn changed(&self, pointer: &str, value: Value) -> Self {
        let mut changed = self.clone();
        if let Some(member) = changed.payment.pointer_mut(pointer) {
            *member = value;
        }
        changed
    }
}

/// The key of a payer, and perhaps a contract that it owns.
#[derive(Debug, Clone)]
pub struct Wallet {
    signer: PrivateKeySigner,
    /// The contract that holds its money, if there is one.
    contract: Option<Address>,
}

impl Wallet {
    /// Draws a wallet.
    ///
    /// # Errors
    /// When the drawn bytes are no key, which does not happen in practice.
    pub fn draw(chance: &mut Chance) -> Result<Self, SiegeError> {
        let signer = PrivateKeySigner::from_bytes(&B256::from(chance.bytes()))?;
        Ok(Self {
            signer,
            contract: None,
        })
    }

    /// Makes the key the owner of a contract wallet. The contract's address is derived from the
    /// owner's address.
    #[must_use]
    pub fn of_contract(self) -> Self {
        let word = keccak256(self.signer.address());
        Self {
            contract: Some(Address::from_word(word)),
            ..self
        }
    }

    /// Returns the contract and its owner. `None` when no contract holds the money.
    pub fn contract(&self) -> Option<(Address, Address)> {
        Some((self.contract?, self.signer.address()))
    }

    /// Returns the key.
    pub fn signer(&self) -> &PrivateKeySigner {
        &self.signer
    }

    /// Returns the address of the payer.
    pub fn address(&self) -> Address {
        self.contract.unwrap_or(self.signer.address())
    }

    /// Signs one of the options of an offer. The payment is valid from now on for this many
    /// seconds. Its random payment identifier makes it a purchase of its own: buyers of the siege
    /// buy the same thing several times at once, and mean it.
    ///
    /// # Errors
    /// When the offer has no option, or the signing fails.
    pub fn sign(
        &self,
        offer: &Offer,
        target: &str,
        valid_seconds: u64,
        chance: &mut Chance,
    ) -> Result<Signed, SiegeError> {
        let payment = self.sign_for(self.address(), offer, target, valid_seconds, chance)?;
        Ok(payment.named(&hex::encode(chance.bytes::<16>())))
    }

    /// Signs in the name of an account that may belong to another key.
    ///
    /// # Errors
    /// The same as [`Self::sign`].
    pub fn sign_for(
        &self,
        payer: Address,
        offer: &Offer,
        target: &str,
        valid_seconds: u64,
        chance: &mut Chance,
    ) -> Result<Signed, SiegeError> {
        let option = chance.pick(&offer.options).ok_or(SiegeError::NotReady {
            what: "an offer",
            observed: "no option with scheme exact".to_owned(),
        })?;
        let authorization = Authorization {
            from: payer,
            to: option.pay_to,
            value: option.amount,
            valid_after: U256::ZERO,
            valid_before: U256::from(now().saturating_add(valid_seconds)),
            nonce: B256::from(chance.bytes()),
        };
        let digest = authorization.digest(option.domain_separator());
        let signature = self.signer.sign_hash_sync(&digest)?;
        Ok(Signed {
            key: Key {
                asset: option.asset,
                payer,
                nonce: authorization.nonce,
            },
            target: target.to_owned(),
            body: Bytes::new(),
            payment: json!({
                "x402Version": 2,
                "resource": offer.resource,
                "accepted": option,
                "payload": {
                    "signature": hex::encode_prefixed(signature.as_bytes()),
                    "authorization": authorization,
                },
            }),
        })
    }
}

/// This machine's time, in Unix seconds.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
