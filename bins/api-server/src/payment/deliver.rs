//! Renders the end of a paid call as an HTTP reply. It decides nothing: an [`Ended`] already says
//! what was charged and what the caller should do.

use alloy_primitives::B256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::StatusCode;
use http::header::{self, HeaderName, HeaderValue};
use http_edge::RequestId;
use ledger::StoredAnswer;
use route_catalog::{ErrorCode, Next, Operation, Problem};
use x402_wire::{Reason, SettlementResponse};

use super::ended::Pending;
use super::{Delivered, Ended, Refusal};
use crate::challenge::Challenger;
use crate::observe;
use crate::reply::{
    CONTENT_DIGEST, ErrorReply, PAYMENT_RESPONSE, Reply, header_value, own_header_value,
};

/// Seconds until the caller asks again about a payment in work or at a full server.
const SOON: u64 = 1;
/// Seconds until the caller asks again when a dependency is down or an outcome is unknown.
const LATER: u64 = 5;

/// The path at which a payment is looked up, for answers that do not know its key.
const LOOK_UP: &str = "/payments/{asset}/{payer}/{nonce}";

/// Renders the end of a paid call. A declined payment is answered with a fresh challenge for
/// `operation` and `query`.
pub(crate) fn deliver(
    ended: Ended,
    challenger: &Challenger,
    operation: Operation,
    query: Option<&str>,
    id: RequestId,
) -> Reply {
    match ended {
        Ended::Delivered(Delivered { stored, again }) => answer(stored, again),
        Ended::Refused(Refusal::Declined(declined)) => {
            observe::declined(&declined.reason);
            challenger.reply(operation, query, &declined, id)
        }
        Ended::Refused(refusal) => error(refusal).into_reply(id),
    }
}

fn answer(stored: StoredAnswer, again: bool) -> Reply {
    let StoredAnswer {
        answer,
        receipt,
        is_repetition,
        ..
    } = stored;
    let status = StatusCode::from_u16(answer.status()).unwrap_or(StatusCode::OK);
    let mut reply = crate::reply::json(status, Bytes::new());
    let headers = reply.headers_mut();
    for (name, value) in answer.headers() {
        if let Ok(name) = HeaderName::try_from(name.as_ref()) {
            headers.insert(name, header_value(value));
        }
    }
    headers.insert(PAYMENT_RESPONSE, own_header_value(receipt.header));
    headers.insert(
        CONTENT_DIGEST,
        own_header_value(content_digest(answer.body_digest())),
    );
    if again {
        headers.insert("x-served-again", HeaderValue::from_static("true"));
    }
    if is_repetition {
        headers.insert("purchase-repeated", HeaderValue::from_static("1"));
    }
    *reply.body_mut() = answer.into_body().into();
    reply
}

/// The digest of a body as RFC 9530 writes it.
fn content_digest(sha256: B256) -> String {
    format!("sha-256=:{}:", STANDARD.encode(sha256))
}

