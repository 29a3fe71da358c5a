//! Checks a planned transaction and records the order to sign and send it.

use alloy_primitives::U256;
use chain_reader::Estimate;
use gas_funding::{Funds, Workload};
use tx_sender::TurnFence;

use super::{Driver, Fault, Step};
use crate::intent::Intent;
use crate::plan::{judge_returned, judge_taken};
use crate::{StepKind, intent};

/// The margin on top of a gas estimate, in percent. How much gas a call uses depends on the state
/// of the chain when it is executed.
const MARGIN_PERCENT: u64 = 30;

/// Why an intent has no gas, when coins are on their way to its wallet.
pub(super) const COINS_COMING: &str = "gas_topup_pending";

/// The most gas that a transaction of an action may use.
const MOST_GAS: u64 = 4_000_000;

impl Driver {
    /// Checks everything that may fail, and then records the order. The next step gives the
    /// transaction to the sender, whichever process finds the order. A transaction that cannot be
    /// sent halts the intent.
    pub(super) async fn order(
        &self,
        intent: &Intent,
        index: usize,
        turn: Option<TurnFence>,
    ) -> Result<Step, Fault> {
        let Some(step) = intent.steps.get(index) else {
            return Ok(Step::Wait(self.shared.pace.look));
        };
        let must_go_on = intent.must_go_on(step.kind);
        if !must_go_on && self.shared.now() >= intent.not_after {
            return Ok(Step::Write(intent.halt("deadline_passed")?));
        }
        let chain = self.shared.chain_of(step.chain_id)?;
        let Some(block) = self.above_own_blocks(intent, step.chain_id).await? else {
            return Ok(Step::Wait(self.shared.pace.look));
        };
        let wallet = intent.wallet;
        let gas = match chain.estimate(wallet, step.to, &step.input, block).await? {
            Estimate::Gas(gas) if gas <= MOST_GAS => gas,
            Estimate::Gas(_) => return Ok(Step::Write(self.stop(intent, step, "gas_too_high")?)),
            Estimate::Reverts if self.is_minted(intent, step, block.number).await? => {
                return Ok(Step::Write(intent.found_minted()?));
            }
            Estimate::Reverts => {
                return Ok(Step::Write(self.stop(intent, step, "step_would_revert")?));
            }
        };
        if let Some(reason) = self.returns_too_bad(intent, step, block).await? {
            return Ok(Step::Write(intent.halt(reason)?));
        }
        let limit = gas
            .saturating_add(gas.saturating_mul(MARGIN_PERCENT).div_ceil(100))
            .min(MOST_GAS);
        let chain_steps = || {
            intent.steps.iter().filter(|other| {
                other.chain_id == step.chain_id && other.status == intent::Status::Planned
            })
        };
        // The wallet must also hold the gas of the steps that follow. Otherwise an approval could
        // stay without its call.
        let transactions = u64::try_from(chain_steps().count()).unwrap_or_default();
        let later = transactions
            .saturating_sub(1)
            .saturating_mul(ahead_gas(step.kind));
        let ahead = Workload {
            gas: limit.saturating_add(later),
            transactions,
            input_bytes: chain_steps()
                .map(|step| step.input.len())
                .max()
                .unwrap_or_default(),
        };
        let funds = self
            .shared
            .fund(intent, step.chain_id, (ahead, U256::ZERO), turn);
        match funds.await? {
            Funds::Enough => Ok(Step::Write(intent.order(index, limit)?)),
            // It is unknown when the coins arrive, and other work of the wallet needs the turn.
            Funds::Coming if must_go_on => {
                let waits = intent.wait_for_gas(COINS_COMING, self.shared.now())?;
                Ok(Step::Leave(waits, self.shared.pace.after_fault))
            }
            Funds::Coming => Ok(Step::Wait(self.shared.pace.look)),
            Funds::Missing(why) if must_go_on => {
                let waits = intent.wait_for_gas(why.code(), self.shared.now())?;
                Ok(Step::Leave(waits, self.shared.pace.unfunded))
            }
            Funds::Missing(why) => Ok(Step::Write(intent.halt(why.code())?)),
        }
    }

    /// Halts the intent because of a transaction that cannot be sent.
    fn stop(&self, intent: &Intent, step: &intent::Step, reason: &str) -> Result<Intent, Fault> {
        tracing::warn!(intent = %intent.id, kind = step.kind.as_str(), reason, "a transaction of an action is not sent");
        Ok(intent.halt(reason)?)
    }

    /// Calls the transaction without sending it, if the step limits the returned amount. Returns
    /// why to halt when the call reverts, returns too little, or takes too many shares.
    async fn returns_too_bad(
        &self,
        intent: &Intent,
        step: &intent::Step,
        block: chain_reader::Block,
    ) -> Result<Option<&'static str>, Fault> {
        if !step.returns_amount && step.returns_at_most.is_none() {
            return Ok(None);
        }
        let chain = self.shared.chain_of(step.chain_id)?;
        let output = chain
            .call_from(intent.wallet, step.to, &step.input, block)
            .await?;
        let at_least = step
            .expects
            .map_or(U256::ZERO, |expected| expected.at_least);
        let Some(output) = output else {
            return Ok(Some("preview_below_minimum"));
        };
        if step.returns_amount && judge_returned(&output, at_least).is_err() {
            return Ok(Some("preview_below_minimum"));
        }
        let taken = step.returns_at_most.map(|most| judge_taken(&output, most));
        Ok(match taken {
            Some(Err(_)) => Some("slippage_above_limit"),
            _ => None,
        })
    }
}

/// Returns how much gas is reserved for each transaction after one of this kind.
const fn ahead_gas(kind: StepKind) -> u64 {
    match kind {
        StepKind::Principal | StepKind::ApproveReset | StepKind::Approve => 400_000,
        _ => 0,
    }
}
