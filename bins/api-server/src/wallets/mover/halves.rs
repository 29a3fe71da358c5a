//! The state of a move, derived from the intents of its halves, and the start of the second half.
//! It reads and begins intents; `wallet-actions` carries them out.

use alloy_primitives::U256;
use custody::Owner;
use readings::Figure;
use serde_json::Value;
use wallet_actions::{Forbidden, Intent, Operation, Refused, State, StepKind};
use watch_server::{MoveState, MoverError};
use yield_watch::{MoveKey, MoveOutcome};

use super::amounts::usd;
use super::record::{Half, MoveRecord};
use super::{
    CANCELLED, MOVE, WalletMover, is_passing, last_transaction, lost, never_begun, reason_of,
    store, unknown,
};

impl WalletMover {
    /// The state of a move; `None` when it was neither begun nor forbidden. Starts a second half
    /// that is due.
    pub(super) async fn state_of(&self, key: &MoveKey) -> Result<Option<MoveState>, MoverError> {
        let actions = &self.actions;
        let payment = Half::First.payment(key);
        let Some(first) = actions.of_payment(payment).await.map_err(store)? else {
            let reason = actions.forbidden(payment).await.map_err(store)?;
            return Ok(reason.map(|reason| MoveState::Ended(never_begun(&reason))));
        };
        if !first.state.is_over() {
            return Ok(Some(MoveState::UnderWay));
        }
        let record = MoveRecord::of(&first).ok_or_else(|| unknown("move_unreadable"))?;
        let ended = match (first.state, first.operation) {
            (State::Completed, Operation::Invest) => moved(&first, &record)?,
            (State::Completed, _) => return self.second(&first, &record).await.map(Some),
            _ => return self.not_done(&first).await.map(Some),
        };
        Ok(Some(MoveState::Ended(ended)))
    }

    /// The state of a move whose first half failed.
    async fn not_done(&self, first: &Intent) -> Result<MoveState, MoverError> {
        let Some(reason) = self.end_for_good(first).await? else {
            return Ok(MoveState::UnderWay);
        };
        let signed = self.actions.was_signed(first).await;
        let signed = signed.map_err(|refused| unknown(&reason_of(&refused)))?;
        Ok(MoveState::Ended(match signed {
            true => failed(first, &halted(first), None),
            false => never_begun(&reason),
        }))
    }

    /// Forbids a half that has ended, because one without effect could begin again in a call that
    /// was held up. Returns the first reason; `None` when such a call has begun it meanwhile.
    async fn end_for_good(&self, half: &Intent) -> Result<Option<String>, MoverError> {
        let forbidden = self.actions.forbid(half.payment, &halted(half)).await;
        let Forbidden { reason, intent } = forbidden.map_err(store)?;
        let is_same = intent.is_none_or(|intent| intent.id == half.id);
        Ok(is_same.then_some(reason))
    }

    /// The state of the second half. The first half has brought the money to the wallet.
    async fn second(&self, first: &Intent, record: &MoveRecord) -> Result<MoveState, MoverError> {
        let payment = Half::Second.payment_of(&record.key);
        let Some(second) = self.actions.of_payment(payment).await.map_err(store)? else {
            let forbidden = self.actions.forbidden(payment).await.map_err(store)?;
            return match forbidden {
                Some(reason) => Ok(MoveState::Ended(failed(first, &reason, None))),
                None => self.start_second(first, record).await,
            };
        };
        Ok(match second.state {
            State::Completed => MoveState::Ended(moved(&second, record)?),
            state if state.is_over() => match self.end_for_good(&second).await? {
                Some(_) => {
                    MoveState::Ended(failed(&second, &halted(&second), last_transaction(first)))
                }
                None => MoveState::UnderWay,
            },
            _ => MoveState::UnderWay,
        })
    }

