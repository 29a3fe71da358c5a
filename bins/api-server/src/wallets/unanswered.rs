//! Actions whose calls a crash has cut off: something may stand on a chain that is not charged yet.
//!
//! An intent keeps the call that was paid for. After a start each call of the last day is taken
//! once more, as if its caller had sent it again: the same claim, the same intent, the same charge.
//! So what happened is charged, and the caller finds its answer. An intent that came to nothing
//! ends uncharged, as before.

use bytes::Bytes;
use http_edge::RequestIds;
use ledger::{Journal, RequestBinding};
use route_catalog::Operation;
use serde::{Deserialize, Serialize};
use settlement::Settler;
use wallet_actions::WalletActions;
use x402_wire::{MAX_WINDOW_SECONDS, PaymentPayload};

use crate::payment::{PaidCall, PaymentProcessor, Request, Worker};

/// A paid call, as an intent keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptCall {
    operation: String,
    query: Option<String>,
    body: String,
    payment: String,
}

impl KeptCall {
    /// The call, as JSON.
    pub(crate) fn text(request: &Request, payment: &PaymentPayload) -> String {
        let kept = Self {
            operation: request.operation.name().to_owned(),
            query: request.query.clone(),
            body: String::from_utf8_lossy(&request.body).into_owned(),
            payment: payment.raw().to_owned(),
        };
        serde_json::to_string(&kept).unwrap_or_default()
    }

    /// The call once more.
    fn again(&self) -> Option<(PaidCall, PaymentPayload)> {
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

/// Takes the calls of the intents of the last day once more. Those that were answered are known to
/// the journal, and nothing is done for them.
pub(crate) async fn answer_again<S: Settler, J: Journal, W: Worker>(
    actions: &WalletActions,
    processor: &PaymentProcessor<S, J, W>,
) {
    let since = actions.now().saturating_sub(MAX_WINDOW_SECONDS);
    let intents = match actions.since(since).await {
        Ok(intents) => intents,
        Err(error) => {
            tracing::error!(
                code = error.code(),
                "actions that were cut off cannot be looked for"
            );
            return;
        }
    };
    for intent in intents {
        let kept: Option<KeptCall> = serde_json::from_str(&intent.call).ok();
        let Some((call, payload)) = kept.and_then(|kept| kept.again()) else {
            continue;
        };
        if !processor.is_open(&call).await {
            continue;
        }
        tracing::info!(intent = %intent.id, "an action's call was cut off, and is taken again");
        processor.process(call, payload).await;
    }
}
