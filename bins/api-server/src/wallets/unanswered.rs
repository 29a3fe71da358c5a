//! Runs the paid calls of wallet actions again that ended without a charge, because their
//! transactions may be on a chain. A crash may have interrupted the call, or its settlement has
//! failed. It looks for such calls after a start, and then periodically.
//!
//! An intent keeps the call that paid for it. Each call of the last day is taken once more when no
//! server works on it, as if its caller had sent it again: the same claim, the same intent, the
//! same charge. So the action is charged, and the caller finds its answer. An intent without effect
//! stays uncharged and is not tried again, because only its caller can decide that.
//!
//! Once the window of a payment has closed, it can no longer be settled. The same is true when it
//! has paid for another request after the action's own call had ended without an answer. The module
//! [`uncharged`] handles the action then.

use std::collections::HashSet;
use std::time::Duration;

use ledger::{Journal, State};
use settlement::Settler;
use tokio::task::JoinSet;
use wallet_actions::{IntentId, WalletActions};
use x402_wire::MAX_WINDOW_SECONDS;

use super::uncharged::{self, Uncharged};
use crate::payment::{KeptCall, PaymentProcessor, Worker};

/// The pause before the next look at a call. After each try that could not settle its payment, the
/// pause is twice as long.
const PAUSE: Duration = Duration::from_secs(5);

/// The pause before the next look at a payment that only the operator can decide.
const UNDECIDED_PAUSE: Duration = Duration::from_secs(60);

/// Takes the calls of the intents of the last day once more, in parallel. It skips calls that the
/// journal has as answered, and intents without effect: their callers may know that, and may have
/// done something else since. Looks for further intents after each pause of `every`; never ends.
pub(crate) async fn answer_again<S: Settler, J: Journal, W: Worker>(
    actions: &WalletActions,
    processor: &PaymentProcessor<S, J, W>,
    every: Duration,
) {
    let mut looked_at = HashSet::new();
    let mut calls = JoinSet::new();
    loop {
        let since = actions.now().saturating_sub(MAX_WINDOW_SECONDS);
        match actions.since(since).await {
            Ok(intents) => {
                let listed: HashSet<&IntentId> = intents.iter().map(|intent| &intent.id).collect();
                looked_at.retain(|id| listed.contains(id));
                for intent in intents {
                    if !looked_at.insert(intent.id.clone()) {
                        continue;
                    }
                    if let Ok(kept) = serde_json::from_str(&intent.call) {
                        let (actions, processor) = (actions.clone(), processor.clone());
                        calls.spawn(async move {
                            take_again(&actions, &processor, &intent.id, &kept).await;
                        });
                    }
                }
            }
            Err(error) => {
                let code = error.code();
                tracing::error!(code, "interrupted actions cannot be listed");
            }
        }
        tokio::time::sleep(every).await;
        while calls.try_join_next().is_some() {}
    }
}

/// Takes a call again until its payment is settled or can no longer be used.
async fn take_again<S: Settler, J: Journal, W: Worker>(
    actions: &WalletActions,
    processor: &PaymentProcessor<S, J, W>,
    id: &IntentId,
    kept: &KeptCall,
) {
    let mut pause = PAUSE;
    while let Some((call, payload)) = kept.again() {
        let mut next = pause;
        // Reads that fail are tried again after the pause.
        match (actions.find(id).await, processor.state(&call).await) {
            (Ok(None), _) => return,
            (Ok(Some(intent)), _) if intent.came_to_nothing() => return,
            (Ok(Some(intent)), Ok(Some(State::Settled))) => {
                match processor.is_bound_elsewhere(&call).await {
                    Ok(false) => return,
                    Ok(true) => {
                        let why = Uncharged::PaidElsewhere;
                        if uncharged::go_on(actions, processor, intent, &call, why).await {
                            return;
                        }
                    }
                    Err(_) => {}
                }
            }
            (Ok(Some(intent)), Ok(None | Some(State::Released))) => {
                if processor.is_expired(&call) {
                    let why = Uncharged::Expired;
                    if uncharged::go_on(actions, processor, intent, &call, why).await {
                        return;
                    }
                } else {
                    tracing::info!(intent = %id, "an interrupted call of an action is repeated");
                    processor.process(call, payload).await;
                    next = pause.saturating_mul(2);
                }
            }
            (_, Ok(Some(State::Undecidable))) => next = UNDECIDED_PAUSE,
            // A server works on the call, or its state cannot be read now.
            _ => {}
        }
        tokio::time::sleep(pause).await;
        pause = next;
    }
}
