//! Identifiers of the extension `payment-identifier`.

use std::fmt;
use std::str::FromStr;

use alloy_primitives::hex;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A buyer's identifier of one purchase: 16 to 128 characters of `A-Z a-z 0-9 _ -`.
///
/// A seller answers the same identifier with the stored answer and charges once, even when a fresh
/// signature comes with it. So keep the identifier for as long as the purchase lasts, and make it
/// random: anyone who knows it may ask for the answer.
///
/// # Example
/// ```
/// use x402_wire::PaymentId;
///
/// let random = [7; 16]; // from the system's random generator
/// let id = PaymentId::from_random(random);
/// assert_eq!(id.as_str(), "pay_07070707070707070707070707070707");
/// assert_eq!("order-2026-000017".parse::<PaymentId>()?.as_str(), "order-2026-000017");
/// assert!("too short".parse::<PaymentId>().is_err());
/// # Ok::<(), x402_wire::PaymentIdError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PaymentId(String);

/// A text that breaks the extension's rule for identifiers.
///
/// # Example
/// ```
/// use x402_wire::{PaymentId, PaymentIdError};
///
/// assert_eq!("order 17".parse::<PaymentId>(), Err(PaymentIdError));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[error("a payment identifier is 16 to 128 characters of A-Z, a-z, 0-9, `_` and `-`")]
pub struct PaymentIdError;

impl PaymentId {
    /// Makes an identifier: `pay_` and the 32 hexadecimal digits of 16 random bytes.
    #[must_use]
    pub fn from_random(random: [u8; 16]) -> Self {
        Self(format!("pay_{}", hex::encode(random)))
    }

    /// Returns the identifier as messages contain it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the extension allows a text as an identifier.
    pub(crate) fn allows(text: &str) -> bool {
        (16..=128).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    }
}

impl fmt::Display for PaymentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PaymentId {
    type Err = PaymentIdError;

    fn from_str(text: &str) -> Result<Self, PaymentIdError> {
        text.to_owned().try_into()
    }
}

impl TryFrom<String> for PaymentId {
    type Error = PaymentIdError;

    fn try_from(text: String) -> Result<Self, PaymentIdError> {
        if Self::allows(&text) {
            Ok(Self(text))
        } else {
            Err(PaymentIdError)
        }
    }
}

impl From<PaymentId> for String {
    fn from(id: PaymentId) -> Self {
        id.0
    }
}
