//! Orders a transaction of a plan: checks it, records the order, and hands it over to the sender.
//! The outcome is for [`resolve`](super::resolve).

use alloy_primitives::U256;
use calldata_checks::StepKind;
use delegation_fence::{ClearObstacle, Event, HaltReason, Rule, State, Transaction};
use gas_funding::{Funds, Workload};
use tx_sender::{Lane, Request};

use super::{Driver, Snapshot, Turn};
use crate::{Estimate, SealedBlock, SendingFault, foresee::foresee_at, key::Purpose};

impl Driver {
    /// Does everything that may fail first. Then it writes the order, on the condition that nothing
    /// was written about the account since the confirmation, and hands the transaction over. A
    /// process that ends in between leaves an order without a record at the sender. The next
    /// process finds it and makes it impossible.
    pub(super) async fn order(
        &mut self,
        snapshot: &Snapshot,
        transaction: Transaction,
        sealed: SealedBlock,
    ) -> Result<Turn, SendingFault> {
        let shared = &self.shared;
        let admitted = &snapshot.kept.admitted;
        let Some(route) = self.route(snapshot) else {
            return Ok(Turn::Waits);
        };
        // Without a signer or a route, a step waits until the plan's time is over.
        let Some(signer) = route.signer(admitted.account).await? else {
            return Ok(Turn::Waits);
        };
        let call = match (route.call(&snapshot.kept, transaction), transaction) {
            (Ok(call), _) => call,
            (Err(_), Transaction::Step(_) | Transaction::Swap) => return Ok(Turn::Waits),
            (Err(obstacle), Transaction::Clear(_)) => {
                return self.clear_impossible(snapshot, obstacle).await;
            }
        };
        let payer = signer.account();
        shared.sender.add_signer(signer);
        let begins = matches!(
            transaction,
            Transaction::Step(StepKind::ApproveReset) | Transaction::Swap
        );
        if begins && let Some(reason) = self.foreseen(snapshot, sealed).await? {
            let at = StepKind::ApproveReset;
            return self.append(snapshot, Event::Halting { at, reason }).await;
        }

        let estimate = shared
            .chain
            .estimate(payer, call.to, &call.input, sealed.block);
        let is_call = matches!(
            transaction,
            Transaction::Step(StepKind::Call) | Transaction::Swap
        );
        let overhead = route.overhead();
        let limit = match estimate.await? {
            Estimate::Gas(gas) => shared.gas.limit(gas, is_call, overhead),
            Estimate::Reverts => None,
        };
        let Some(gas_limit) = limit else {
            let reason = HaltReason::WouldRevert;
            let at = match transaction {
                Transaction::Step(at) => at,
                Transaction::Swap => StepKind::ApproveReset,
                Transaction::Clear(_) => {
                    return self.clear_impossible(snapshot, ClearObstacle::Paused).await;
                }
            };
            return self.append(snapshot, Event::Halting { at, reason }).await;
        };

        // Before the first step, the payer must hold the gas for all steps and for the clearing.
        let (gas, transactions) = match transaction {
            Transaction::Step(StepKind::ApproveReset) => (shared.gas.of_plan(overhead), 4),
            _ => (gas_limit, 1),
        };
        let largest = admitted.steps.iter().map(|step| step.data.len()).max();
        let workload = Workload {
            gas,
            transactions,
            // A redemption has the data of a step and its own.
            input_bytes: call.input.len().saturating_add(largest.unwrap_or_default()),
        };
        let needed = (Purpose::of(transaction), workload, U256::ZERO);
        let funds = shared.fund(admitted, route, payer, needed, sealed.block, self.turn);
        match (funds.await?, transaction) {
            (Funds::Enough, _) => {}
            (Funds::Missing(_), Transaction::Clear(_)) => {
                return self.clear_impossible(snapshot, ClearObstacle::NoGas).await;
            }
            // A step waits until the plan's time is over. The next turn ends the wait of a
            // clearing.
            _ => return Ok(Turn::Waits),
        }

        let request = Request {
            to: call.to,
            value: call.value,
            input: call.input,
            gas_limit,
            max_fee_per_gas: None,
            not_after: match transaction {
                Transaction::Step(_) => Some(admitted.valid_until.unix()),
                // The framework's contracts accept the redemption until the order's deadline.
                Transaction::Swap => {
                    let past = admitted.deadline.unix().saturating_add(1);
                    Some(past.min(admitted.valid_until.unix()))
                }
                Transaction::Clear(_) => None,
            },
            confirmations: Some(shared.chain.confirmations()),
        };
        let lane = Lane {
            chain_id: admitted.chain_id,
            account: payer,
        };
        self.append(snapshot, Event::Ordered(transaction)).await?;
        let key = snapshot.key(transaction);
        let sender = &self.shared.sender;
        sender
            .submit_in_turn(&key, lane, request, self.turn)
            .await?;
        self.woken = true;
        Ok(Turn::Progressed)
    }

    /// Checks, before anything is signed, whether the plan can succeed on the chain as it is now.
    /// Returns the reason to halt if it cannot.
    async fn foreseen(
        &self,
        snapshot: &Snapshot,
        sealed: SealedBlock,
    ) -> Result<Option<HaltReason>, SendingFault> {
        let admitted = &snapshot.kept.admitted;
        let foresight = foresee_at(&self.shared.chain, admitted, sealed.block).await?;
        let judged = admitted.require_feasible(foresight);
        Ok(judged.err().map(|refusal| {
            tracing::info!(plan = %admitted.payload_digest, %refusal, "a plan does not begin");
            match refusal.rule {
                Rule::PlanWouldRevert => HaltReason::WouldRevert,
                rule => HaltReason::Refused(rule),
            }
        }))
    }

    /// Records that the service cannot clear the allowance, unless the same obstacle is recorded
    /// already.
    async fn clear_impossible(
        &self,
        snapshot: &Snapshot,
        obstacle: ClearObstacle,
    ) -> Result<Turn, SendingFault> {
        if snapshot.sending.obstacle() == Some(obstacle) {
            return Ok(Turn::Rests(State::HaltedDirty));
        }
        self.append(snapshot, Event::ClearImpossible(obstacle))
            .await
    }
}
