//! Checks whether a plan can be executed on the chain now.

use alloy_primitives::U256;
use calldata_checks::StepKind;

use super::Admitted;
use crate::{Refusal, Rule};

/// The chain's state for a plan before its first step, as of one sealed block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Foresight {
    /// The account's balance of the input token, in its smallest unit.
    pub balance: U256,
    /// The step that reverts when all three are executed in order; `None` when none reverts, or
    /// where no node can tell.
    pub reverts: Option<StepKind>,
}

impl Admitted {
    /// Compares the plan with the chain's state: a plan that cannot succeed costs gas and leaves an
    /// allowance behind.
    ///
    /// # Errors
    /// `balance_too_low`, then `plan_would_revert`
    pub fn require_feasible(&self, foresight: Foresight) -> Result<(), Refusal> {
        if foresight.balance < self.amount {
            return Err(Refusal::new(
                Rule::BalanceTooLow,
                "the account holds less of the input token than the plan takes",
                format_args!("at least {}", self.amount),
                foresight.balance,
            ));
        }
        match foresight.reverts {
            None => Ok(()),
            Some(step) => Err(Refusal::new(
                Rule::PlanWouldRevert,
                "a step of the plan would revert on the chain as it is now",
                "three steps that succeed",
                format_args!("{} reverts", step.as_str()),
            )),
        }
    }
}
