//! The content of calldata as `calldata-checks` reads it, in a form of JSON that any other decoder
//! can write: addresses and bytes in lower-case hex, integers as digits.

#![allow(dead_code, reason = "each test file compiles this module for itself")]

use alloy_primitives::hex;
use alloy_sol_types::sol;
use calldata_checks::abi::decode_call;
use calldata_checks::bridge::calldata::Burn;
use calldata_checks::swap::calldata::{decode_fees, decode_swap};
use serde_json::{Value, json};

sol! {
    function approve(address spender, uint256 amount) external returns (bool);
}

/// The functions whose calldata plans carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Function {
    Approve,
    Burn,
    ForwardFees,
    Swap,
}

/// The content of calldata. `None` when the bytes are not the canonical encoding of a call of the
/// function.
pub(crate) fn read(function: Function, data: &[u8]) -> Option<Value> {
    match function {
        Function::Approve => {
            let call = decode_call::<approveCall>(data).ok()?;
            Some(json!({"spender": lower(call.spender), "amount": call.amount.to_string()}))
        }
        Function::Burn => {
            let burn = Burn::decode(data).ok()?;
            Some(json!({
                "amount": burn.amount.to_string(),
                "destination_domain": burn.destination_domain.to_string(),
                "mint_recipient": lower(burn.mint_recipient),
                "burn_token": lower(burn.burn_token),
                "destination_caller": lower(burn.destination_caller),
                "max_fee": burn.max_fee.to_string(),
                "min_finality_threshold": burn.min_finality_threshold.to_string(),
                "hook": burn.hook.map(lower),
            }))
        }
        Function::ForwardFees => {
            let call = decode_fees(data).ok()?;
            let parts: Vec<_> = call
                ._distributions
                .iter()
                .map(|part| json!([lower(part.recipient), part.amount.to_string()]))
                .collect();
            Some(json!({"token": lower(call._token), "distributions": parts}))
        }
        Function::Swap => {
            let call = decode_swap(data).ok()?;
            let legs: Vec<_> = call
                ._swapData
                .iter()
                .map(|leg| {
                    json!({
                        "call_to": lower(leg.callTo),
                        "approve_to": lower(leg.approveTo),
                        "sending": lower(leg.sendingAssetId),
                        "receiving": lower(leg.receivingAssetId),
                        "from_amount": leg.fromAmount.to_string(),
                        "call_data": lower(&leg.callData),
                        "requires_deposit": leg.requiresDeposit,
                    })
                })
                .collect();
            Some(json!({
                "transaction_id": lower(call._transactionId),
                "integrator": call._integrator,
                "referrer": call._referrer,
                "receiver": lower(call._receiver),
                "min_amount_out": call._minAmountOut.to_string(),
                "legs": legs,
            }))
        }
    }
}

pub(crate) fn lower(bytes: impl AsRef<[u8]>) -> String {
    hex::encode_prefixed(bytes)
}
