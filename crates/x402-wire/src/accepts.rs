//! The entries of `accepts`: offers of every kind, read as far as this crate knows them.

use std::fmt;

use alloy_primitives::{Address, U256};
use exact::shortened;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::codec::{RawJson, SHOWN_DETAIL, text_or_json};
use crate::offer::{PAYMENT_FLOW, TRANSFER_METHOD};
use crate::{AssetName, HeaderError, Network, PaymentRequirements, Scheme, clip, strict};

/// One entry of `accepts`: its JSON as it came, and its meaning if this crate knows its kind.
///
/// The crate knows the schemes of [`Scheme`] on an `eip155` network, paid with an EIP-3009
/// authorization in the protocol's default flow. It keeps every other entry as an [`UnknownOffer`]:
/// a seller may offer what a buyer cannot pay.
///
/// Two entries are equal when their JSON texts are equal.
///
/// # Example
/// ```
/// use x402_wire::{PaymentRequired, UnknownOffer};
///
/// # let json = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/challenge.json"));
/// let challenge = PaymentRequired::from_json(json.as_bytes())?;
/// for entry in &challenge.accepts {
///     match (entry.known(), entry.unknown()) {
///         (Some(offer), _) => println!("{} of {}", offer.amount, offer.asset),
///         (None, Some(UnknownOffer::Network { observed })) => println!("not an EVM network: {observed}"),
///         (None, why) => println!("skipped: {why:?}"),
///     }
/// }
/// assert!(challenge.accepts[0].json().contains("feePayer"));
/// # Ok::<(), x402_wire::HeaderError>(())
/// ```
#[derive(Clone)]
pub struct AcceptsEntry {
    json: String,
    offer: Result<PaymentRequirements, UnknownOffer>,
}

/// Why this crate cannot pay a well-formed entry of `accepts`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum UnknownOffer {
    /// A scheme that [`Scheme`] does not have, for example `upto`.
    #[error("the scheme `{observed}` is not known")]
    Scheme {
        /// The seller's text, clipped.
        observed: String,
    },
    /// A network outside `eip155`, for example Solana, or a network name of x402 v1.
    #[error("the network `{observed}` is not an eip155 network")]
    Network {
        /// The seller's text, clipped.
        observed: String,
    },
    /// A way of moving the asset other than EIP-3009, for example `permit2`.
    #[error("the transfer method `{observed}` is not known")]
    TransferMethod {
        /// The seller's text, clipped.
        observed: String,
    },
    /// A payment flow other than the default one, for example `escrow`.
    #[error("the payment flow `{observed}` is not known")]
    PaymentFlow {
        /// The seller's text, clipped.
        observed: String,
    },
    /// `extra` lacks a member of the asset's EIP-712 domain, so nothing can be signed.
    #[error("extra.{member} is missing, and a signature needs it")]
    Domain {
        /// The missing member: `name` or `version`.
        member: &'static str,
    },
}

impl AcceptsEntry {
    /// Returns the entry's JSON as it came. A payment echoes it, so that members which this crate
    /// does not know come back to the seller.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Returns the offer, if this crate knows its kind.
    #[must_use]
    pub fn known(&self) -> Option<&PaymentRequirements> {
        self.offer.as_ref().ok()
    }

    /// Returns why this crate does not know the offer. `None` when it does.
    #[must_use]
    pub fn unknown(&self) -> Option<&UnknownOffer> {
        self.offer.as_ref().err()
    }

    /// Reads the entry at a position of `accepts`.
    pub(crate) fn parse(index: usize, json: &str) -> Result<Self, HeaderError> {
        match read(json) {
            Ok(offer) => Ok(Self {
                json: json.to_owned(),
                offer,
            }),
            Err(Fault { member, detail }) => Err(HeaderError::Offer {
                index,
                member,
                detail,
            }),
        }
    }
}

impl From<PaymentRequirements> for AcceptsEntry {
    fn from(requirements: PaymentRequirements) -> Self {
        Self {
            json: requirements.to_json(),
            offer: Ok(requirements),
        }
    }
}

impl PartialEq for AcceptsEntry {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

impl Eq for AcceptsEntry {}

impl fmt::Debug for AcceptsEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.json)
    }
}

