//! Actions whose calls a crash has cut off: something may stand on a chain that is not charged yet.
//!
//! An intent keeps the call that was paid for. After a start each call of the last day is taken
//! once more, as if its caller had sent it again: the same claim, the same intent, the same charge.
//! So what happened is charged, and the caller finds its answer. An intent that came to nothing
//! stays uncharged, and is not tried again: only its caller can want that.

use std::time::Duration;

use alloy_primitives::U256;
use bytes::Bytes;
use http_edge::RequestIds;
use ledger::{Journal, RequestBinding, State};
use route_catalog::Operation;
use serde::{Deserialize, Serialize};
use settlement::Settler;
use tokio::task::JoinSet;
use wallet_actions::{Intent, IntentId, WalletActions};
use x402_wire::{MAX_WINDOW_SECONDS, PaymentPayload};

use crate::payment::{PaidCall, PaymentProcessor, Request, Worker};

/// The pause before a call is taken again whose payment could not be settled; each next one is
/// twice as long.
const PAUSE: Duration = Duration::from_secs(5);

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

/// Takes the calls of the intents of the last day once more, side by side. Those that were answered
/// are known to the journal, and nothing is done for them. Neither is anything done for an intent
/// that came to nothing: its caller may have heard so, and have turned to something else.
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
    let mut calls = JoinSet::new();
    for intent in intents {
        if let Ok(kept) = serde_json::from_str(&intent.call) {
            let (actions, processor) = (actions.clone(), processor.clone());
            calls.spawn(async move { take_again(&actions, &processor, &intent.id, &kept).await });
        }
    }
    calls.join_all().await;
}

/// Takes a call again until its payment is settled, or can be used no more.
async fn take_again<S: Settler, J: Journal, W: Worker>(
    actions: &WalletActions,
    processor: &PaymentProcessor<S, J, W>,
    id: &IntentId,
    kept: &KeptCall,
) {
    let mut pause = PAUSE;
    while let Some((call, payload)) = kept.again() {
        let is_over = payload.authorization().valid_before <= U256::from(actions.now());
        let intent = actions.find(id).await;
        if is_over || matches!(&intent, Ok(Some(intent)) if came_to_nothing(intent)) {
            return;
        }
        match processor.state(&call).await {
            Ok(Some(State::Settled | State::Undecidable)) => return,
            Ok(None | Some(State::Released)) if intent.is_ok() => {
                tracing::info!(intent = %id, "an action's call was cut off, and is taken again");
                processor.process(call, payload).await;
            }
            // Somebody else is at it, or it cannot be known now.
            Ok(_) | Err(_) => {}
        }
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2);
    }
}

fn came_to_nothing(intent: &Intent) -> bool {
    intent.state.is_over() && !intent.has_effect()
}
