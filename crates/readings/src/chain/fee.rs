//! The fee of a transaction.

use alloy_primitives::U256;
use exact::format_units;
use serde::Serialize;

use super::{
    network::NATIVE_DECIMALS,
    record::{DEPOSIT_KIND, Receipt, Record},
};

/// The fee with all of its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fee {
    /// The fee in whole native coins.
    pub native: String,
    /// The fee in wei.
    pub wei: String,
    /// How much gas was used.
    pub gas_used: String,
    /// The price of a unit of gas, in wei.
    pub gas_price_wei: String,
    /// The part for data on layer 1, in wei, on chains that charge it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l1_fee_wei: Option<String>,
    /// The part for blobs, in wei.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob_fee_wei: Option<String>,
    #[serde(skip)]
    pub(crate) total: U256,
}

/// Returns the fee of a transaction in a block, or a code when it cannot be computed exactly.
///
/// # Errors
///
/// `pending` before there is a receipt; `gas_price_not_stated` or `l1_fee_not_stated` when a part
/// is missing; `operator_fee_not_computed` when a rollup's operator charges a separate fee.
pub fn fee(record: &Record) -> Result<Fee, &'static str> {
    let receipt = record.receipt.as_ref().ok_or("pending")?;
    let deposit = record.transaction.kind == DEPOSIT_KIND;
    let price = match receipt.gas_price {
        Some(price) if !deposit => price,
        _ if deposit => U256::ZERO,
        _ => return Err("gas_price_not_stated"),
    };
    if record.network.l1_data_fee && receipt.l1_fee.is_none() && !deposit {
        return Err("l1_fee_not_stated");
    }
    if receipt.operator_fee {
        return Err("operator_fee_not_computed");
    }
    let (total, blobs) = sum(receipt, price).ok_or("fee_out_of_range")?;
    Ok(Fee {
        native: format_units(total, NATIVE_DECIMALS),
        wei: total.to_string(),
        gas_used: receipt.gas_used.to_string(),
        gas_price_wei: price.to_string(),
        l1_fee_wei: receipt.l1_fee.map(|fee| fee.to_string()),
        blob_fee_wei: blobs.map(|fee| fee.to_string()),
        total,
    })
}

/// Returns the sum of gas, data and blobs, and the part for blobs.
fn sum(receipt: &Receipt, price: U256) -> Option<(U256, Option<U256>)> {
    let gas = receipt.gas_used.checked_mul(price)?;
    let blobs = match receipt.blobs {
        Some((used, price)) => Some(used.checked_mul(price)?),
        None => None,
    };
    let total = gas
        .checked_add(receipt.l1_fee.unwrap_or_default())?
        .checked_add(blobs.unwrap_or_default())?;
    Some((total, blobs))
}
