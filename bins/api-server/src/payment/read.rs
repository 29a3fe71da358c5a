//! Reads the payment from a request's headers, before the stages. Does not block.

use http::{HeaderMap, HeaderValue};
use route_catalog::Next;
use x402_wire::{PaymentPayload, Reason};

use super::Declined;

/// Reads the one payment header.
pub(crate) fn payment(headers: &HeaderMap) -> Result<PaymentPayload, Declined> {
    let value = payment_header(headers)?;
    Ok(PaymentPayload::from_header(value.as_bytes())?)
}

fn payment_header(headers: &HeaderMap) -> Result<&HeaderValue, Declined> {
    let mut values = headers.get_all(x402_wire::header::PAYMENT_SIGNATURE).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        // One of them may belong to a settled payment, so a new payment could be a second charge.
        (Some(_), Some(_)) => Err(Declined::new(
            Reason::DuplicatePaymentHeader,
            "expected one PAYMENT-SIGNATURE header, observed several; send one of them alone",
        )
        .advising(Next::SendSameAgain { after_seconds: 1 })),
        (None, _) if headers.contains_key(x402_wire::header::X_PAYMENT) => Err(Declined::new(
            Reason::UnsupportedX402V1,
            "X-PAYMENT is the header of x402 v1; pay with x402 v2 in PAYMENT-SIGNATURE",
        )),
        (None, _) => Err(Declined::unpaid()),
    }
}