    /// Begins the second half with the amount that arrived. If it can never begin, the money stays
    /// idle in the wallet.
    async fn start_second(
        &self,
        first: &Intent,
        record: &MoveRecord,
    ) -> Result<MoveState, MoverError> {
        let owner: Owner = first
            .owner
            .parse()
            .map_err(|_| unknown("owner_unreadable"))?;
        let turn = self.turns.take(owner.address(), MOVE).await;
        let started = turn.run(self.start_in_turn(owner, first, record)).await;
        turn.end().await;
        started.map_err(lost)?
    }

    /// Begins the second half. The caller holds the owner's turn.
    async fn start_in_turn(
        &self,
        owner: Owner,
        first: &Intent,
        record: &MoveRecord,
    ) -> Result<MoveState, MoverError> {
        let second = record.second();
        let payment = Half::Second.payment_of(&record.key);
        if self
            .actions
            .of_payment(payment)
            .await
            .map_err(store)?
            .is_some()
        {
            return Ok(MoveState::UnderWay);
        }
        let order = second.order(
            owner,
            second.invest(arrived(first, record).min(record.most)),
        );
        let reason = match Box::pin(self.actions.begin(&order)).await {
            Ok(_) => return Ok(MoveState::UnderWay),
            // Nothing begins after the time limit of the move, even when the reason may pass.
            Err(refused) if is_passing(&refused) && self.actions.now() < record.valid_until => {
                tracing::warn!(key = record.key, %refused, "the second half of a move waits");
                return Ok(MoveState::UnderWay);
            }
            Err(Refused::Forbidden(reason)) => reason,
            Err(refused) if is_passing(&refused) => "deadline_passed".to_owned(),
            Err(refused) => reason_of(&refused),
        };
        let forbidden = self.actions.forbid(payment, &reason).await.map_err(store)?;
        tracing::warn!(key = record.key, reason, "the money of a move stays idle");
        Ok(match forbidden.intent {
            Some(_) => MoveState::UnderWay,
            None => MoveState::Ended(failed(first, &forbidden.reason, None)),
        })
    }
}

/// The amount that the withdrawal brought to the wallet.
fn arrived(first: &Intent, record: &MoveRecord) -> U256 {
    let brought = first.received().filter(|(step, expected, _)| {
        step.kind == StepKind::Call
            && expected.token == record.asset
            && expected.receiver == first.wallet
    });
    brought
        .map(|(_, _, received)| received)
        .fold(U256::ZERO, U256::saturating_add)
}

/// The outcome of a move whose deposit succeeded.
fn moved(deposit: &Intent, record: &MoveRecord) -> Result<MoveOutcome, MoverError> {
    let amount = deposit.plan.get("amount").and_then(Value::as_str);
    let amount: Option<calldata_checks::Decimal> = amount.and_then(|amount| amount.parse().ok());
    let atoms = amount.and_then(|amount| amount.atoms(record.decimals));
    let worth = atoms.and_then(|atoms| usd(atoms, record.decimals, record.price_usd.0));
    match (worth, last_transaction(deposit)) {
        (Some(worth), Some(tx_hash)) => Ok(MoveOutcome::Moved {
            intent_id: deposit.id.to_string(),
            tx_hash,
            moved_usd: Figure(worth),
        }),
        _ => Err(unknown("move_unreadable")),
    }
}

fn failed(intent: &Intent, reason: &str, before: Option<alloy_primitives::B256>) -> MoveOutcome {
    MoveOutcome::Failed {
        reason: reason.to_owned(),
        intent_id: intent.id.to_string(),
        tx_hash: last_transaction(intent).or(before),
    }
}

/// The reason why an intent failed.
fn halted(intent: &Intent) -> String {
    let short = |received: U256, least: U256| received < least;
    match &intent.halted {
        Some(reason) => reason.clone(),
        None if intent.state == State::Cancelled => CANCELLED.to_owned(),
        None if intent
            .received()
            .any(|(_, expected, received)| short(received, expected.at_least)) =>
        {
            "delivered_below_minimum".to_owned()
        }
        None => "allowance_left".to_owned(),
    }
}
