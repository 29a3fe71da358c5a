//! The caller's payment: content of the header `PAYMENT-SIGNATURE`.

use std::fmt;

use alloy_primitives::{Address, Bytes, U256};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::{
    AssetName, Authorization, AuthorizationKey, HeaderError, PaymentId, PaymentRequirements,
    Scheme, X402_VERSION, codec, decode_header, strict,
};

/// One decoded payment with its exact JSON text, so that a facilitator gets members that this crate
/// does not know byte for byte. Two payments are equal when their texts are.
///
/// # Example
/// ```
/// use x402_wire::{HeaderError, Network, PaymentPayload, encode_header};
///
/// # let json = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/payment.json"));
/// let header = encode_header(json); // as PAYMENT-SIGNATURE carries it
/// let payload = PaymentPayload::from_header(header.as_bytes())?;
/// assert_eq!(payload.authorization().to, payload.accepted().pay_to);
/// assert_eq!(payload.signature().to_bytes().map(|bytes| bytes.len()), Some(65));
/// assert_eq!(payload.raw(), json);
/// let key = payload.authorization_key().unwrap();
/// assert_eq!((key.network, key.payer), (Network::X_LAYER, payload.authorization().from));
///
/// assert_eq!(PaymentPayload::from_header(b"?"), Err(HeaderError::Base64));
/// # Ok::<(), HeaderError>(())
/// ```
#[derive(Clone)]
pub struct PaymentPayload {
    raw: String,
    message: Message,
}

impl PaymentPayload {
    /// Decodes a `PAYMENT-SIGNATURE` header value.
    ///
    /// # Errors
    /// A [`HeaderError`]. Nothing is assumed or repaired.
    pub fn from_header(value: &[u8]) -> Result<Self, HeaderError> {
        Self::parse(decode_header(value)?)
    }

    /// Reads the JSON text of a payment.
    ///
    /// # Errors
    /// As [`Self::from_header`], except for base64.
    pub fn from_json(json: &[u8]) -> Result<Self, HeaderError> {
        let text = std::str::from_utf8(json).map_err(|_| HeaderError::Utf8)?;
        codec::check_depth(text)?;
        Self::parse(text.to_owned())
    }

    fn parse(raw: String) -> Result<Self, HeaderError> {
        let message: Message =
            serde_json::from_str(&raw).map_err(|error| codec::not_this_version(&raw, &error))?;
        if message.x402_version != X402_VERSION {
            return Err(HeaderError::Version {
                observed: message.x402_version,
            });
        }
        if message
            .payment_id()
            .is_some_and(|id| !PaymentId::allows(id))
        {
            return Err(HeaderError::PaymentId);
        }
        Ok(Self { raw, message })
    }

    /// Returns the exact JSON text that was decoded.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Returns the caller's copy of an option. It is only a claim: match it with
    /// [`Offer::accept`](crate::Offer::accept), and use it for nothing else.
    #[must_use]
    pub fn accepted(&self) -> &Accepted {
        &self.message.accepted
    }

    /// Returns the caller's copy of the resource that it pays for. It is only a claim, too.
    #[must_use]
    pub fn resource(&self) -> Option<&PayloadResource> {
        self.message.resource.as_ref()
    }

    /// Returns the signed message.
    #[must_use]
    pub fn authorization(&self) -> &Authorization {
        &self.message.payload.authorization
    }

    /// Returns the signature over the message.
    #[must_use]
    pub fn signature(&self) -> &PaymentSignature {
        &self.message.payload.signature
    }

    /// Returns the key that the payment claims: `accepted.network` and `accepted.asset`, with the
    /// payer and the nonce of the authorization. `None` when the network is not an `eip155`
    /// network.
    ///
    /// The key finds an earlier payment again when no offer matches any more. It proves nothing:
    /// the signature may cover another network or asset.
    #[must_use]
    pub fn authorization_key(&self) -> Option<AuthorizationKey> {
        let accepted = self.accepted();
        Some(AuthorizationKey {
            network: accepted.network.parse().ok()?,
            asset: accepted.asset,
            payer: self.authorization().from,
            nonce: self.authorization().nonce,
        })
    }

    /// Returns the caller's identifier for this payment (extension `payment-identifier`): 16 to 128
    /// characters.
    #[must_use]
    pub fn payment_id(&self) -> Option<&str> {
        self.message.payment_id()
    }
}

