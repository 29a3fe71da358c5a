//! The slippage limit that an order sets for its deposit or withdrawal.
//!
//! The modules of deposits and withdrawals set the general limits. This module adds the limit of
//! the order. It compares with the worth that the product itself states for the shares, so fees
//! count as slippage.

use alloy_primitives::{Bytes, U256};
use alloy_sol_types::SolCall;

use super::{Draft, Planner};
use crate::abi::vault;
use crate::amount::less_bps;
use crate::{Order, Refused, StepKind};

/// One hundred percent, in basis points.
const ALL_BPS: u64 = 10_000;

impl Planner<'_> {
    /// Narrows the limits of a draft's call to those of the order. An Aave v3 pool gives one share
    /// for each unit of the asset, so its general limit is narrow enough.
    pub(super) async fn limit_slippage(
        &self,
        order: &Order,
        draft: &mut Draft,
    ) -> Result<(), Refused> {
        let Some(bps) = order.max_slippage_bps.filter(|bps| *bps < ALL_BPS) else {
            return Ok(());
        };
        let call = |step: &&mut crate::Step| step.kind == StepKind::Call;
        let Some(step) = draft.steps.iter_mut().find(call) else {
            return Ok(());
        };
        let (chain_id, contract) = (step.chain_id, step.to);
        if let Ok(deposit) = vault::depositCall::abi_decode(&step.input) {
            let assets = deposit.assets;
            let preview = vault::previewDepositCall { assets };
            let shares = self.of_contract(chain_id, contract, &preview).await?;
            let worth = vault::convertToAssetsCall { shares };
            let worth = self.of_contract(chain_id, contract, &worth).await?;
            let least = less_bps(assets, bps);
            judge(worth, least)?;
            if let Some(expected) = &mut step.expects {
                let floor = part(shares, least, worth);
                expected.at_least = expected.at_least.max(floor);
            }
        } else if let Ok(redeem) = vault::redeemCall::abi_decode(&step.input) {
            let shares = redeem.shares;
            let preview = vault::previewRedeemCall { shares };
            let paid = self.of_contract(chain_id, contract, &preview).await?;
            let worth = vault::convertToAssetsCall { shares };
            let worth = self.of_contract(chain_id, contract, &worth).await?;
            let least = less_bps(worth, bps);
            judge(paid, least)?;
            if let Some(expected) = &mut step.expects {
                expected.at_least = expected.at_least.max(least);
            }
        } else if let Ok(withdraw) = vault::withdrawCall::abi_decode(&step.input) {
            let assets = withdraw.assets;
            let preview = vault::previewWithdrawCall { assets };
            let shares = self.of_contract(chain_id, contract, &preview).await?;
            let worth = vault::convertToAssetsCall { shares };
            let worth = self.of_contract(chain_id, contract, &worth).await?;
            judge(assets, less_bps(worth, bps))?;
            // The most shares for which the payout stays within the limit.
            let kept = U256::from(ALL_BPS.saturating_sub(bps));
            let most = assets.saturating_mul(U256::from(ALL_BPS)) / kept;
            step.returns_at_most = Some(part(shares, most, worth).max(shares));
        }
        Ok(())
    }

    async fn of_contract<C>(
        &self,
        chain_id: u64,
        contract: alloy_primitives::Address,
        call: &C,
    ) -> Result<U256, Refused>
    where
        C: SolCall<Return = U256>,
    {
        let read = self.read(chain_id, contract, call).await?;
        read.ok_or_else(|| {
            let message = format!("the vault {contract} does not behave as an ERC-4626 vault");
            Refused::unsupported("product_unreadable", message)
        })
    }
}

/// Checks that a simulated call takes at most `most` shares.
pub(crate) fn judge_taken(output: &Bytes, most: U256) -> Result<(), Refused> {
    let taken = U256::try_from_be_slice(output).unwrap_or(U256::MAX);
    match taken <= most {
        true => Ok(()),
        false => Err(above(format!(
            "expected at most {most} shares, observed {taken} when the call was simulated"
        ))),
    }
}

fn judge(observed: U256, least: U256) -> Result<(), Refused> {
    match observed >= least {
        true => Ok(()),
        false => Err(above(format!(
            "expected a worth of at least {least} of the smallest unit, observed {observed}"
        ))),
    }
}

fn above(message: String) -> Refused {
    Refused::unsupported("slippage_above_limit", message)
}

/// Computes `shares * wanted / worth`, rounded up. Returns all shares when the result cannot be
/// computed.
fn part(shares: U256, wanted: U256, worth: U256) -> U256 {
    match shares.checked_mul(wanted) {
        Some(product) if !worth.is_zero() => product.div_ceil(worth),
        _ => shares,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_above_the_limit_are_refused_with_their_reason() {
        let least = U256::from(9_950);
        assert_eq!(judge(least, least), Ok(()));
        let refused = judge(U256::from(9_949), least).unwrap_err();
        assert!(
            matches!(refused, Refused::Unsupported { reason, .. } if reason == "slippage_above_limit")
        );
        let output = Bytes::from(U256::from(7).to_be_bytes_vec());
        assert_eq!(judge_taken(&output, U256::from(7)), Ok(()));
        assert!(judge_taken(&output, U256::from(6)).is_err());
        assert!(judge_taken(&Bytes::new(), U256::ZERO).is_ok());
        assert_eq!(
            part(U256::from(100), U256::from(10), U256::from(3)),
            U256::from(334)
        );
        assert_eq!(
            part(U256::from(100), U256::from(1), U256::ZERO),
            U256::from(100)
        );
    }
}
