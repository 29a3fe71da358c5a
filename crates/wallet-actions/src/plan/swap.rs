//! Plans a swap on one chain.

use exact::format_units;
use serde_json::json;

use super::{Draft, Planner, amount_of, planned, transfer};
use crate::amount::atoms;
use crate::intent::{Allowance, Expected, Operation};
use crate::{Order, Refused, SwapAsk, SwapOrder};

/// The allowed slippage, in basis points.
const SLIPPAGE_BPS: std::ops::RangeInclusive<u64> = 10..=5_000;

impl Planner<'_> {
    /// Plans the transactions of a checked quote. The transaction that brings missing tokens comes
    /// first.
    pub(super) async fn swap(&self, order: &Order, asked: &SwapOrder) -> Result<Draft, Refused> {
        let &SwapOrder {
            chain_id,
            from_token,
            to_token,
            ref amount,
            ref slippage_pct,
        } = asked;
        let slippage_bps = atoms(slippage_pct, 2)
            .and_then(|bps| u64::try_from(bps).ok())
            .filter(|bps| SLIPPAGE_BPS.contains(bps))
            .ok_or_else(|| {
                Refused::invalid(
                    "slippage",
                    "expected 0.1 to 50 percent, with at most two digits",
                )
            })?;
        let held = self.held(chain_id, from_token).await?;
        let bought = self.held(chain_id, to_token).await?;
        let wanted = amount_of("amount", amount, held.decimals)?;
        // Refuse to buy a token that the wallet could not withdraw to its owner.
        let owner = self.wallet.owner.address();
        let out = transfer(chain_id, to_token, owner, wanted);
        self.judge_call(chain_id, to_token, &out.input)
            .map_err(|refused| {
                let message =
                    format!("{to_token} could not be withdrawn from the sub-wallet: {refused}");
                Refused::unsupported("token_not_withdrawable", message)
            })?;
        let principal = self
            .bring(order, chain_id, from_token, held, wanted)
            .await?;
        let ask = SwapAsk {
            chain_id,
            wallet: self.wallet.address,
            from_token,
            to_token,
            amount: amount.clone(),
            atoms: wanted,
            slippage_pct: slippage_pct.clone(),
            slippage_bps,
            from_decimals: held.decimals,
            to_decimals: bought.decimals,
            max_price_impact_bps: order.max_price_impact_bps,
        };
        let swap = self.shared.plans.swap(ask).await?;
        let mut steps: Vec<_> = principal.into_iter().collect();
        steps.extend(swap.steps.into_iter().map(|step| planned(chain_id, step)));
        if let Some(call) = steps.last_mut() {
            call.expects = Some(Expected {
                token: to_token,
                receiver: self.wallet.address,
                at_least: swap.at_least,
            });
        }
        Ok(Draft {
            operation: Operation::Swap,
            chain_id,
            steps,
            allowance: Some(Allowance {
                chain_id,
                token: from_token,
                spender: swap.spender,
                left: None,
                clears: 0,
            }),
            bridge: None,
            not_after: Some(swap.valid_until),
            plan: json!({
                "chain_id": chain_id,
                "from_token": from_token.to_string(),
                "to_token": to_token.to_string(),
                "decimals": bought.decimals,
                "amount": format_units(wanted, held.decimals),
                "quoted_out": format_units(swap.quoted, bought.decimals),
                "min_out": format_units(swap.at_least, bought.decimals),
                "judged": swap.evidence,
            }),
        })
    }
}
