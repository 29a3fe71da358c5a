//! Actions whose calls a crash has cut off: something may stand on a chain that is not charged yet.
//!
//! An intent keeps the call that was paid for. After a start each call of the last day is taken
//! once more, as if its caller had sent it again: the same claim, the same intent, the same charge.
//! So what happened is charged, and the caller finds its answer. An intent that came to nothing
//! ends uncharged, as before.
//!
//! A payment whose window has closed meanwhile cannot be settled by anybody. What was not signed
//! yet is cancelled then. What was signed goes on, with its record; it is not charged, the ledger
//! says so, and it is counted.

use std::time::Duration;

use bytes::Bytes;
use http_edge::RequestIds;
use ledger::{Journal, RequestBinding};
use route_catalog::Operation;
use serde::{Deserialize, Serialize};
use settlement::Settler;
use tokio::task::JoinSet;
use tokio::time::Instant;
use wallet_actions::{GivenUp, Intent, WalletActions};
use x402_wire::{MAX_WINDOW_SECONDS, PaymentPayload};

use crate::observe;
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

/// Why an intent is given up whose payment nobody can settle any more.
const EXPIRED: &str = "payment_expired";
/// How long one look at an intent waits for its first transaction to stand.
const LOOK: Duration = Duration::from_secs(60);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_secs(1);

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
    let mut expired = JoinSet::new();
    for intent in intents {
        let kept: Option<KeptCall> = serde_json::from_str(&intent.call).ok();
        let Some((call, payload)) = kept.and_then(|kept| kept.again()) else {
            continue;
        };
        if !processor.is_open(&call).await {
            continue;
        }
        if processor.is_expired(&call) {
            let (actions, processor) = (actions.clone(), processor.clone());
            expired
                .spawn(async move { go_on_uncharged(&actions, &processor, intent, &call).await });
            continue;
        }
        tracing::info!(intent = %intent.id, "an action's call was cut off, and is taken again");
        processor.process(call, payload).await;
    }
    while expired.join_next().await.is_some() {}
}

/// An intent whose payment nobody can settle any more: it ends if nothing was signed for it, and
/// goes on uncharged otherwise.
async fn go_on_uncharged<S: Settler, J: Journal, W: Worker>(
    actions: &WalletActions,
    processor: &PaymentProcessor<S, J, W>,
    mut intent: Intent,
    call: &PaidCall,
) {
    let id = intent.id.clone();
    match actions.give_up(&id, EXPIRED).await {
        Ok(Some(GivenUp::Cancelled(_))) => {
            tracing::info!(intent = %id, "an action is cancelled whose payment has expired");
            return;
        }
        Ok(_) => {}
        Err(refused) => tracing::warn!(intent = %id, %refused, "an action cannot be given up"),
    }
    // Nothing is given away before a transaction stands.
    while !intent.has_effect() {
        match actions.wait(&id, Instant::now() + LOOK).await {
            Ok(Some(found)) if found.state.is_over() && !found.has_effect() => return,
            Ok(Some(found)) => intent = found,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(intent = %id, code = error.code(), "an action cannot be looked at");
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    match processor.forgo(call, intent.price_micro_usd).await {
        Ok(true) => {
            observe::action_uncharged(intent.operation.as_str());
            let (operation, price) = (intent.operation.as_str(), intent.price_micro_usd);
            tracing::warn!(intent = %id, owner = intent.owner, operation, price_micro_usd = price, "an action is not charged: the window of its payment closed while the server was down");
        }
        Ok(false) => {}
        Err(error) => {
            tracing::error!(intent = %id, code = error.code(), %error, "an action that is not charged cannot be written into the ledger");
        }
    }
}
