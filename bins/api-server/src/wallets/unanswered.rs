//! Runs the paid calls of wallet actions again that ended without a charge, because their
//! transactions may be on a chain. A crash may have interrupted the call, or its settlement has
//! failed. It looks for such calls after a start, and then periodically.
//!
//! An intent keeps the call that paid for it until the call is charged, and then a digest of it.
//! Each uncharged call of the last day is taken once more when no server works on it, as if its
//! caller had sent it again: the same claim, the same intent, the same charge. So the action is
//! charged, and the caller finds its answer. An intent without effect stays uncharged and is not
//! tried again, because only its caller can decide that.
//!
//! Once the window of a payment has closed, it can no longer be settled. The same is true when it
//! belongs to another request since the action's own call has ended without an answer, and when it
//! got the answer of another payment. The module [`uncharged`] handles the action then.

use std::collections::HashSet;
use std::time::Duration;

use ledger::{Journal, State};
use settlement::Settler;
use tokio::task::JoinSet;
use wallet_actions::{Intent, IntentId, StoreError, WalletActions};
use x402_wire::MAX_WINDOW_SECONDS;

use super::uncharged::{self, Uncharged};
use crate::payment::{KeptCall, PaymentProcessor, Worker};

/// The pause before the next look at a call. After each try that could not settle its payment, the
/// pause is twice as long.
const PAUSE: Duration = Duration::from_secs(5);

/// The pause before the next look at a payment that only the operator can decide.
const UNDECIDED_PAUSE: Duration = Duration::from_secs(60);

/// An intent without a transaction in a block is deleted when it is this old, and a prohibition. By
/// then the window of its payment or the deadline of its move has been over for a day.
const KEPT_SECONDS: u64 = 2 * MAX_WINDOW_SECONDS;

// What is taken again may still be charged, so no other payment begins it meanwhile.
const _: () = assert!(MAX_WINDOW_SECONDS == wallet_actions::CHARGED_WITHIN_SECONDS);

/// The most intents that are listed or deleted at once.
const PAGE: u32 = 500;

/// Takes the calls of the intents of the last day once more, in parallel. It skips calls that the
/// journal has as answered, and intents without effect: their callers may know that, and may have
/// done something else since. Looks for further intents after each pause of `every`, and deletes
/// old ones that did nothing; never ends.
pub(crate) async fn answer_again<S: Settler, J: Journal, W: Worker>(
    actions: &WalletActions,
    processor: &PaymentProcessor<S, J, W>,
    every: Duration,
) {
    let mut looked_at = HashSet::new();
    let mut calls = JoinSet::new();
    loop {
        match awaiting_charge(actions).await {
            Ok(listed) => {
                looked_at.retain(|id| listed.contains(id));
                for id in listed {
                    if looked_at.insert(id.clone()) {
                        let (actions, processor) = (actions.clone(), processor.clone());
                        calls.spawn(async move { take_again(&actions, &processor, &id).await });
                    }
                }
            }
            Err(error) => {
                let code = error.code();
                tracing::error!(code, "interrupted actions cannot be listed");
            }
        }
        let old = actions.now().saturating_sub(KEPT_SECONDS);
        if let Err(error) = actions.forget(old, PAGE).await {
            tracing::warn!(code = error.code(), "old actions cannot be deleted");
        }
        tokio::time::sleep(every).await;
        while calls.try_join_next().is_some() {}
    }
}

/// The intents of the last day that may still have to be charged.
async fn awaiting_charge(actions: &WalletActions) -> Result<HashSet<IntentId>, StoreError> {
    let mut listed = HashSet::new();
    let mut after = (actions.now().saturating_sub(MAX_WINDOW_SECONDS), None);
    loop {
        let page = actions.awaiting_charge(after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(listed);
        };
        after = last.clone();
        listed.extend(page.into_iter().filter_map(|(_, id)| id));
    }
}

/// Takes a call again until its payment is settled or can no longer be used.
async fn take_again<S: Settler, J: Journal, W: Worker>(
    actions: &WalletActions,
    processor: &PaymentProcessor<S, J, W>,
    id: &IntentId,
) {
    let mut pause = PAUSE;
    loop {
        let mut next = pause;
        // What fails is tried again after the pause.
        match actions.find(id).await {
            Ok(None) => return,
            Ok(Some(intent)) if intent.came_to_nothing() => return,
            Ok(Some(intent)) => match take_once(actions, processor, intent).await {
                Taken::Done => return,
                Taken::Repeated => next = pause.saturating_mul(2),
                Taken::Undecided => next = UNDECIDED_PAUSE,
                Taken::Not => {}
            },
            Err(_) => {}
        }
        tokio::time::sleep(pause).await;
        pause = next;
    }
}

/// The result of a look at a call.
enum Taken {
    /// Nothing is left to do.
    Done,
    /// The call was repeated.
    Repeated,
    /// Only the operator can decide its payment.
    Undecided,
    /// A server works on the call, or something failed.
    Not,
}

async fn take_once<S: Settler, J: Journal, W: Worker>(
    actions: &WalletActions,
    processor: &PaymentProcessor<S, J, W>,
    intent: Intent,
) -> Taken {
    let id = intent.id.clone();
    let kept = serde_json::from_str(&intent.call).ok();
    let Some((call, payload)) = kept.and_then(|kept: KeptCall| kept.again()) else {
        return closed(actions, &intent).await;
    };
    let Ok(state) = processor.state(&call).await else {
        return Taken::Not;
    };
    // After the state, because a payment that has such an end keeps it.
    let Ok(pays_elsewhere) = processor.pays_elsewhere(&call).await else {
        return Taken::Not;
    };
    let why = match state {
        Some(State::Settled | State::Released) if pays_elsewhere => Uncharged::PaidElsewhere,
        Some(State::Settled) => return closed(actions, &intent).await,
        None | Some(State::Released) if processor.is_expired(&call) => Uncharged::Expired,
        None | Some(State::Released) => {
            tracing::info!(intent = %id, "an interrupted call of an action is repeated");
            processor.process(call, payload).await;
            return Taken::Repeated;
        }
        Some(State::Undecidable) => return Taken::Undecided,
        _ => return Taken::Not,
    };
    match uncharged::go_on(actions, processor, intent, &call, why).await {
        true => Taken::Done,
        false => Taken::Not,
    }
}

/// Records that the intent has no call that must still be charged.
async fn closed(actions: &WalletActions, intent: &Intent) -> Taken {
    let rest = KeptCall::without_body(&intent.call);
    match actions.note_charged(&intent.id, &rest).await {
        Ok(()) => Taken::Done,
        Err(_) => Taken::Not,
    }
}
