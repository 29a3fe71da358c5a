//! The 402 answer.

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_edge::RequestId;
use route_catalog::{Catalog, Operation, Refusal};

use crate::paid::Declined;
use crate::reply::{self, NO_STORE, PAYMENT_REQUIRED, PAYMENT_RESPONSE, Reply, header_value};

/// 402 with a fresh challenge in header and body, and why the payment that came was not taken.
pub(crate) fn reply(
    catalog: &Catalog,
    operation: Operation,
    query: Option<&str>,
    declined: &Declined,
    id: RequestId,
) -> Reply {
    let request_id = id.to_string();
    let refusal = Refusal {
        code: route_catalog::ErrorCode::PaymentRequired.code(),
        reason: declined.reason.as_str(),
        retryable: true,
        request_id: &request_id,
    };
    let challenge = catalog.challenge(operation, query, &declined.message, Some(&refusal));
    let mut reply = reply::json(StatusCode::PAYMENT_REQUIRED, challenge.body);
    let headers = reply.headers_mut();
    // Base64 is always a header value.
    let required = HeaderValue::from_maybe_shared(Bytes::from(challenge.header))
        .unwrap_or(HeaderValue::from_static(""));
    headers.insert(PAYMENT_REQUIRED, required);
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    if let Some(receipt) = &declined.receipt {
        headers.insert(PAYMENT_RESPONSE, header_value(receipt));
    }
    reply
}
