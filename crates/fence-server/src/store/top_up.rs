//! Coins that the service gives an account for its gas.

use alloy_primitives::Address;
use calldata_checks::UtcSeconds;
use delegation_fence::{Budget, Refusal, Spent};

/// A transfer of coins that is about to be made, and the budgets of its day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopUp {
    /// Names the transfer, for ever.
    pub key: String,
    /// For whose plan. A sub-wallet has one owner, so that this is the owner's budget.
    pub account: Address,
    /// When, by the server's clock.
    pub at: UtcSeconds,
    /// What it is worth, in micro US dollars.
    pub micro_usd: u64,
    /// The most for one account in a day, in micro US dollars.
    pub of_account: u64,
    /// The most for all accounts in a day.
    pub of_all: u64,
}

impl TopUp {
    /// The budgets of the day cover it, beside what was given before.
    ///
    /// # Errors
    /// `gas_budget_exhausted`
    pub fn require_budget(&self, given: Spent) -> Result<(), Refusal> {
        let budget = Budget {
            least_amount: alloy_primitives::U256::ZERO,
            of_plan: self.micro_usd,
            of_account: self.of_account,
            of_all: self.of_all,
        };
        budget.require_gas(given)
    }
}
