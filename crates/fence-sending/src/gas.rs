//! Gas of plans: how much a transaction may use, and that its signer can pay for it.

mod cost;
mod fund;

use alloy_primitives::{Address, U256};

/// What is put on top of an estimate, in percent: what a call uses changes with the state that it
/// finds.
const MARGIN_PERCENT: u64 = 30;

/// How much gas the transactions of a plan may use, and who pays it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GasRules {
    /// The most that an approval may use.
    pub approval: u64,
    /// The most that the call may use. A plan whose call needs more is halted before it is signed.
    pub call: u64,
    /// Who gives an account the coins that it lacks; without one it pays from what it holds.
    pub funder: Option<Funder>,
}

/// The account that tops others up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Funder {
    /// The account. The sender of transactions signs for it.
    pub account: Address,
    /// The most that it gives for the steps of one plan, and once more for the clearing after a
    /// halt, in wei.
    pub most_per_plan: U256,
    /// The most that it gives for the plans of one account in a day, in micro US dollars.
    pub of_account: u64,
    /// The most that it gives for the plans of all accounts in a day, in micro US dollars.
    pub of_all: u64,
}

/// What coins are given for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The steps. Nothing is given for them any more when the plan is over.
    Steps,
    /// The clearing of the allowance after a halt. It has no end: the allowance stays until it is
    /// cleared.
    Clearing,
}

impl Default for GasRules {
    /// Tokens behind proxies use up to 60,000 gas for an approval; reviewed swaps up to 900,000.
    fn default() -> Self {
        Self {
            approval: 120_000,
            call: 1_500_000,
            funder: None,
        }
    }
}

/// Whether a transaction can be paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Funds {
    /// Yes.
    Enough,
    /// Coins for it are on their way.
    Coming,
    /// No, and nobody gives any.
    Missing,
}

impl GasRules {
    /// The limit of a transaction that was estimated to use so much; `None` above the most.
    /// `overhead` is what it may use beyond its call.
    pub(crate) fn limit(&self, estimate: u64, is_call: bool, overhead: u64) -> Option<u64> {
        let most = if is_call { self.call } else { self.approval };
        let most = most.saturating_add(overhead);
        let margin = estimate.saturating_mul(MARGIN_PERCENT).div_ceil(100);
        (estimate <= most).then(|| estimate.saturating_add(margin).min(most))
    }

    /// The gas of a whole plan at most: three steps, and one clearing after a halt.
    pub(crate) const fn of_plan(&self, overhead: u64) -> u64 {
        let calls = self.approval.saturating_mul(3).saturating_add(self.call);
        calls.saturating_add(overhead.saturating_mul(4))
    }

    /// The most that a plan can cost at this price of gas, in wei. Fees may double while it is
    /// sent.
    pub(crate) fn cost(&self, gas: u64, price: u128) -> U256 {
        U256::from(gas)
            .saturating_mul(U256::from(price))
            .saturating_mul(U256::from(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_a_margin_and_a_most() {
        let rules = GasRules::default();
        assert_eq!(rules.limit(50_000, false, 0), Some(65_000));
        assert_eq!(rules.limit(119_999, false, 0), Some(120_000));
        assert_eq!(rules.limit(120_001, false, 0), None);
        assert_eq!(rules.limit(120_001, false, 300_000), Some(156_002));
        assert_eq!(rules.limit(1_000_000, true, 0), Some(1_300_000));
        assert_eq!(rules.limit(u64::MAX, true, u64::MAX), Some(u64::MAX));
        assert_eq!(rules.limit(u64::MAX, true, 0), None);
        assert_eq!(rules.of_plan(0), 1_860_000);
        assert_eq!(rules.of_plan(300_000), 3_060_000);
    }
}
