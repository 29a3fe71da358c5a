//! The 402 challenge: content of the header `PAYMENT-REQUIRED`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    AcceptsEntry, Extensions, HeaderError, PaymentRequirements, X402_VERSION, ascii::own_json,
    codec, decode_header, encode_header,
};

/// The resource that is paid for: `resource` of a challenge (x402 v2 section 5.1.2).
///
/// # Example
/// ```
/// use x402_wire::Resource;
///
/// let mut resource = Resource::new("https://api.example/price");
/// resource.mime_type = Some("application/json".to_owned());
/// assert_eq!(
///     serde_json::to_string(&resource)?,
///     r#"{"url":"https://api.example/price","mimeType":"application/json"}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Resource {
    /// The public URL of the request that is paid for.
    pub url: String,
    /// A description of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

impl Resource {
    /// Creates a resource with a URL only.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            description: None,
            mime_type: None,
        }
    }
}

/// The 402 challenge (x402 v2 section 5.1).
///
/// Reading keeps every entry of `accepts`, also those whose kind this crate does not know.
///
/// # Example
/// ```
/// use x402_wire::PaymentRequired;
///
/// let challenge = PaymentRequired::from_json(r#"{"x402Version":2,
///   "resource":{"url":"https://api.example/price"},
///   "accepts":[
///     {"scheme":"exact","network":"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp","amount":"1000",
///      "asset":"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v","payTo":"2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4",
///      "maxTimeoutSeconds":60,"extra":{"feePayer":"EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd"}},
///     {"scheme":"exact","network":"eip155:196","amount":"2000",
///      "asset":"0x779Ded0c9e1022225f8E0630b35a9b54bE713736","payTo":"0x90F79bf6EB2c4f870365E785982E1f101E93b906",
///      "maxTimeoutSeconds":300,"extra":{"name":"USD₮0","version":"1"}}]}"#.as_bytes())?;
/// assert_eq!(challenge.accepts.len(), 2);
/// assert!(challenge.accepts[0].unknown().is_some());
/// assert_eq!(challenge.options().count(), 1);
/// # Ok::<(), x402_wire::HeaderError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "Wire")]
#[non_exhaustive]
pub struct PaymentRequired {
    /// Always [`X402_VERSION`].
    pub x402_version: u64,
    /// Why payment is required, as text for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The resource that is paid for.
    pub resource: Resource,
    /// The offers, in the seller's order of preference.
    pub accepts: Vec<AcceptsEntry>,
    /// Extensions by name, each `{info, schema}`.
    pub extensions: Extensions,
}

impl PaymentRequired {
    /// Creates a challenge without text and extensions.
    ///
    /// # Example
    /// ```
    /// # use alloy_primitives::address;
    /// # use x402_wire::{Asset, MicroUsd, Network, Terms};
    /// use x402_wire::{PaymentRequired, Resource};
    ///
    /// # let terms = Terms {
    /// #     network: Network::evm(196),
    /// #     pay_to: address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906"),
    /// #     max_timeout_seconds: 300,
    /// #     assets: Asset::chain_196().to_vec(),
    /// # };
    /// # let offer = terms.offer(MicroUsd::dollars("0.002"));
    /// let resource = Resource::new("https://api.example/price");
    /// let mut challenge = PaymentRequired::new(resource, offer.options().cloned());
    /// challenge.error = Some("PAYMENT-SIGNATURE header is required".to_owned());
    ///
    /// let header = challenge.to_header(); // the value of PAYMENT-REQUIRED
    /// assert_eq!(PaymentRequired::from_header(header.as_bytes())?, challenge);
    /// # Ok::<(), x402_wire::HeaderError>(())
    /// ```
    #[must_use]
    pub fn new(resource: Resource, options: impl IntoIterator<Item = PaymentRequirements>) -> Self {
        Self {
            x402_version: X402_VERSION,
            error: None,
            resource,
            accepts: options.into_iter().map(AcceptsEntry::from).collect(),
            extensions: Extensions::default(),
        }
    }

    /// Reads a `PAYMENT-REQUIRED` header value.
    ///
    /// # Errors
    /// A [`HeaderError`]. Entries of unknown kinds are no error; a malformed entry of a known kind
    /// is [`HeaderError::Offer`], with its position and the member.
    ///
    /// # Example
    /// ```
    /// use x402_wire::{HeaderError, PaymentRequired, encode_header};
    ///
    /// # let json = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/challenge.json"));
    /// let header = encode_header(json);
    /// assert_eq!(PaymentRequired::from_header(header.as_bytes())?.options().count(), 3);
    ///
    /// let other = encode_header(&json.replace("\"x402Version\": 2", "\"x402Version\": 1"));
    /// let refused = PaymentRequired::from_header(other.as_bytes());
    /// assert_eq!(refused, Err(HeaderError::Version { observed: 1 }));
    ///
    /// let malformed = encode_header(&json.replacen("\"maxTimeoutSeconds\": 86400", "\"maxTimeoutSeconds\": \"soon\"", 1));
    /// let refused = PaymentRequired::from_header(malformed.as_bytes());
    /// assert!(matches!(refused, Err(HeaderError::Offer { index: 3, member: "maxTimeoutSeconds", .. })));
    /// # Ok::<(), HeaderError>(())
    /// ```
    pub fn from_header(value: &[u8]) -> Result<Self, HeaderError> {
        Self::parse(&decode_header(value)?)
    }

    /// Reads the JSON text of a challenge, as the body of a 402 or an MCP tool result contains it.
    ///
    /// # Errors
    /// As [`Self::from_header`], except for base64.
    pub fn from_json(json: &[u8]) -> Result<Self, HeaderError> {
        let text = std::str::from_utf8(json).map_err(|_| HeaderError::Utf8)?;
        codec::check_depth(text)?;
        Self::parse(text)
    }

    /// Returns the header value: base64 of ASCII JSON.
    #[must_use]
    pub fn to_header(&self) -> String {
        encode_header(&own_json(self))
    }

    /// Iterates over the offers of known kinds, in the seller's order.
    pub fn options(&self) -> impl Iterator<Item = &PaymentRequirements> {
        self.accepts.iter().filter_map(AcceptsEntry::known)
    }

    fn parse(json: &str) -> Result<Self, HeaderError> {
        serde_json::from_str::<Wire>(json)
            .map_err(|error| codec::not_this_version(json, &error))?
            .try_into()
    }
}

/// The challenge before its offers are read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    x402_version: u64,
    error: Option<String>,
    resource: Resource,
    accepts: Vec<Box<RawValue>>,
    extensions: Option<Extensions>,
}

impl TryFrom<Wire> for PaymentRequired {
    type Error = HeaderError;

    fn try_from(wire: Wire) -> Result<Self, HeaderError> {
        if wire.x402_version != X402_VERSION {
            return Err(HeaderError::Version {
                observed: wire.x402_version,
            });
        }
        let accepts = wire.accepts.iter().enumerate();
        let accepts = accepts.map(|(index, json)| AcceptsEntry::parse(index, json.get()));
        Ok(Self {
            x402_version: wire.x402_version,
            error: wire.error,
            resource: wire.resource,
            accepts: accepts.collect::<Result<_, _>>()?,
            extensions: wire.extensions.unwrap_or_default(),
        })
    }
}