impl Serialize for AcceptsEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawJson(&self.json).serialize(serializer)
    }
}

/// A known entry has a member that cannot be read.
struct Fault {
    member: &'static str,
    detail: String,
}

impl Fault {
    fn new(member: &'static str, detail: impl fmt::Display) -> Self {
        let text = detail.to_string();
        // The parser counts the position from the member, not from the message.
        let detail = text
            .rsplit_once(" at line ")
            .map_or(text.as_str(), |(detail, _)| detail);
        Self {
            member,
            detail: shortened(detail, SHOWN_DETAIL),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow)]
    scheme: Option<&'a RawValue>,
    #[serde(borrow)]
    network: Option<&'a RawValue>,
    #[serde(borrow)]
    amount: Option<&'a RawValue>,
    #[serde(borrow)]
    asset: Option<&'a RawValue>,
    #[serde(borrow)]
    pay_to: Option<&'a RawValue>,
    #[serde(borrow)]
    max_timeout_seconds: Option<&'a RawValue>,
    #[serde(borrow)]
    extra: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Extra<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    version: Option<&'a RawValue>,
    #[serde(borrow)]
    payment_flow: Option<&'a RawValue>,
    #[serde(borrow)]
    asset_transfer_method: Option<&'a RawValue>,
    #[serde(borrow)]
    transfer_method: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Amount(#[serde(with = "strict::decimal")] U256);

#[derive(Deserialize)]
#[serde(transparent)]
struct Account(#[serde(with = "strict::address")] Address);

/// Decides whether the kind of the entry is known. Only then are the other members read.
fn read(json: &str) -> Result<Result<PaymentRequirements, UnknownOffer>, Fault> {
    let entry: Entry<'_> = serde_json::from_str(json).map_err(|error| Fault::new("", error))?;
    let scheme: String = member("scheme", entry.scheme)?;
    let network: String = member("network", entry.network)?;
    let Ok(scheme) = scheme.parse::<Scheme>() else {
        let observed = clip(&scheme);
        return Ok(Err(UnknownOffer::Scheme { observed }));
    };
    if !network.starts_with(Network::NAMESPACE) {
        let observed = clip(&network);
        return Ok(Err(UnknownOffer::Network { observed }));
    }
    let network: Network = network
        .parse()
        .map_err(|error| Fault::new("network", error))?;

    let extra: Extra<'_> = entry
        .extra
        .map(|extra| serde_json::from_str(extra.get()))
        .transpose()
        .map_err(|error| Fault::new("extra", error))?
        .unwrap_or_default();
    if let Some(observed) = other_than(PAYMENT_FLOW, extra.payment_flow) {
        return Ok(Err(UnknownOffer::PaymentFlow { observed }));
    }
    for method in [extra.asset_transfer_method, extra.transfer_method] {
        if let Some(observed) = other_than(TRANSFER_METHOD, method) {
            return Ok(Err(UnknownOffer::TransferMethod { observed }));
        }
    }

    let Amount(amount) = member("amount", entry.amount)?;
    let Account(asset) = member("asset", entry.asset)?;
    let Account(pay_to) = member("payTo", entry.pay_to)?;
    let max_timeout_seconds = member("maxTimeoutSeconds", entry.max_timeout_seconds)?;
    for (name, present) in [("name", extra.name), ("version", extra.version)] {
        if present.is_none() {
            return Ok(Err(UnknownOffer::Domain { member: name }));
        }
    }
    let name = member("extra.name", extra.name)?;
    let version = member("extra.version", extra.version)?;
    Ok(Ok(PaymentRequirements {
        scheme,
        network,
        amount,
        asset,
        pay_to,
        max_timeout_seconds,
        extra: AssetName { name, version },
    }))
}

fn member<T: DeserializeOwned>(name: &'static str, json: Option<&RawValue>) -> Result<T, Fault> {
    let json = json.ok_or_else(|| Fault::new(name, "missing"))?;
    serde_json::from_str(json.get()).map_err(|error| Fault::new(name, error))
}

/// Returns a member's value when it differs from the default word: its text, or its JSON when it is
/// not text.
fn other_than(default: &str, json: Option<&RawValue>) -> Option<String> {
    let text = text_or_json(json?);
    (text != default).then(|| clip(&text))
}
