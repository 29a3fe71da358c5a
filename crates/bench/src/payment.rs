//! Payments as a client writes them: EIP-3009 authorizations for what the server offers, each
//! signed for itself.
//!
//! Written from the x402 v2 messages, without the types of the server: the benchmark is a foreign
//! client, and its baseline must not change its speed with the server's own code.

use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_sol_types::{Eip712Domain, SolStruct as _, sol};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use rand::RngCore as _;
use secp256k1::{All, Message, PublicKey, Secp256k1, SecretKey};
use serde::{Deserialize, Serialize};

use crate::BenchError;
use crate::exchange::{HttpAnswer, PAYMENT_REQUIRED};

sol! {
    /// The typed data of EIP-3009.
    struct TransferWithAuthorization {
        address from;
        address to;
        uint256 value;
        uint256 validAfter;
        uint256 validBefore;
        bytes32 nonce;
    }
}

/// The offer of an unpaid call: the parts of `PaymentRequired` that a payment needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Offer {
    /// The sold resource.
    pub resource: serde_json::Value,
    /// The ways to pay for it.
    pub accepts: Vec<Accept>,
}

/// One way to pay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Accept {
    scheme: String,
    network: String,
    amount: String,
    asset: String,
    pay_to: String,
    max_timeout_seconds: u64,
    extra: AssetName,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct AssetName {
    name: String,
    version: String,
}

/// A payment with any value for the resource.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Payment<R> {
    x402_version: u8,
    resource: R,
    /// The chosen option.
    pub accepted: Accept,
    payload: Payload,
    #[serde(default)]
    extensions: Extensions,
}