fn error(refusal: Refusal) -> ErrorReply {
    match refusal {
        // `deliver` answers declined payments itself, with a challenge.
        Refusal::Declined(declined) => {
            ErrorReply::new(ErrorCode::PaymentRequired, declined.message)
        }
        Refusal::Parameters(problems) => invalid_parameters(&problems),
        Refusal::InFlight { state } => {
            let message = "this payment is being worked on; send it again to get its answer";
            ErrorReply::new(ErrorCode::PaymentInFlight, message)
                .detail("state", state.to_string())
                .naming(LOOK_UP)
                .next(&again(SOON))
        }
        Refusal::BoundElsewhere { next } => {
            let message = match next {
                Next::LookUp { .. } => {
                    "this payment belongs to another request, or came with another signature"
                }
                _ => {
                    "a settlement of this payment was tried for another request, and it pays for no \
                     other one"
                }
            };
            bound_elsewhere(message, "another_request").next(&next)
        }
        Refusal::IdentifierTaken { transaction, url } => {
            let message = "this payment identifier belongs to another request of yours; the payment was not used";
            let error = ErrorReply::new(ErrorCode::IdentifierTaken, message);
            with_transaction(error, transaction).next(&Next::LookUp { url })
        }
        Refusal::PurchaseUndecided { url } => {
            let message = "it is not known yet whether your earlier payment for this request was settled, so this one was not \
                           used; look the earlier one up, or send this one again later. To buy the same a second time at \
                           once, sign a payment with another payment identifier (extension payment-identifier)";
            ErrorReply::new(ErrorCode::PurchaseUndecided, message)
                .retry_after(LATER)
                .next(&Next::LookUp { url })
        }
        Refusal::ActionRepeated { began, url } => {
            let message = "your earlier payment has begun this action and its answer was delivered, so this payment was not \
                           used. To begin it a second time, sign a payment with another payment identifier (extension \
                           payment-identifier)";
            let error = ErrorReply::new(ErrorCode::ActionRepeated, message)
                .header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            let error = began
                .into_iter()
                .fold(error, |error, (name, value)| error.detail(&name, value));
            error.next(&Next::LookUp { url })
        }
        Refusal::TooManyRepetitions { url } => {
            let message = "too many payments were answered for one purchase; this one was not used. Look up the payment that \
                           bought it, and send that one again to get the answer";
            ErrorReply::new(ErrorCode::RateLimited, message)
                .detail("reason", "too_many_repetitions")
                .retry_after(LATER)
                .next(&Next::LookUp { url })
        }
        Refusal::AnswerExpired { transaction, url } => {
            let message = "this payment was settled, and its answer is no longer kept";
            let error = bound_elsewhere(message, "answer_expired");
            with_transaction(error, Some(transaction)).next(&Next::LookUp { url })
        }
        Refusal::AnswerPrivate { transaction, url } => {
            let message = "this payment was settled; an answer about the payer's own wallet is sent again only for the same \
                           request with the same payment identifier, and not for long";
            let error = bound_elsewhere(message, "answer_private")
                .detail("state", "settled")
                .header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            with_transaction(error, Some(transaction)).next(&Next::LookUp { url })
        }
        Refusal::NoAnswer { transaction, url } => {
            let message = "this payment was made to this service before, but the ledger has no record and no answer of it; \
                           ask the operator, and name the transaction";
            let error = bound_elsewhere(message, "no_answer");
            with_transaction(error, Some(transaction)).next(&Next::LookUp { url })
        }
        Refusal::Pending(pending) => not_decided(pending),
        Refusal::OutOfCredit {
            retry_after_seconds,
        } => {
            let message = "too much work was done here for calls that were not charged; the payment was not used";
            ErrorReply::new(ErrorCode::RateLimited, message)
                .detail("reason", "out_of_credit")
                .next(&again(retry_after_seconds))
        }
        Refusal::OneCallAtATime => {
            let message = "a call of this payer is in flight, and payers without credit have one at a time; the payment was \
                           not used";
            ErrorReply::new(ErrorCode::RateLimited, message)
                .detail("reason", "one_call_at_a_time")
                .next(&again(SOON))
        }
        Refusal::TooManyCalls => {
            let message = "too many paid calls are in flight; the payment was not used";
            ErrorReply::new(ErrorCode::RateLimited, message)
                .detail("reason", "too_many_calls")
                .next(&again(SOON))
        }
        Refusal::SettlementUnavailable => {
            let message =
                "payments cannot be verified or settled right now; the payment was not used";
            ErrorReply::new(ErrorCode::UpstreamUnavailable, message)
                .detail("reason", "settlement_unavailable")
                .next(&again(LATER))
        }
        Refusal::LedgerUnavailable => {
            let message = "the payment ledger is not available; send the same payment again, and do not sign a new one";
            ErrorReply::new(ErrorCode::LedgerUnavailable, message)
                .naming(LOOK_UP)
                .next(&again(LATER))
        }
        // Nothing that the caller does now makes room.
        Refusal::Work(error) if error.code() == ErrorCode::WalletsFull => error.next(&Next::None),
        // The payment was released, so it is still good for the same call.
        Refusal::Work(error)
            if matches!(error.code().status(), 429 | 503)
                || error.code() == ErrorCode::WorthUnknown =>
        {
            let after = error.retry_after_seconds().unwrap_or(LATER);
            error.next(&again(after))
        }
        Refusal::Work(error) => error,
    }
}

fn again(after_seconds: u64) -> Next {
    Next::SendSameAgain { after_seconds }
}

fn invalid_parameters(problems: &[Problem]) -> ErrorReply {
    let problems = serde_json::to_value(problems).unwrap_or_default();
    let message = "the parameters are not valid; the payment was not used";
    ErrorReply::new(ErrorCode::InvalidParams, message).detail("problems", problems)
}

fn bound_elsewhere(message: &str, reason: &'static str) -> ErrorReply {
    ErrorReply::new(ErrorCode::PaymentBoundElsewhere, message).detail("reason", reason)
}

fn with_transaction(error: ErrorReply, transaction: Option<String>) -> ErrorReply {
    match transaction {
        Some(transaction) if !transaction.is_empty() => error.detail("transaction", transaction),
        _ => error,
    }
}

/// The error of an unknown outcome. The caller must neither sign anew nor assume anything.
fn not_decided(pending: Pending) -> ErrorReply {
    let Pending {
        network,
        payer,
        transaction,
        url,
        undecidable,
    } = pending;
    let of = |message: &str| ErrorReply::new(ErrorCode::SettlementPending, message);
    let (error, next) = match undecidable {
        true => (
            of(
                "only the operator can find out whether this payment was settled; do not sign a new one for the same call",
            ),
            Next::LookUp { url },
        ),
        false => (
            of(
                "it is not known yet whether this payment was settled; send the same payment again, and do not sign a new one",
            )
            .naming(&url),
            again(LATER),
        ),
    };
    let mut error = error
        .retry_after(LATER)
        .header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if undecidable {
        error = error.detail("reason", "undecidable").retryable(false);
    }
    let receipt = SettlementResponse::failed(
        &Reason::SettlementPending,
        transaction.as_deref().unwrap_or_default(),
        network,
        payer,
    );
    let error = error.header(PAYMENT_RESPONSE, own_header_value(receipt.to_header()));
    with_transaction(error, transaction).next(&next)
}
