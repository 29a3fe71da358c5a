//! Messages between a seller and a facilitator (x402 v2 section 7).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::extensions::with_extension;
use crate::{Payment, Scheme, X402_VERSION};

pub use crate::SettlementResponse as SettleResponse;

/// The extension under which facilitators list resources for registries.
const BAZAAR: &str = "bazaar";

/// The answer to `POST /verify`.
///
/// # Example
/// ```
/// use x402_wire::{Reason, facilitator::VerifyResponse};
///
/// let answer: VerifyResponse =
///     serde_json::from_str(r#"{"isValid":false,"invalidReason":"insufficient_funds"}"#)?;
/// let reason = answer.invalid_reason.as_deref().map(Reason::from);
/// assert_eq!((answer.is_valid, reason), (false, Some(Reason::InsufficientFunds)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct VerifyResponse {
    /// Whether the payment would settle now.
    pub is_valid: bool,
    /// The reason code of an invalid payment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_reason: Option<String>,
    /// The reason as text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_message: Option<String>,
    /// The payer, as the facilitator found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payer: Option<String>,
}

/// The answer to `GET /supported`.
///
/// # Example
/// ```
/// use x402_wire::{Network, Scheme, facilitator::SupportedResponse};
///
/// let supported: SupportedResponse = serde_json::from_str(
///     r#"{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:196"}]}"#,
/// )?;
/// assert!(supported.supports(Scheme::Exact, Network::evm(196)));
/// assert!(!supported.supports(Scheme::Exact, Network::evm(1)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SupportedResponse {
    /// The kinds of payment that the facilitator can settle.
    pub kinds: Vec<SupportedKind>,
    /// The extensions that the facilitator understands.
    #[serde(default)]
    pub extensions: Vec<String>,
    /// The facilitator's signing addresses by network pattern.
    #[serde(default)]
    pub signers: BTreeMap<String, Vec<String>>,
}

/// One protocol version, scheme and network.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SupportedKind {
    /// The protocol version.
    pub x402_version: u64,
    /// The scheme as text. Schemes that this crate does not know are allowed here.
    pub scheme: String,
    /// The CAIP-2 network as text. Networks that this crate does not know are allowed here.
    pub network: String,
}

impl SupportedResponse {
    /// Returns whether a scheme can be settled on a network with this protocol version.
    #[must_use]
    pub fn supports(&self, scheme: Scheme, network: crate::Network) -> bool {
        let network = network.to_string();
        self.kinds.iter().any(|kind| {
            kind.x402_version == X402_VERSION
                && kind.scheme == scheme.as_str()
                && kind.network == network
        })
    }

    /// Returns whether the facilitator lists the extension `bazaar`.
    #[must_use]
    pub fn lists_bazaar(&self) -> bool {
        self.extensions.iter().any(|name| name == BAZAAR)
    }
}

/// Returns the body of `POST /verify` and `POST /settle`: the caller's payment byte for byte, and
/// the seller's own option. `sync_settle` is a member of the broker dialect.
///
/// # Example
/// Members that this crate does not know and the spacing stay as they came, so that the facilitator
/// checks what was signed:
/// ```
/// # use alloy_primitives::address;
/// # use x402_wire::*;
/// # let terms = Terms { network: Network::evm(196), pay_to: address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906"),
/// #     max_timeout_seconds: 300, assets: Asset::chain_196().to_vec() };
/// let raw = r#"{ "x402Version": 2, "accepted": {"scheme":"exact","network":"eip155:196","amount":"2000",
///   "asset":"0x779Ded0c9e1022225f8E0630b35a9b54bE713736","payTo":"0x90F79bf6EB2c4f870365E785982E1f101E93b906",
///   "maxTimeoutSeconds":300,"extra":{"name":"USD₮0","version":"1","future":[1,2]}},
///  "payload": {"signature":"0x00","authorization":{"from":"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
///   "to":"0x90F79bf6EB2c4f870365E785982E1f101E93b906","value":"2000","validAfter":"0","validBefore":"1795219500",
///   "nonce":"0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"}}, "unknown": true }"#;
/// let payload = PaymentPayload::from_json(raw.as_bytes())?;
/// let payment = Payment::matching(&terms.offer(MicroUsd::dollars("0.002")), payload)?;
/// assert!(facilitator::request_body(&payment, None).contains(raw));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn request_body(payment: &Payment, sync_settle: Option<bool>) -> String {
    body_of(payment.payload().raw(), payment, sync_settle)
}

/// Returns [`request_body`] for a facilitator that lists the extension `bazaar`: the payment has
/// the seller's own declaration ([`Payment::bazaar`]), whether the payer echoed it or not. All
/// other members of the payment keep their text.
///
/// # Example
/// ```
/// use x402_wire::{Payment, PaymentPayload, facilitator};
/// # use alloy_primitives::address;
/// # use x402_wire::{Asset, MicroUsd, Network, Terms};
///
/// # let json = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/payment.json"));
/// # let terms = Terms {
/// #     network: Network::evm(196),
/// #     pay_to: address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906"),
/// #     max_timeout_seconds: 300,
/// #     assets: Asset::chain_196().to_vec(),
/// # };
/// # let offer = terms.offer(MicroUsd::dollars("0.002"));
/// let payment = Payment::matching(&offer, PaymentPayload::from_json(json.as_bytes())?)?;
/// let declared = payment.with_bazaar(r#"{"info":{},"schema":{}}"#.into());
/// let body = facilitator::request_body_declaring(&declared, None);
/// assert!(body.contains(r#""bazaar":{"info":{},"schema":{}}"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn request_body_declaring(payment: &Payment, sync_settle: Option<bool>) -> String {
    let raw = payment.payload().raw();
    let declared = payment
        .bazaar()
        .and_then(|bazaar| with_extension(raw, BAZAAR, bazaar));
    body_of(declared.as_deref().unwrap_or(raw), payment, sync_settle)
}

fn body_of(raw: &str, payment: &Payment, sync_settle: Option<bool>) -> String {
    let requirements = payment.requirements_json();
    let mut body = String::with_capacity(raw.len() + requirements.len() + 96);
    body.push_str("{\"x402Version\":2,\"paymentPayload\":");
    body.push_str(raw);
    body.push_str(",\"paymentRequirements\":");
    body.push_str(requirements);
    if let Some(sync_settle) = sync_settle {
        body.push_str(",\"syncSettle\":");
        body.push_str(if sync_settle { "true" } else { "false" });
    }
    body.push('}');
    body
}
