//! A service's conditions for a plan whose gas it pays.

use alloy_primitives::U256;

use super::Admitted;
use crate::{Refusal, Rule};

/// The smallest plan that a service sends, and its daily budgets for gas in micro US dollars.
///
/// # Example
/// ```
/// use alloy_primitives::U256;
/// use delegation_fence::{Budget, Rule, Spent};
///
/// let budget = Budget { least_amount: U256::from(10_000_000), of_plan: 50_000, of_account: 100_000, of_all: 1_000_000 };
/// assert!(budget.require_gas(Spent { of_account: 50_000, of_all: 50_000 }).is_ok());
/// let refusal = budget.require_gas(Spent { of_account: 50_001, of_all: 50_001 }).unwrap_err();
/// assert_eq!(refusal.rule, Rule::GasBudgetExhausted);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The least amount of a plan, in the input token's smallest unit.
    pub least_amount: U256,
    /// The assumed gas cost of a plan until its cost is known.
    pub of_plan: u64,
    /// The most for the plans of one account.
    pub of_account: u64,
    /// The most for the plans of all accounts.
    pub of_all: u64,
}

/// The gas costs of the day's plans so far, in micro US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// The cost of the account's plans.
    pub of_account: u64,
    /// The cost of all accounts' plans.
    pub of_all: u64,
}

impl Budget {
    /// Checks that the plan is worth its gas.
    ///
    /// # Errors
    /// `order_too_small`
    pub fn require_size(&self, admitted: &Admitted) -> Result<(), Refusal> {
        if admitted.amount >= self.least_amount {
            return Ok(());
        }
        Err(Refusal::new(
            Rule::OrderTooSmall,
            "the plan takes less than this service sends a plan for",
            format_args!("at least {}", self.least_amount),
            admitted.amount,
        ))
    }

    /// Checks that the budgets of the day cover another plan.
    ///
    /// # Errors
    /// `gas_budget_exhausted`
    pub fn require_gas(&self, spent: Spent) -> Result<(), Refusal> {
        let budgets = [
            (
                "the account's gas budget of the day does not cover another plan",
                self.of_account,
                spent.of_account,
            ),
            (
                "the service's gas budget of the day does not cover another plan",
                self.of_all,
                spent.of_all,
            ),
        ];
        for (message, budget, spent) in budgets {
            if spent.saturating_add(self.of_plan) > budget {
                return Err(Refusal::new(
                    Rule::GasBudgetExhausted,
                    message,
                    format_args!(
                        "at most {budget} micro US dollars, {} of them for this plan",
                        self.of_plan
                    ),
                    format_args!("{spent} micro US dollars before it"),
                ));
            }
        }
        Ok(())
    }
}
