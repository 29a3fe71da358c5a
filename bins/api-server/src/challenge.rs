//! The 402 answer: the challenge of an operation in header and body, with the reason why a payment
//! was declined. It decides nothing about a payment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_edge::RequestId;
use route_catalog::{Catalog, ErrorCode, Next, Operation, Refusal};
use x402_wire::Reason;

use crate::payment::Declined;
use crate::reply::{self, NO_STORE, PAYMENT_REQUIRED, PAYMENT_RESPONSE, Reply, header_value};

/// The most headers that are cached, of about three kilobytes each.
const MOST_KEPT: usize = 256;

/// Answers with 402.
pub(crate) struct Challenger {
    catalog: Arc<Catalog>,
    /// Encoded headers. Calls with the same query and the same reason get the same header, and
    /// encoding and checking its three kilobytes is the largest part of answering.
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// By operation, query and message.
    headers: HashMap<Operation, HashMap<String, HashMap<String, HeaderValue>>>,
    count: usize,
}

impl Kept {
    fn find(&self, operation: Operation, query: &str, message: &str) -> Option<HeaderValue> {
        self.headers
            .get(&operation)?
            .get(query)?
            .get(message)
            .cloned()
    }

    fn keep(&mut self, operation: Operation, query: &str, message: &str, header: HeaderValue) {
        if self.count >= MOST_KEPT {
            *self = Self::default();
        }
        self.count = self.count.saturating_add(1);
        let by_query = self.headers.entry(operation).or_default();
        let by_message = by_query.entry(query.to_owned()).or_default();
        by_message.insert(message.to_owned(), header);
    }
}

impl Challenger {
    pub(crate) fn new(catalog: Arc<Catalog>) -> Self {
        Self {
            catalog,
            kept: Mutex::default(),
        }
    }

    /// Makes a 402 answer: a challenge in header and body, and the reason why a payment was
    /// declined.
    pub(crate) fn reply(
        &self,
        operation: Operation,
        query: Option<&str>,
        declined: &Declined,
        id: RequestId,
    ) -> Reply {
        let request_id = id.text();
        let refusal = Refusal {
            code: ErrorCode::PaymentRequired.code(),
            reason: declined.reason.as_str(),
            retryable: declined.retryable(),
            next: &declined.next,
            request_id: &request_id,
        };
        let error = declined.sentence();
        let body = self
            .catalog
            .challenge_body(operation, query, &error, Some(&refusal));
        let mut reply = reply::json(StatusCode::PAYMENT_REQUIRED, body);
        let headers = reply.headers_mut();
        let header = self.header(operation, query, declined, &error);
        headers.insert(PAYMENT_REQUIRED, header);
        headers.insert(header::CACHE_CONTROL, NO_STORE);
        if let Some(receipt) = &declined.receipt {
            headers.insert(PAYMENT_RESPONSE, header_value(receipt));
        }
        reply
    }

    fn header(
        &self,
        operation: Operation,
        query: Option<&str>,
        declined: &Declined,
        error: &str,
    ) -> HeaderValue {
        let make = || {
            let header = self.catalog.challenge_header(operation, query, error);
            // Base64 is always a valid header value.
            HeaderValue::from_maybe_shared(Bytes::from(header))
                .unwrap_or(HeaderValue::from_static(""))
        };
        if !declined.is_of_the_header() {
            return make();
        }
        let query = query.unwrap_or_default();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(header) = kept.find(operation, query, error) {
            return header;
        }
        let header = make();
        kept.keep(operation, query, error, header.clone());
        header
    }
}

impl Declined {
    /// The text of the challenge. A buyer may show it alone, or take it for the answer. So it
    /// begins with what happened to the money.
    fn sentence(&self) -> String {
        // Others hold the authorization.
        let charge = match self.next {
            Next::Wait { .. } => "Nothing was charged so far",
            _ => "Nothing was charged",
        };
        format!("{charge}: {}", self.message)
    }

    /// Whether the payment header could not be read. The message of such a refusal depends on no
    /// payment, so few different ones exist.
    fn is_of_the_header(&self) -> bool {
        matches!(
            self.reason,
            Reason::PaymentMissing
                | Reason::DuplicatePaymentHeader
                | Reason::UnsupportedX402V1
                | Reason::InvalidPayload
                | Reason::InvalidX402Version
        )
    }
}
