//! From a payment header to a payment of one of our options, or the reason why not. Nothing here waits.

use http::{HeaderMap, HeaderValue};
use x402_wire::{HeaderError, Invalid, Mismatch, Offer, Payment, PaymentPayload, Reason};

/// A payment that was not taken: the answer is 402 with a fresh challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Declined {
    /// The code that clients branch on.
    pub(crate) reason: Reason,
    /// What was expected and observed, for people.
    pub(crate) message: String,
    /// The value of `PAYMENT-RESPONSE`, when a settlement was tried.
    pub(crate) receipt: Option<String>,
}

impl Declined {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            receipt: None,
        }
    }
}

impl From<HeaderError> for Declined {
    fn from(error: HeaderError) -> Self {
        Self::new(error.reason(), format!("PAYMENT-SIGNATURE: {error}"))
    }
}

impl From<Mismatch> for Declined {
    fn from(mismatch: Mismatch) -> Self {
        Self::new(mismatch.reason(), mismatch.to_string())
    }
}

impl From<Invalid> for Declined {
    fn from(invalid: Invalid) -> Self {
        Self::new(invalid.reason(), invalid.to_string())
    }
}

/// Reads the one payment header and matches it to an offer.
pub(crate) fn admit(headers: &HeaderMap, offer: &Offer) -> Result<Payment, Declined> {
    let value = payment_header(headers)?;
    let payload = PaymentPayload::from_header(value.as_bytes())?;
    Ok(Payment::matching(offer, payload)?)
}

fn payment_header(headers: &HeaderMap) -> Result<&HeaderValue, Declined> {
    let mut values = headers.get_all(x402_wire::header::PAYMENT_SIGNATURE).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        (Some(_), Some(_)) => Err(Declined::new(
            Reason::DuplicatePaymentHeader,
            "expected one PAYMENT-SIGNATURE header, observed several",
        )),
        (None, _) if headers.contains_key(x402_wire::header::X_PAYMENT) => Err(Declined::new(
            Reason::UnsupportedX402V1,
            "X-PAYMENT is the header of x402 v1; pay with x402 v2 in PAYMENT-SIGNATURE",
        )),
        (None, _) => Err(Declined::unpaid()),
    }
}
