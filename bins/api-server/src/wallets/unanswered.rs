//! Actions whose calls a crash has cut off: something may stand on a chain that is not charged yet.
//!
//! An intent keeps the call that was paid for. After a start each call of the last day is taken
//! once more, as if its caller had sent it again: the same claim, the same intent, the same charge.
//! So what happened is charged, and the caller finds its answer. An intent that came to nothing
//! stays uncharged, and is not tried again: only its caller can want that.
//!
//! A payment whose window has closed meanwhile cannot be settled by anybody. What was not signed
//! yet is cancelled then. What was signed goes on, with its record; it is not charged, the ledger
//! says so, and it is counted.

use std::time::Duration;

use ledger::{Journal, State};
use settlement::Settler;
use tokio::task::JoinSet;
use tokio::time::Instant;
use wallet_actions::{GivenUp, Intent, IntentId, WalletActions};
use x402_wire::MAX_WINDOW_SECONDS;

use crate::observe;
use crate::payment::{KeptCall, PaidCall, PaymentProcessor, Worker};

/// The pause before a call is taken again whose payment could not be settled; each next one is
/// twice as long.
const PAUSE: Duration = Duration::from_secs(5);

/// Why an intent is given up whose payment nobody can settle any more.
const EXPIRED: &str = "payment_expired";
/// How long one look at an intent waits for its first transaction to stand.
const LOOK: Duration = Duration::from_secs(60);
/// The pause between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

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
        // What cannot be known now is asked again after the pause.
        match (actions.find(id).await, processor.state(&call).await) {
            (_, Ok(Some(State::Settled | State::Undecidable))) | (Ok(None), _) => return,
            (Ok(Some(intent)), _) if came_to_nothing(&intent) => return,
            (Ok(Some(intent)), Ok(None | Some(State::Released))) => {
                if processor.is_expired(&call) {
                    return go_on_uncharged(actions, processor, intent, &call).await;
                }
                tracing::info!(intent = %id, "an action's call was cut off, and is taken again");
                processor.process(call, payload).await;
            }
            _ => {}
        }
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2);
    }
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
        tokio::time::sleep(BETWEEN_LOOKS).await;
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

fn came_to_nothing(intent: &Intent) -> bool {
    intent.state.is_over() && !intent.has_effect()
}
