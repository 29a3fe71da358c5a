//! The receipt: content of the header `PAYMENT-RESPONSE`, and a facilitator's answer to `/settle`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{HeaderError, ascii::own_json, decode_header, encode_header};

/// The outcome of a settlement (x402 v2 sections 5.3 and 7.2).
///
/// # Example
/// ```
/// use x402_wire::{Network, Reason, SettlementResponse};
///
/// let failed = SettlementResponse::failed(&Reason::InsufficientFunds, "", Network::evm(196), "0x…");
/// let read = SettlementResponse::from_header(failed.to_header().as_bytes())?;
/// assert_eq!(read.error_reason.as_deref(), Some("insufficient_funds"));
/// # Ok::<(), x402_wire::HeaderError>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SettlementResponse {
    /// Whether the payment was settled.
    pub success: bool,
    /// The reason code of a payment that was not settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_reason: Option<String>,
    /// The reason as text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The transaction hash. Empty when there is none, or none yet.
    #[serde(default)]
    pub transaction: String,
    /// The CAIP-2 network.
    #[serde(default)]
    pub network: String,
    /// The payer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payer: Option<String>,
    /// The settled amount, when the facilitator names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<String>,
    /// The broker's state of the settlement: `pending`, `success`, `timeout` or `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Extensions by name, as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Box<RawValue>>,
    /// Further members of a scheme, as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Box<RawValue>>,
}

/// Two receipts are equal when their JSON texts are equal.
impl PartialEq for SettlementResponse {
    fn eq(&self, other: &Self) -> bool {
        own_json(self) == own_json(other)
    }
}

impl Eq for SettlementResponse {}

impl SettlementResponse {
    /// Creates the receipt of a settled payment.
    ///
    /// # Example
    /// ```
    /// use x402_wire::{Network, SettlementResponse};
    ///
    /// let transaction = "0xabababababababababababababababababababababababababababababababab";
    /// let payer = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
    /// let header = SettlementResponse::settled(transaction, Network::evm(196), payer).to_header();
    /// let receipt = SettlementResponse::from_header(header.as_bytes())?; // the value of PAYMENT-RESPONSE
    /// assert!(receipt.success && receipt.transaction == transaction);
    /// # Ok::<(), x402_wire::HeaderError>(())
    /// ```
    #[must_use]
    pub fn settled(
        transaction: impl Into<String>,
        network: impl ToString,
        payer: impl ToString,
    ) -> Self {
        Self {
            success: true,
            error_reason: None,
            error_message: None,
            transaction: transaction.into(),
            network: network.to_string(),
            payer: Some(payer.to_string()),
            amount: None,
            status: None,
            extensions: None,
            extra: None,
        }
    }

    /// Creates the receipt of a payment that was not settled, or whose outcome is not known.
    #[must_use]
    pub fn failed(
        reason: &crate::Reason,
        transaction: impl Into<String>,
        network: impl ToString,
        payer: impl ToString,
    ) -> Self {
        Self {
            success: false,
            error_reason: Some(reason.as_str().to_owned()),
            ..Self::settled(transaction, network, payer)
        }
    }

    /// Returns the header value: base64 of ASCII JSON.
    #[must_use]
    pub fn to_header(&self) -> String {
        encode_header(&own_json(self))
    }

    /// Reads a header value.
    ///
    /// # Errors
    /// [`HeaderError`] when the value is not base64 of this message.
    pub fn from_header(value: &[u8]) -> Result<Self, HeaderError> {
        serde_json::from_str(&decode_header(value)?).map_err(|error| HeaderError::Schema {
            detail: error.to_string(),
        })
    }
}
