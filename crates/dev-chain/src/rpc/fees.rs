//! Suggested fees: the base fee of the next block with a constant tip; and the history of fees.

use alloy_consensus::Transaction as _;
use alloy_eips::BlockNumberOrTag;
use alloy_primitives::{U64, U128};
use serde_json::{Number, Value, json};

use super::{
    answers::{answer, quantity},
    error::RpcError,
    params::Params,
};
use crate::{block::Block, node::Node};

/// The tip that this node suggests, in wei per gas. Any tip gets a transaction mined.
pub(super) const PRIORITY_FEE: u64 = 1_000_000;

/// Most blocks that `eth_feeHistory` looks back.
const MAX_HISTORY: u64 = 1024;

/// `eth_gasPrice`.
pub(super) fn gas_price(node: &Node) -> Value {
    quantity(node.settings.base_fee.saturating_add(PRIORITY_FEE))
}

/// `eth_maxPriorityFeePerGas`.
pub(super) fn priority_fee() -> Value {
    quantity(PRIORITY_FEE)
}

/// `eth_feeHistory`.
pub(super) fn history(node: &Node, mut params: Params) -> Result<Value, RpcError> {
    let count: U64 = params.required()?;
    let newest: BlockNumberOrTag = params.required()?;
    let percentiles = percentiles(params.optional()?)?;
    params.end()?;
    let newest = node
        .resolve(newest.into())
        .ok_or_else(|| RpcError::server("request beyond head block"))?;
    let count = count
        .to::<u64>()
        .min(MAX_HISTORY)
        .min(newest.saturating_add(1));
    if count == 0 {
        return Ok(json!({ "oldestBlock": "0x0", "gasUsedRatio": null }));
    }
    let oldest = newest.saturating_add(1).saturating_sub(count);
    let blocks: Vec<&Block> = (oldest..=newest)
        .filter_map(|number| node.block(number))
        .collect();
    let of_blocks = blocks
        .iter()
        .map(|block| block.header.base_fee_per_gas.unwrap_or_default());
    let base_fees: Vec<U64> = of_blocks
        .chain([node.settings.base_fee])
        .map(U64::from)
        .collect();
    let mut history = json!({
        "oldestBlock": quantity(oldest),
        "baseFeePerGas": base_fees,
        "gasUsedRatio": blocks.iter().map(|block| gas_used_ratio(block)).collect::<Vec<_>>(),
    });
    if let (Some(percentiles), Some(object)) = (percentiles, history.as_object_mut()) {
        let rewards: Vec<_> = blocks
            .iter()
            .map(|block| rewards(block, &percentiles))
            .collect();
        object.insert("reward".to_owned(), answer(&rewards)?);
    }
    Ok(history)
}

/// The requested percentiles, in thousandths of one per cent.
fn percentiles(asked: Option<Vec<Number>>) -> Result<Option<Vec<u64>>, RpcError> {
    let Some(asked) = asked else { return Ok(None) };
    let parsed: Option<Vec<u64>> = asked.iter().map(thousandths).collect();
    parsed
        .filter(|all| all.is_sorted() && all.last().is_none_or(|&last| last <= 100_000))
        .map(Some)
        .ok_or_else(|| RpcError::server("invalid reward percentile"))
}

fn thousandths(number: &Number) -> Option<u64> {
    let text = number.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction = format!("{:0<3}", fraction.get(..3).unwrap_or(fraction));
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(1000)?
        .checked_add(fraction.parse().ok()?)
}

/// The tips below which these shares of the block's gas were bought.
fn rewards(block: &Block, percentiles: &[u64]) -> Vec<U128> {
    let base_fee = block.header.base_fee_per_gas.unwrap_or_default();
    let mut tips: Vec<(u128, u64)> = block
        .transactions
        .iter()
        .map(|mined| {
            let tip = mined
                .transaction
                .effective_tip_per_gas(base_fee)
                .unwrap_or_default();
            (tip, mined.gas_used)
        })
        .collect();
    tips.sort_unstable();
    let total: u64 = block
        .transactions
        .last()
        .map_or(0, |m| m.receipt.cumulative_gas_used());
    let reward = |percentile: &u64| {
        let wanted = u128::from(total).saturating_mul(u128::from(*percentile));
        let mut bought: u128 = 0;
        let reached = tips.iter().find(|(_, gas)| {
            bought = bought.saturating_add(u128::from(*gas).saturating_mul(100_000));
            bought >= wanted
        });
        U128::from(reached.map_or(0, |(tip, _)| *tip))
    };
    percentiles.iter().map(reward).collect()
}

/// Gas used over gas limit: the only fraction of this interface.
fn gas_used_ratio(block: &Block) -> Value {
    let scaled = u128::from(block.header.gas_used).saturating_mul(1_000_000_000);
    let ratio = scaled
        .checked_div(u128::from(block.header.gas_limit))
        .unwrap_or_default();
    let text = if ratio >= 1_000_000_000 {
        "1.0".to_owned()
    } else {
        format!("0.{ratio:09}")
    };
    text.parse::<f64>()
        .map_or(Value::Null, |ratio| json!(ratio))
}