impl PartialEq for PaymentPayload {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Eq for PaymentPayload {}

impl fmt::Debug for PaymentPayload {
    /// Leaves the signature out, because anyone who has it can settle the payment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PaymentPayload")
            .field("accepted", self.accepted())
            .field("authorization", self.authorization())
            .finish_non_exhaustive()
    }
}

/// The caller's copy of a payment option. Members that the seller did not offer are allowed in
/// `extra` (`sessionCert` of `aggr_deferred`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Accepted {
    /// The scheme as text. An unknown scheme is a mismatch, not a malformed message.
    pub scheme: String,
    /// The network as text. An unknown network is a mismatch, not a malformed message.
    pub network: String,
    /// The amount in the asset's smallest unit.
    #[serde(with = "strict::decimal")]
    pub amount: U256,
    /// The token contract.
    #[serde(with = "strict::address")]
    pub asset: Address,
    /// The receiving address.
    #[serde(with = "strict::address")]
    pub pay_to: Address,
    /// The offered time-out in seconds.
    pub max_timeout_seconds: u64,
    /// The asset's name and version.
    #[serde(default)]
    pub extra: AcceptedExtra,
}

impl Accepted {
    /// Returns the copy as an option for which a buyer can sign. `None` for other schemes and
    /// networks, and when the asset's domain is missing.
    pub(crate) fn offer(&self) -> Option<PaymentRequirements> {
        Some(PaymentRequirements {
            scheme: self
                .scheme
                .parse()
                .ok()
                .filter(|scheme| *scheme == Scheme::Exact)?,
            network: self.network.parse().ok()?,
            amount: self.amount,
            asset: self.asset,
            pay_to: self.pay_to,
            max_timeout_seconds: self.max_timeout_seconds,
            extra: AssetName {
                name: self.extra.name.clone()?,
                version: self.extra.version.clone()?,
            },
        })
    }
}

/// The members of `accepted.extra` that are compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct AcceptedExtra {
    /// The EIP-712 name.
    pub name: Option<String>,
    /// The EIP-712 version.
    pub version: Option<String>,
    /// The payment flow that the caller names: its text, or its JSON when it is not text.
    #[serde(deserialize_with = "named")]
    pub payment_flow: Option<String>,
    /// The transfer method that the caller names, in the same form.
    #[serde(deserialize_with = "named")]
    pub asset_transfer_method: Option<String>,
    /// The older name of `assetTransferMethod`.
    #[serde(deserialize_with = "named")]
    pub transfer_method: Option<String>,
}

/// Reads a member that is compared with one word. Any JSON is allowed; only the word matches.
fn named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let json = Option::<Box<RawValue>>::deserialize(deserializer)?;
    Ok(json.map(|json| codec::text_or_json(&json)))
}

/// The caller's copy of `resource`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[non_exhaustive]
pub struct PayloadResource {
    /// The URL that the caller says it pays for.
    pub url: String,
}

/// A signature as it came: hexadecimal bytes for `exact`, base64 of a session key's signature for
/// `aggr_deferred`. `Debug` leaves it out.
#[derive(Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(transparent)]
pub struct PaymentSignature(String);

impl PaymentSignature {
    /// Returns the text as it came.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the bytes of a `0x` hexadecimal signature. `None` when the text is anything else.
    #[must_use]
    pub fn to_bytes(&self) -> Option<Bytes> {
        exact::parse_hex(&self.0).map(Bytes::from)
    }
}

impl fmt::Debug for PaymentSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PaymentSignature(…)")
    }
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    x402_version: u64,
    accepted: Accepted,
    payload: Signed,
    #[serde(default)]
    resource: Option<PayloadResource>,
    #[serde(default)]
    extensions: Option<Extensions>,
}

impl Message {
    fn payment_id(&self) -> Option<&str> {
        let identifier = self.extensions.as_ref()?.payment_identifier.as_ref()?;
        identifier.info.as_ref()?.id.as_deref()
    }
}

#[derive(Clone, Deserialize)]
struct Signed {
    signature: PaymentSignature,
    authorization: Authorization,
}

#[derive(Clone, Deserialize)]
struct Extensions {
    #[serde(rename = "payment-identifier")]
    payment_identifier: Option<PaymentIdentifier>,
}

#[derive(Clone, Deserialize)]
struct PaymentIdentifier {
    info: Option<PaymentIdentifierInfo>,
}

#[derive(Clone, Deserialize)]
struct PaymentIdentifierInfo {
    id: Option<String>,
}
