//! A paid call as text, for work that must be able to repeat its call after a restart.

use alloy_primitives::{B256, keccak256};
use bytes::Bytes;
use http_edge::RequestIds;
use ledger::RequestBinding;
use route_catalog::Operation;
use serde::{Deserialize, Serialize};
use serde_json::json;
use x402_wire::PaymentPayload;

use super::call::{PaidCall, Request};

/// The parts of a paid call that a repetition needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptCall {
    operation: String,
    query: Option<String>,
    body: String,
    payment: String,
}

impl KeptCall {
    /// Renders the call as JSON.
    pub(crate) fn text(request: &Request, payment: &PaymentPayload) -> String {
        let kept = Self {
            operation: request.operation.name().to_owned(),
            query: request.query.clone(),
            body: String::from_utf8_lossy(&request.body).into_owned(),
            payment: payment.raw().to_owned(),
        };
        serde_json::to_string(&kept).unwrap_or_default()
    }

    /// Whether two kept calls are for the same request, whatever their payments. Either may be
    /// [`without_body`](Self::without_body).
    pub(crate) fn are_of_one_request(one: &str, other: &str) -> bool {
        Self::without_body(one) == Self::without_body(other)
    }

    /// What stays of a call that will not be repeated: the digest of its request. Any other text
    /// stays as it is.
    pub(crate) fn without_body(text: &str) -> String {
        let Ok(kept) = serde_json::from_str::<Self>(text) else {
            return text.to_owned();
        };
        let request = json!([kept.operation, kept.query, kept.body]).to_string();
        keccak256(request).to_string()
    }

    /// The digest of the purchase of a kept call: its request and its payment identifier, whatever
    /// its authorization. The payer is not part of it. `None` for any other text.
    pub(crate) fn purchase(text: &str) -> Option<B256> {
        let kept: Self = serde_json::from_str(text).ok()?;
        let payment = PaymentPayload::from_json(kept.payment.as_bytes()).ok()?;
        let id = payment.payment_id();
        let purchase = json!([kept.operation, kept.query, kept.body, id]);
        Some(keccak256(purchase.to_string()))
    }

    /// Makes the call again.
    pub(crate) fn again(&self) -> Option<(PaidCall, PaymentPayload)> {
        let is_named = |operation: &Operation| operation.name() == self.operation;
        let operation = Operation::ALL.into_iter().find(is_named)?;
        let payload = PaymentPayload::from_json(self.payment.as_bytes()).ok()?;
        let body = Bytes::from(self.body.clone().into_bytes());
        let (route, query) = (operation.route(), self.query.as_deref());
        let binding = RequestBinding::new(route.method.as_str(), route.path, query, &body);
        let request = Request {
            id: RequestIds::new().next_id(),
            operation,
            query: self.query.clone(),
            body,
            max_age: Ok(None),
            client: None,
            binding,
        };
        Some((PaidCall::new(request, &payload), payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_payments_for_one_request_are_recognised() {
        let text = |operation: &str, query: Option<&str>, body: &str, payment: &str| {
            let kept = KeptCall {
                operation: operation.to_owned(),
                query: query.map(str::to_owned),
                body: body.to_owned(),
                payment: payment.to_owned(),
            };
            serde_json::to_string(&kept).unwrap()
        };
        let first = text("auto_swap", None, "{}", "a");
        assert!(KeptCall::are_of_one_request(
            &first,
            &text("auto_swap", None, "{}", "b")
        ));
        // So are those that are kept without their bodies.
        let closed = KeptCall::without_body(&first);
        assert_eq!(closed.len(), 66);
        assert_eq!(KeptCall::without_body(&closed), closed);
        let again = text("auto_swap", None, "{}", "c");
        assert!(KeptCall::are_of_one_request(&closed, &again));
        for other in [
            text("auto_bridge", None, "{}", "a"),
            text("auto_swap", Some("a=1"), "{}", "a"),
            text("auto_swap", None, "{ }", "a"),
            String::new(),
        ] {
            assert!(!KeptCall::are_of_one_request(&first, &other), "{other}");
            assert!(!KeptCall::are_of_one_request(&closed, &other), "{other}");
        }
    }
}
