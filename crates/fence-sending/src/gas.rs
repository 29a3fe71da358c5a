//! Gas of plans: the limits of each transaction, and the coins to pay for it.

mod cost;

use alloy_primitives::{Address, U256};
use delegation_fence::{Admitted, Block};
use gas_funding::{Funds, Need, Workload};
use tx_sender::TurnFence;

use crate::key::Purpose;
use crate::{Route, SendingFault, Shared, key};

/// The margin on top of a gas estimate, in percent. The gas that a call uses depends on the chain's
/// state at its execution.
const MARGIN_PERCENT: u64 = 30;

/// The most gas that a plan's transactions may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GasRules {
    /// The limit for an approval.
    pub approval: u64,
    /// The limit for the call. A plan whose call needs more is halted before that call is signed.
    pub call: u64,
}

impl Default for GasRules {
    /// Tokens behind proxies use up to 60,000 gas for an approval; reviewed swaps up to 900,000.
    fn default() -> Self {
        Self {
            approval: 120_000,
            call: 1_500_000,
        }
    }
}

impl GasRules {
    /// The gas limit for an estimate. Returns `None` above the limit of the rules. `overhead` is
    /// the gas that the transaction may use beyond its call.
    pub(crate) fn limit(&self, estimate: u64, is_call: bool, overhead: u64) -> Option<u64> {
        let most = if is_call { self.call } else { self.approval };
        let most = most.saturating_add(overhead);
        let margin = estimate.saturating_mul(MARGIN_PERCENT).div_ceil(100);
        (estimate <= most).then(|| estimate.saturating_add(margin).min(most))
    }

    /// The most gas that a whole plan uses: three steps, and one clearing after a halt.
    pub(crate) const fn of_plan(&self, overhead: u64) -> u64 {
        let calls = self.approval.saturating_mul(3).saturating_add(self.call);
        calls.saturating_add(overhead.saturating_mul(4))
    }
}

impl Shared {
    /// Checks that `payer` holds enough coins for this work and at least this many wei, or tops it
    /// up.
    pub(crate) async fn fund(
        &self,
        admitted: &Admitted,
        route: &dyn Route,
        payer: Address,
        (purpose, workload, least): (Purpose, Workload, U256),
        block: Block,
        turn: Option<TurnFence>,
    ) -> Result<Funds, SendingFault> {
        let need = Need {
            chain: &self.chain,
            block,
            payer,
            workload,
            least,
            owner: route.budget_owner(admitted.account).await?,
            account: admitted.account,
            payment: None,
            not_after: match purpose {
                Purpose::Steps => Some(admitted.valid_until.unix()),
                Purpose::Clearing => None,
            },
            turn,
            key: &|number| key::top_up(admitted, purpose, number),
        };
        Ok(self.funding.fund(need).await?)
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
