//! Moves money for acting mandates, with the actions of sub-wallets.
//!
//! A move out of a product consists of two intents: the withdrawal, then a deposit of the amount
//! that arrived. A move of idle money is the deposit alone. The mover stores nothing. Every answer
//! follows from the intents and from the forbidden orders, so a process that was killed at any
//! point resumes from the records.
//!
//! An intent is found by a digest of its move's key and its half. An order that is refused for good
//! or cancelled is forbidden before the answer is given, so nothing can begin it later.

mod amounts;
mod first_half;
mod halves;
mod holdings;
mod record;

use std::sync::{Arc, Weak};

use alloy_primitives::Address;
use custody::{Owner, TurnLost, Turns};
use readings::Decimal;
use readings::defi::market::Market;
use readings::worth::Unworthy;
use wallet_actions::{
    Action, GivenUp, Intent, Order, PlanCause, PortFuture, Refused, State, StoreError,
    WalletActions,
};
use watch_server::{Holdings, MoveState, Mover, MoverError, MoverFuture, Stop, Yields};
use yield_watch::{Mandate, MoveKey, MoveOutcome, Proposal};

use self::record::{Half, MoveRecord};

/// The reason that is recorded when an owner cancels an order.
const CANCELLED: &str = "cancelled";
/// The purpose of an owner's turn. Any move may follow an interrupted one.
const MOVE: &str = "move";
/// The oldest intents that are searched for an unfinished half. A move ends within the age limit of
/// its yields.
const MOVE_SECONDS: u64 = 86_400;
/// The most intents of one owner that are searched.
const MOST_INTENTS: u32 = 200;

/// Prices of tokens.
pub trait TokenPrices: Send + Sync + 'static {
    /// The price of a whole token in US dollars. `None` when the price is unavailable, old or
    /// doubtful.
    fn usd(&self, chain_id: u64, token: Address) -> PortFuture<'_, Option<Decimal>>;

    /// The price of this much gas on a chain now, in US dollars. `None` when the gas or the chain's
    /// coin has no price.
    fn gas_usd(&self, chain_id: u64, gas: u64) -> PortFuture<'_, Option<Decimal>>;
}

/// Moves the money of acting mandates within their owners' sub-wallets.
pub struct WalletMover {
    actions: WalletActions,
    /// A weak reference: the sources of yields own the mandates, which own the mover.
    yields: Weak<dyn Yields>,
    prices: Arc<dyn TokenPrices>,
    /// Only one caller at a time decides what an owner's wallet begins next. The turn belongs to
    /// the owner's account. The wallet itself has another turn for each intent.
    turns: Turns,
}

impl WalletMover {
    /// Makes a mover over the actions of wallets. Without yields nothing begins. Servers that share
    /// the actions share the turns.
    #[must_use]
    pub fn new(
        actions: WalletActions,
        yields: Weak<dyn Yields>,
        prices: Arc<dyn TokenPrices>,
        turns: Turns,
    ) -> Self {
        Self {
            actions,
            yields,
            prices,
            turns,
        }
    }

    /// The newest markets.
    async fn markets(&self) -> Result<Arc<Vec<Market>>, MoverError> {
        let yields = self.yields.upgrade().ok_or_else(|| unknown("no_yields"))?;
        let edition = yields.latest().await;
        Ok(edition.ok_or_else(|| unknown("no_yields"))?.markets)
    }

    async fn price(&self, chain_id: u64, token: Address) -> Result<Decimal, MoverError> {
        let price = self.prices.usd(chain_id, token).await;
        let positive = price.filter(|price| *price > Decimal::ZERO);
        positive.ok_or_else(|| unknown("price_unavailable"))
    }

    /// Begins the first half, unless it was begun or forbidden before.
    async fn begin(&self, mandate: &Mandate, asked: &Proposal) -> Result<MoveState, MoverError> {
        let owner = owner_of(mandate)?;
        if let Some(state) = self.state_of(&asked.key).await? {
            return Ok(state);
        }
        let turn = self.turns.take(owner.address(), MOVE).await;
        let begun = turn.run(self.begin_in_turn(owner, asked)).await;
        turn.end().await;
        begun.map_err(lost)?
    }

    /// Begins the first half. The caller holds the owner's turn.
    async fn begin_in_turn(&self, owner: Owner, asked: &Proposal) -> Result<MoveState, MoverError> {
        let key = &asked.key;
        let payment = Half::First.payment(key);
        if self
            .actions
            .of_payment(payment)
            .await
            .map_err(store)?
            .is_some()
        {
            // Another call has begun it meanwhile.
            return Ok(MoveState::UnderWay);
        }
        self.is_free(owner).await?;
        let refused = match Box::pin(self.order(owner, asked)).await? {
            Ok(order) => match Box::pin(self.begin_judged(&order)).await {
                Ok(intent) => {
                    tracing::info!(%key, intent = %intent.id, "the move of a mandate has begun");
                    return Ok(MoveState::UnderWay);
                }
                Err(Refused::Forbidden(reason)) => reason,
                Err(refused) if is_passing(&refused) => return Err(unknown(&reason_of(&refused))),
                Err(refused) => {
                    tracing::info!(%key, %refused, "the move of a mandate is refused");
                    reason_of(&refused)
                }
            },
            Err(reason) => reason,
        };
        let forbidden = self
            .actions
            .forbid(payment, &refused)
            .await
            .map_err(store)?;
        Ok(MoveState::Ended(never_begun(&forbidden.reason)))
    }

    /// Begins the first half if the second half would be accepted now. Otherwise money could leave
    /// a product for one that is paused.
    async fn begin_judged(&self, order: &Order) -> Result<Intent, Refused> {
        if let (Action::Divest(_), Some(second)) = (&order.action, first_half::second_of(order)) {
            self.actions.judge_deposit(&second).await?;
        }
        self.actions.begin(order).await
    }

