//! Renders a ranking for the answer.

use jiff::SignedDuration;
use readings::defi::{gas, placement, recommend::HORIZON_DAYS};
use serde_json::{Value, json};
use wallet_actions::PlannedStep;

use super::Wish;
use super::ranking::{LeftOut, Plan, Ranking, VALID_SECONDS};
use crate::answer::{Answered, Method, seconds};
use crate::call::Call;
use crate::context::Context;
use crate::snapshots::yield_pools;

/// Facts that no source guarantees.
const NOT_GUARANTEED: [&str; 4] = [
    "the yield: it changes with every block",
    "the shares: ERC-4626 has no minimum in its calldata, so min_shares_atoms is to be compared with a fresh preview",
    "that the product still takes the deposit: pauses, caps and other deposits come between",
    "that the account holds the amount and gas: the steps are neither simulated nor signed",
];

pub(super) fn answered(
    context: &Context,
    call: &Call,
    wish: &Wish<'_>,
    ranking: Ranking,
) -> Answered {
    let plans = ranking.plans.iter().zip(1_u64..);
    let plans: Vec<Value> = plans
        .map(|(plan, rank)| plan_view(plan, rank, wish))
        .collect();
    let left_out: Vec<Value> = ranking.left_out.iter().map(self::left_out).collect();
    let valid = SignedDuration::from_secs(i64::try_from(VALID_SECONDS).unwrap_or_default());
    let valid_until = context.now().checked_add(valid);
    let data = json!({
        "account": call.payer.to_string(),
        "asset": wish.asset.as_str(),
        "amount": wish.amount,
        "risk": wish.risk,
        "plans": plans,
        "left_out": left_out,
        "executed": false,
        "valid_until": valid_until.map(seconds).unwrap_or_default(),
        "not_guaranteed": NOT_GUARANTEED,
        "horizon_days": HORIZON_DAYS,
        "method": placement::METHOD,
        "gas_method": gas::METHOD,
        "snapshot_id": ranking.snapshot_id,
    });
    Answered::of_parts(data, ranking.parts)
        .with_report(ranking.report)
        .origin("plans", yield_pools::SOURCE, Method::Derived)
}

fn plan_view(plan: &Plan, rank: u64, wish: &Wish<'_>) -> Value {
    let Plan {
        product,
        symbol,
        market,
        earnings,
        slippage_bps,
        deposit,
    } = plan;
    let step = |step: &PlannedStep| {
        json!({
            "kind": step.kind.as_str(),
            "chain_id": product.chain_id,
            "to": step.to.to_string(),
            "value": "0",
            "data": step.input.to_string(),
        })
    };
    json!({
        "rank": rank,
        "product_id": product.product_id,
        "pool": market.pool,
        "chain_id": product.chain_id,
        "protocol": product.protocol,
        "contract": product.contract.to_string(),
        "asset": symbol,
        "asset_address": product.asset.to_string(),
        "amount": wish.amount,
        "amount_atoms": deposit.amount.to_string(),
        "apy_pct": market.apy_pct,
        "net_apy_pct": earnings.net_apy_pct,
        "est_gas_usd": earnings.est_gas_usd,
        "breakeven_days": earnings.breakeven_days,
        "slippage_bps": slippage_bps,
        "tvl_usd": market.tvl_usd,
        "risk_grade": market.risk_grade,
        "why": market.why,
        "shares": deposit.shares.to_string(),
        "min_shares_atoms": deposit.at_least.to_string(),
        "steps": deposit.steps.iter().map(step).collect::<Vec<_>>(),
    })
}

/// Renders a product without a plan, for people and programs.
pub(super) fn left_out(left_out: &LeftOut) -> Value {
    let product = &left_out.product;
    json!({
        "product_id": product.product_id,
        "chain_id": product.chain_id,
        "protocol": product.protocol,
        "reason": left_out.reason,
    })
}
