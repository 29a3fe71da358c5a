//! Handles an action whose payment can no longer be settled for it. The action is cancelled when
//! nothing was signed. Otherwise it continues without a charge: once it has an effect, the intent
//! records that, the ledger too when the payment has expired, and a metric counts it.

use std::time::Duration;

use ledger::Journal;
use settlement::Settler;
use tokio::time::Instant;
use wallet_actions::{GivenUp, Intent, WalletActions};

use crate::observe;
use crate::payment::{PaidCall, PaymentProcessor, Worker};

/// The time limit of one look at an intent for its first effect.
const LOOK: Duration = Duration::from_secs(60);

/// The pause between two looks at an intent.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// The pause before a failed write is tried again.
const PAUSE: Duration = Duration::from_secs(5);

/// Why an action is not charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Uncharged {
    /// The window of its payment has closed.
    Expired,
    /// Its payment belongs to another request, or got the answer of another payment.
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
pub(super) async fn go_on<S: Settler, J: Journal, W: Worker>(
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

/// Records in the intent that an action is not charged, and in the ledger too when the payment has
/// expired. The server that records it in the intent also counts it. Returns `false` when the
/// ledger has the payment in a state in which it may pay for the action.
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
        Uncharged::PaidElsewhere => processor.pays_elsewhere(call).await,
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
