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
//! has paid for another request after the action's own call had ended without an answer. An action
//! that was not signed yet is then cancelled. A signed action continues without a charge: the
//! ledger and the intent record that, and a metric counts it.

use std::collections::HashSet;
use std::time::Duration;

use ledger::{Journal, State};
use settlement::Settler;
use tokio::task::JoinSet;
use tokio::time::Instant;
use wallet_actions::{GivenUp, Intent, IntentId, WalletActions};
use x402_wire::MAX_WINDOW_SECONDS;

use crate::observe;
use crate::payment::{KeptCall, PaidCall, PaymentProcessor, Worker};

/// The pause before the next look at a call. After each try that could not settle its payment, the
/// pause is twice as long.
const PAUSE: Duration = Duration::from_secs(5);

/// The time limit of one look at an intent for its first sealed transaction.
const LOOK: Duration = Duration::from_secs(60);
/// The pause between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

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
                        if go_on_uncharged(actions, processor, intent, &call, why).await {
                            return;
                        }
                    }
                    Err(_) => {}
                }
            }
            (Ok(Some(intent)), Ok(None | Some(State::Released))) => {
                if processor.is_expired(&call) {
                    let why = Uncharged::Expired;
                    if go_on_uncharged(actions, processor, intent, &call, why).await {
                        return;
                    }
                } else {
                    tracing::info!(intent = %id, "an interrupted call of an action is repeated");
                    processor.process(call, payload).await;
                    next = pause.saturating_mul(2);
                }
            }
            // The operator decides. The look for what follows need not be soon.
            (_, Ok(Some(State::Undecidable))) => next = LOOK,
            // A server works on the call, or its state cannot be read now.
            _ => {}
        }
        tokio::time::sleep(pause).await;
        pause = next;
    }
}

/// Why an action is not charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Uncharged {
    /// The window of its payment has closed.
    Expired,
    /// Its payment has paid for another request.
    PaidElsewhere,
}

impl Uncharged {
    /// The reason in the intent and in the log.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "payment_expired",
            Self::PaidElsewhere => "payment_bound_elsewhere",
        }
    }
}

/// Handles an intent whose payment can no longer be settled for it: cancels it if nothing was
/// signed for it, and otherwise lets it continue uncharged. Returns `false` when the payment may
/// have been settled for it after all.
async fn go_on_uncharged<S: Settler, J: Journal, W: Worker>(
    actions: &WalletActions,
    processor: &PaymentProcessor<S, J, W>,
    mut intent: Intent,
    call: &PaidCall,
    why: Uncharged,
) -> bool {
    let id = intent.id.clone();
    match actions.give_up(&id, why.as_str()).await {
        Ok(Some(GivenUp::Cancelled(_))) => {
            let reason = why.as_str();
            tracing::info!(intent = %id, reason, "an action is cancelled because its payment cannot pay for it");
            return true;
        }
        Ok(_) => {}
        Err(refused) => tracing::warn!(intent = %id, %refused, "an action cannot be cancelled"),
    }
    // The action counts as uncharged only once one of its transactions has an effect.
    while !intent.has_effect() {
        match actions.wait(&id, Instant::now() + LOOK).await {
            Ok(Some(found)) if found.came_to_nothing() => return true,
            Ok(Some(found)) => intent = found,
            Ok(None) => return true,
            Err(error) => {
                tracing::warn!(intent = %id, code = error.code(), "an action cannot be read");
            }
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
    loop {
        match note_uncharged(actions, processor, &intent, call, why).await {
            Ok(is_uncharged) => return is_uncharged,
            Err(code) => {
                tracing::error!(intent = %id, code, "an uncharged action cannot be recorded, and is tried again");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Records in the ledger and in the intent that an action is not charged. The server that records
/// it in the intent also counts it. Returns `false` when the ledger has the payment in a state in
/// which it may pay for the action.
async fn note_uncharged<S: Settler, J: Journal, W: Worker>(
    actions: &WalletActions,
    processor: &PaymentProcessor<S, J, W>,
    intent: &Intent,
    call: &PaidCall,
    why: Uncharged,
) -> Result<bool, &'static str> {
    let (operation, price) = (intent.operation.as_str(), intent.price_micro_usd);
    let is_uncharged = match why {
        Uncharged::Expired => processor.forgo(call, price).await,
        Uncharged::PaidElsewhere => processor.is_bound_elsewhere(call).await,
    };
    if !is_uncharged.map_err(|error| error.code())? {
        return Ok(false);
    }
    let noted = actions.note_uncharged(&intent.id).await;
    if noted.map_err(|error| error.code())? {
        observe::action_uncharged(operation);
        let reason = why.as_str();
        tracing::warn!(intent = %intent.id, owner = intent.owner, operation, price_micro_usd = price, reason, "an action is not charged");
    }
    Ok(true)
}