    async fn stop(&self, key: &MoveKey) -> Result<Stop, MoverError> {
        let payment = Half::First.payment(key);
        let forbidden = self
            .actions
            .forbid(payment, CANCELLED)
            .await
            .map_err(store)?;
        let Some(first) = forbidden.intent else {
            return Ok(Stop::Stopped);
        };
        let first = match first.state.is_over() {
            true => first,
            false => match self.actions.give_up(&first.id, CANCELLED).await {
                Ok(Some(GivenUp::Cancelled(_))) => return Ok(Stop::Stopped),
                Ok(Some(GivenUp::TooLate(intent))) => intent,
                Ok(None) => return Err(unknown("intent_unknown")),
                Err(refused) => return Err(unknown(&reason_of(&refused))),
            },
        };
        let signed = self.actions.was_signed(&first).await;
        match signed.map_err(|refused| unknown(&reason_of(&refused)))? {
            true => Ok(Stop::TooLate),
            false if first.state.is_over() => Ok(Stop::Stopped),
            // The order is about to be signed: the next request shows the result.
            false => Err(unknown("about_to_be_signed")),
        }
    }

    /// Checks that the wallet does nothing else and that none of its moves is half done. The caller
    /// holds the owner's turn, or only reads.
    async fn is_free(&self, owner: Owner) -> Result<(), MoverError> {
        let busy = self.actions.busy(owner).await;
        if busy
            .map_err(|refused| unknown(&reason_of(&refused)))?
            .is_some()
        {
            return Err(unknown("wallet_busy"));
        }
        let now = self.actions.now();
        let since = now.saturating_sub(MOVE_SECONDS);
        let intents = self.actions.of_owner(owner, since, MOST_INTENTS).await;
        for intent in intents.map_err(store)? {
            let Some(record) = MoveRecord::of(&intent).filter(|record| record.valid_until > now)
            else {
                continue;
            };
            if record.half != Half::First || !record.leaves || intent.state != State::Completed {
                continue;
            }
            let second = Half::Second.payment_of(&record.key);
            let begun = self.actions.of_payment(second).await.map_err(store)?;
            let forbidden = self.actions.forbidden(second).await.map_err(store)?;
            if begun.is_none() && forbidden.is_none() {
                return Err(unknown("wallet_busy"));
            }
        }
        Ok(())
    }
}

impl Mover for WalletMover {
    fn held<'a>(
        &'a self,
        mandate: &'a Mandate,
        markets: &'a [Market],
    ) -> MoverFuture<'a, Holdings> {
        Box::pin(self.read_holdings(mandate, markets))
    }

    fn propose<'a>(
        &'a self,
        mandate: &'a Mandate,
        proposal: &'a Proposal,
    ) -> MoverFuture<'a, MoveState> {
        Box::pin(self.begin(mandate, proposal))
    }

    fn state<'a>(&'a self, key: &'a MoveKey) -> MoverFuture<'a, Option<MoveState>> {
        Box::pin(self.state_of(key))
    }

    fn cancel<'a>(&'a self, key: &'a MoveKey) -> MoverFuture<'a, Stop> {
        Box::pin(self.stop(key))
    }
}

impl std::fmt::Debug for WalletMover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WalletMover")
            .field("actions", &self.actions)
            .finish_non_exhaustive()
    }
}

/// The owner of a mandate, whose account is stored in lower case.
fn owner_of(mandate: &Mandate) -> Result<Owner, MoverError> {
    let account = mandate.owner.strip_prefix("eip155:");
    let parts = account.and_then(|account| account.split_once(':'));
    let owner = parts.and_then(|(chain_id, address)| {
        Some(Owner::new(chain_id.parse().ok()?, address.parse().ok()?))
    });
    owner.ok_or_else(|| unknown("owner_unreadable"))
}

/// The outcome of a move that never began.
fn never_begun(reason: &str) -> MoveOutcome {
    let reason = reason.to_owned();
    match reason == CANCELLED {
        true => MoveOutcome::Stopped { reason },
        false => MoveOutcome::Refused { reason },
    }
}

/// The last transaction of an intent that is in a block.
fn last_transaction(intent: &Intent) -> Option<alloy_primitives::B256> {
    let mut landed = intent
        .steps
        .iter()
        .rev()
        .filter_map(|step| step.status.at());
    landed.next().map(|at| at.transaction)
}

/// Whether the reason of the refusal can pass, so that the same order may be accepted later.
/// Sources that have no price now may have one soon.
fn is_passing(refused: &Refused) -> bool {
    match refused {
        Refused::Busy(_) | Refused::Uncharged(_) | Refused::Unavailable { .. } => true,
        Refused::Plan(plan) => plan.cause == PlanCause::Worth && plan.check == Unworthy::UNKNOWN,
        _ => false,
    }
}

/// The stable name of a refusal's reason.
fn reason_of(refused: &Refused) -> String {
    match refused {
        Refused::Invalid {
            path: "deadline", ..
        } => "deadline_passed".to_owned(),
        Refused::Invalid { path, .. } => format!("invalid_{path}"),
        Refused::Busy(_) => "wallet_busy".to_owned(),
        Refused::Forbidden(reason) => reason.clone(),
        other => other.reason().to_owned(),
    }
}

fn unknown(reason: &str) -> MoverError {
    MoverError {
        reason: reason.to_owned(),
    }
}

fn store(error: StoreError) -> MoverError {
    unknown(error.code())
}

fn lost(_: TurnLost) -> MoverError {
    unknown("turn_lost")
}
