//! A paid call as text, for work that must be able to repeat its call after a restart.

use bytes::Bytes;
use http_edge::RequestIds;
use ledger::RequestBinding;
use route_catalog::Operation;
use serde::{Deserialize, Serialize};
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
