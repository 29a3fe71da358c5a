//! What a payment gets that the journal already knows.

use http::HeaderValue;
use ledger::Standing;
use route_catalog::ErrorCode;
use x402_wire::{Payment, Reason, SettlementResponse};

use super::Outcome;
use crate::reply::{ErrorReply, PAYMENT_RESPONSE, own_header_value};

/// The outcome for a payment that was presented before.
pub(crate) fn outcome(standing: Standing, payment: &Payment) -> Outcome {
    match standing {
        Standing::Answered(stored) => Outcome::Served { stored, again: true },
        Standing::InFlight { state, .. } => Outcome::Refused(
            ErrorReply::new(
                ErrorCode::PaymentInFlight,
                "this payment is being worked on; send it again to get its answer",
            )
            .detail("state", state.to_string())
            .retry_after(1),
        ),
        Standing::BoundElsewhere => Outcome::Refused(
            ErrorReply::new(
                ErrorCode::PaymentBoundElsewhere,
                "this payment, or its payment identifier, belongs to another request; sign a new one",
            )
            .detail("reason", "another_request"),
        ),
        Standing::AnswerExpired => Outcome::Refused(
            ErrorReply::new(
                ErrorCode::PaymentBoundElsewhere,
                "this payment was settled, and its answer is no longer kept",
            )
            .detail("reason", "answer_expired"),
        ),
        Standing::Unknown { transaction, .. } => pending(payment, transaction.as_deref()),
    }
}

/// The settlement's outcome is not known. The caller must neither sign anew nor assume anything.
pub(crate) fn pending(payment: &Payment, transaction: Option<&str>) -> Outcome {
    let receipt = SettlementResponse::failed(
        &Reason::SettlementPending,
        transaction.unwrap_or_default(),
        payment.requirements().network,
        payment.payer(),
    );
    let mut error = ErrorReply::new(
        ErrorCode::SettlementPending,
        "whether this payment was settled is not known yet; send the same payment again, and do not sign a new one",
    )
    .retry_after(5)
    .header(PAYMENT_RESPONSE, own_header_value(receipt.to_header()))
    .header(http::header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(transaction) = transaction {
        error = error.detail("transaction", transaction);
    }
    Outcome::Refused(error)
}
