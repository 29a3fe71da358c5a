//! Handing a transaction of a plan over to be signed and sent.

use calldata_checks::StepKind;
use delegation_fence::{ClearObstacle, Event, HaltReason, Rule, State, Transaction};
use gas_funding::Funds;
use tx_sender::{Lane, Request};

use super::{Driver, Standing, Turn};
use crate::{Estimate, Fault, SealedBlock, foresee::foresee_at, key::Purpose};

impl Driver {
    /// Everything that may fail is done first; then the order is written, on the condition that
    /// nothing was written about the account since it was confirmed; then the transaction is handed
    /// over. A process that ends between the two leaves an order without a record, which the next
    /// one finds and makes impossible.
    pub(super) async fn order(
        &mut self,
        standing: &Standing,
        transaction: Transaction,
        sealed: SealedBlock,
    ) -> Result<Turn, Fault> {
        let shared = &self.shared;
        let admitted = &standing.kept.admitted;
        let Some(route) = self.route(standing) else {
            return Ok(Turn::Waits);
        };
        // Without a signer, or a way to the account, a step waits until the plan is over.
        let Some(signer) = route.signer(admitted.account).await? else {
            return Ok(Turn::Waits);
        };
        let call = match (route.call(&standing.kept, transaction), transaction) {
            (Ok(call), _) => call,
            (Err(_), Transaction::Step(_) | Transaction::Swap) => return Ok(Turn::Waits),
            (Err(obstacle), Transaction::Clear(_)) => {
                return self.clear_impossible(standing, obstacle).await;
            }
        };
        let payer = signer.account();
        shared.sender.add_signer(signer);
        let begins = matches!(
            transaction,
            Transaction::Step(StepKind::ApproveReset) | Transaction::Swap
        );
        if begins && let Some(reason) = self.foreseen(standing, sealed).await? {
            let at = StepKind::ApproveReset;
            return self.append(standing, Event::Halting { at, reason }).await;
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
                    return self.clear_impossible(standing, ClearObstacle::Paused).await;
                }
            };
            return self.append(standing, Event::Halting { at, reason }).await;
        };

        // Before the first step there has to be gas for all of them and for the clearing.
        let needed = match transaction {
            Transaction::Step(StepKind::ApproveReset) => {
                (Purpose::Steps, shared.gas.of_plan(overhead))
            }
            Transaction::Step(_) | Transaction::Swap => (Purpose::Steps, gas_limit),
            Transaction::Clear(_) => (Purpose::Clearing, gas_limit),
        };
        let funds = shared.fund(admitted, route, payer, needed, sealed.block);
        if funds.await? != Funds::Enough {
            return Ok(Turn::Waits);
        }

        let request = Request {
            to: call.to,
            value: call.value,
            input: call.input,
            gas_limit,
            max_fee_per_gas: None,
            not_after: match transaction {
                Transaction::Step(_) => Some(admitted.valid_until.unix()),
                // The chain takes it until the order's deadline.
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
        self.append(standing, Event::Ordered(transaction)).await?;
        let key = standing.key(transaction);
        self.shared.sender.submit(&key, lane, request).await?;
        self.woken = true;
        Ok(Turn::Went)
    }

    /// Why a plan cannot end well on the chain as it is now, before anything of it was signed.
    async fn foreseen(
        &self,
        standing: &Standing,
        sealed: SealedBlock,
    ) -> Result<Option<HaltReason>, Fault> {
        let admitted = &standing.kept.admitted;
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

    /// Says that the service cannot clear, unless that was said before.
    async fn clear_impossible(
        &self,
        standing: &Standing,
        obstacle: ClearObstacle,
    ) -> Result<Turn, Fault> {
        if standing.sending.obstacle() == Some(obstacle) {
            return Ok(Turn::Rests(State::HaltedDirty));
        }
        self.append(standing, Event::ClearImpossible(obstacle))
            .await
    }
}
