//! Whether a plan can be executed on the chain as it is now.

use alloy_primitives::U256;
use calldata_checks::StepKind;

use super::Admitted;
use crate::{Refusal, Rule};

/// What the chain says of a plan before its first step, as of one sealed block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Foresight {
    /// What the account holds of the input token, in its smallest unit.
    pub balance: U256,
    /// The step that reverts when all three are executed one after the other; `None` when none
    /// does, or where no node can say it.
    pub reverts: Option<StepKind>,
}

impl Admitted {
    /// Holds the plan against what the chain says of it: a plan that cannot end well costs gas and
    /// leaves an allowance for nothing.
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