/// A payment identifier makes each payment a purchase of its own: the benchmark buys the same thing
/// with one payer several times at once.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Extensions {
    #[serde(rename = "payment-identifier")]
    payment_identifier: Identifier,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Identifier {
    info: IdentifierInfo,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct IdentifierInfo {
    id: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Payload {
    signature: String,
    authorization: Authorization,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Authorization {
    from: Address,
    to: Address,
    value: String,
    valid_after: String,
    valid_before: String,
    nonce: B256,
}

impl Offer {
    /// Reads the offer of an unpaid answer.
    ///
    /// # Errors
    /// When its header is missing or malformed.
    pub fn of(answer: &HttpAnswer) -> Result<Self, BenchError> {
        let unusable = BenchError::Answer {
            what: "PAYMENT-REQUIRED header",
        };
        let Some(header) = answer.headers.get(PAYMENT_REQUIRED) else {
            return Err(unusable);
        };
        let Ok(json) = STANDARD.decode(header.as_bytes()) else {
            return Err(unusable);
        };
        Ok(serde_json::from_slice(&json)?)
    }
}

impl Accept {
    /// The domain separator of the asset's contract (EIP-712); `None` when the network is not
    /// `eip155:<id>` or the asset is not an address.
    pub fn domain_separator(&self) -> Option<B256> {
        let chain: u64 = self.network.strip_prefix("eip155:")?.parse().ok()?;
        let domain = Eip712Domain::new(
            Some(self.extra.name.clone().into()),
            Some(self.extra.version.clone().into()),
            Some(U256::from(chain)),
            Some(self.asset.parse().ok()?),
            None,
        );
        Some(domain.separator())
    }
}

impl<R> Payment<R> {
    /// The payer.
    pub fn payer(&self) -> Address {
        self.payload.authorization.from
    }

    /// The nonce that makes it unique.
    pub fn nonce(&self) -> B256 {
        self.payload.authorization.nonce
    }

    /// The 65 bytes of its signature.
    pub fn signature(&self) -> Option<[u8; 65]> {
        alloy_primitives::hex::decode_to_array(&self.payload.signature).ok()
    }

    /// The signed digest; `None` when a number is malformed.
    pub fn digest(&self, domain_separator: B256) -> Option<B256> {
        let Authorization {
            from,
            to,
            value,
            valid_after,
            valid_before,
            nonce,
        } = &self.payload.authorization;
        let number = |text: &str| U256::from_str_radix(text, 10).ok();
        let message = TransferWithAuthorization {
            from: *from,
            to: *to,
            value: number(value)?,
            validAfter: number(valid_after)?,
            validBefore: number(valid_before)?,
            nonce: *nonce,
        };
        let mut bytes = [0; 66];
        let (prefix, rest) = bytes.split_at_mut(2);
        let (domain, hash) = rest.split_at_mut(32);
        prefix.copy_from_slice(&[0x19, 0x01]);
        domain.copy_from_slice(domain_separator.as_slice());
        hash.copy_from_slice(message.eip712_hash_struct().as_slice());
        Some(keccak256(bytes))
    }
}

/// The address of a public key.
pub fn address(key: &PublicKey) -> Address {
    let uncompressed = key.serialize_uncompressed();
    let digest = keccak256(uncompressed.get(1..).unwrap_or_default());
    Address::from_word(digest)
}

/// Signs payments for one offer, each by the next of a few payers.
#[derive(Debug)]
pub struct Payers {
    curve: Secp256k1<All>,
    keys: Vec<(SecretKey, Address)>,
    offer: Offer,
}

/// Whether the signature of a payment is the payer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// It is the payer's.
    ByPayer,
    /// It is well-formed, but of another key.
    BySomebodyElse,
}

impl Payers {
    /// Payers for an offer; the keys are new for every run.
    ///
    /// # Errors
    /// When a key cannot be made.
    pub fn new(offer: Offer) -> Result<Self, BenchError> {
        let curve = Secp256k1::new();
        let mut keys = Vec::new();
        for _ in 0..16 {
            let key = SecretKey::from_byte_array(random().0)?;
            let address = address(&PublicKey::from_secret_key(&curve, &key));
            keys.push((key, address));
        }
        Ok(Self { curve, keys, offer })
    }

    /// How many payers there are.
    pub fn count(&self) -> usize {
        self.keys.len()
    }

    /// As many payments as requested, each with its own nonce, valid from now on for as long as the
    /// offer allows.
    ///
    /// # Errors
    /// When the offer has no option, or signing fails.
    pub fn sign(&self, count: usize, signed: Signed) -> Result<Vec<HeaderValue>, BenchError> {
        let accepted = self.offer.accepts.first().ok_or(BenchError::Answer {
            what: "payment option",
        })?;
        let domain = accepted.domain_separator().ok_or(BenchError::Answer {
            what: "payment network",
        })?;
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        let valid_before = now.saturating_add(accepted.max_timeout_seconds).to_string();
        let to = accepted
            .pay_to
            .parse()
            .map_err(|_| BenchError::Answer { what: "payee" })?;
        let others = self.keys.iter().cycle().skip(1);
        let pairs = self.keys.iter().cycle().zip(others).take(count);
        pairs
            .map(|(&(own, from), &(other, _))| {
                let key = if signed == Signed::ByPayer {
                    own
                } else {
                    other
                };
                let authorization = Authorization {
                    from,
                    to,
                    value: accepted.amount.clone(),
                    valid_after: "0".to_owned(),
                    valid_before: valid_before.clone(),
                    nonce: random(),
                };
                self.header(accepted, domain, authorization, &key)
            })
            .collect()
    }

    fn header(
        &self,
        accepted: &Accept,
        domain: B256,
        authorization: Authorization,
        key: &SecretKey,
    ) -> Result<HeaderValue, BenchError> {
        let id = alloy_primitives::hex::encode(authorization.nonce);
        let mut payment = Payment {
            x402_version: 2,
            resource: &self.offer.resource,
            accepted: accepted.clone(),
            payload: Payload {
                signature: String::new(),
                authorization,
            },
            extensions: Extensions {
                payment_identifier: Identifier {
                    info: IdentifierInfo { id },
                },
            },
        };
        let digest = payment
            .digest(domain)
            .ok_or(BenchError::Answer { what: "amount" })?;
        let message = Message::from_digest(digest.0);
        let (id, compact) = self
            .curve
            .sign_ecdsa_recoverable(message, key)
            .serialize_compact();
        let v = u8::try_from(i32::from(id))
            .unwrap_or_default()
            .saturating_add(27);
        payment.payload.signature =
            alloy_primitives::hex::encode_prefixed([&compact[..], &[v]].concat());
        let header = STANDARD.encode(serde_json::to_vec(&payment)?);
        HeaderValue::try_from(header).map_err(|_| BenchError::Answer { what: "payment" })
    }
}

fn random() -> B256 {
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    B256::from(bytes)
}

#[cfg(test)]
pub(crate) mod tests {
    use alloy_primitives::{Signature, b256};
    use serde::de::IgnoredAny;

    use super::*;

    pub(crate) fn offer() -> Offer {
        serde_json::from_value(serde_json::json!({
            "resource": {"url": "http://localhost/price", "description": "", "mimeType": "application/json"},
            "accepts": [{
                "scheme": "exact", "network": "eip155:196", "amount": "2000",
                "asset": "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
                "payTo": "0x1111111111111111111111111111111111111111",
                "maxTimeoutSeconds": 300, "extra": {"name": "USD\u{20ae}0", "version": "1"},
            }],
        }))
        .unwrap()
    }

    pub(crate) fn read(header: &HeaderValue) -> Payment<IgnoredAny> {
        serde_json::from_slice(&STANDARD.decode(header.as_bytes()).unwrap()).unwrap()
    }

    fn recover(payment: &Payment<IgnoredAny>) -> Address {
        let domain = payment.accepted.domain_separator().unwrap();
        let signature = Signature::from_raw(&payment.signature().unwrap()).unwrap();
        signature
            .recover_address_from_prehash(&payment.digest(domain).unwrap())
            .unwrap()
    }

    #[test]
    fn genuine_payments_recover_to_their_payer_and_differ() {
        let headers = Payers::new(offer())
            .unwrap()
            .sign(40, Signed::ByPayer)
            .unwrap();
        let mut nonces = std::collections::BTreeSet::new();
        for header in &headers {
            let payment = read(header);
            assert_eq!(recover(&payment), payment.payer());
            nonces.insert(payment.nonce());
        }
        assert_eq!(nonces.len(), 40);
    }

    #[test]
    fn forged_payments_recover_to_another_address() {
        for header in Payers::new(offer())
            .unwrap()
            .sign(40, Signed::BySomebodyElse)
            .unwrap()
        {
            let payment = read(&header);
            assert_ne!(recover(&payment), payment.payer());
        }
    }

    #[test]
    fn the_separator_is_that_of_the_deployed_contract() {
        let accept = offer().accepts.remove(0);
        assert_eq!(
            accept.domain_separator().unwrap(),
            b256!("0xd591d9baf744328d9400b923cb02c9474d367d591ca1ab24d8c4068be527599d")
        );
    }
}
