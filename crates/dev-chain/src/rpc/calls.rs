//! `eth_call` and `eth_estimateGas`: runs a call on a state and keeps no change of it.

use alloy_primitives::{Bytes, TxKind, U256};
use alloy_rpc_types_eth::TransactionRequest;
use revm::context::{
    TxEnv,
    result::{ExecutionResult, HaltReason, InvalidTransaction},
};
use serde_json::{Value, json};

use super::{answers::quantity, error::RpcError, params::Params};
use crate::{
    error::ExecutionError,
    node::{Node, View},
};

/// The gas limit of a call that names none, and the highest one that a call may name.
pub(super) const CALL_GAS_CAP: u64 = 50_000_000;

/// The gas that a call with value passes on. An estimate has to leave room for it.
const CALL_STIPEND: u64 = 2_300;

/// `eth_call`: the output, or the revert with its data.
pub(super) fn call(node: &Node, mut params: Params) -> Result<Value, RpcError> {
    let (view, request) = target(node, &mut params)?;
    params.end()?;
    let tx = to_env(request, view.context.chain_id, CALL_GAS_CAP)?;
    let gas = tx.gas_limit;
    let result = Node::simulate(view, tx).map_err(|error| match error {
        ExecutionError::Invalid(InvalidTransaction::CallGasCostMoreThanGasLimit {
            initial_gas,
            ..
        }) => RpcError::server(format!(
            "err: intrinsic gas too low: have {gas}, want {initial_gas} (supplied gas {gas})"
        )),
        other => other.into(),
    })?;
    Ok(json!(output(result)?))
}

/// `eth_estimateGas`: the least gas with which the transaction succeeds.
pub(super) fn estimate_gas(node: &Node, mut params: Params) -> Result<Value, RpcError> {
    let (view, request) = target(node, &mut params)?;
    params.end()?;
    estimate(view, request).map(quantity)
}

/// The least gas with which the transaction succeeds on a view.
pub(super) fn estimate(view: View<'_>, request: TransactionRequest) -> Result<u64, RpcError> {
    let mut tx = to_env(request, view.context.chain_id, view.context.gas_limit)?;
    let ceiling = affordable_gas(view, &tx)?;
    let exceeds = || RpcError::server(format!("gas required exceeds allowance ({ceiling})"));
    tx.gas_limit = ceiling;
    let gas = match Node::simulate(view, tx.clone()) {
        Ok(ExecutionResult::Success { gas, .. }) => gas,
        Ok(ExecutionResult::Halt {
            reason: HaltReason::OutOfGas(_),
            ..
        }) => return Err(exceeds()),
        Ok(other) => return Err(output(other).err().unwrap_or_else(exceeds)),
        Err(ExecutionError::Invalid(
            InvalidTransaction::CallGasCostMoreThanGasLimit { .. }
            | InvalidTransaction::GasFloorMoreThanGasLimit { .. },
        )) => return Err(exceeds()),
        Err(error) => return Err(error.into()),
    };
    let suffices = |gas_limit: u64| {
        let attempt = TxEnv {
            gas_limit,
            ..tx.clone()
        };
        Node::simulate(view, attempt).is_ok_and(|result| result.is_success())
    };
    // The used gas may be too little for a limit, because refunds lower it, and because a call
    // passes on only a part of the gas.
    let (mut too_little, mut enough) = (gas.tx_gas_used().saturating_sub(1), ceiling);
    let guess = gas.total_gas_spent().saturating_add(CALL_STIPEND);
    let guess = guess.saturating_add(guess.div_ceil(63));
    if guess < enough && suffices(guess) {
        enough = guess;
    }
    while enough.saturating_sub(too_little) > 1 {
        let middle = too_little.midpoint(enough);
        if suffices(middle) {
            enough = middle;
        } else {
            too_little = middle;
        }
    }
    Ok(enough)
}

/// The view and the transaction that the first two parameters name.
fn target<'a>(
    node: &'a Node,
    params: &mut Params,
) -> Result<(View<'a>, TransactionRequest), RpcError> {
    let request = params.required()?;
    let view = node
        .view(params.block()?)
        .ok_or_else(RpcError::header_not_found)?;
    for overrides in [params.optional::<Value>()?, params.optional::<Value>()?] {
        if overrides.is_some_and(|value| value.as_object().is_none_or(|map| !map.is_empty())) {
            return Err(RpcError::invalid_params("overrides are not supported"));
        }
    }
    Ok((view, request))
}

/// The call in the EVM's form, with at most this much gas. `want` is the chain's id.
pub(super) fn to_env(request: TransactionRequest, want: u64, cap: u64) -> Result<TxEnv, RpcError> {
    if let Some(have) = request.chain_id.filter(|&have| have != want) {
        let text = format!("chainId does not match node's (have={have}, want={want})");
        return Err(RpcError::server(text));
    }
    let dynamic = request.max_fee_per_gas.or(request.max_priority_fee_per_gas);
    if request.gas_price.is_some() && dynamic.is_some() {
        return Err(RpcError::server(
            "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified",
        ));
    }
    let data = request.input.try_into_unique_input().map_err(|_| {
        RpcError::server(
            r#"both "data" and "input" are set and not equal. Please use "input" to pass transaction call data"#,
        )
    })?;
    let mut tx = TxEnv {
        caller: request.from.unwrap_or_default(),
        kind: request.to.unwrap_or(TxKind::Create),
        value: request.value.unwrap_or_default(),
        data: data.unwrap_or_default(),
        gas_limit: request.gas.unwrap_or(cap).min(cap),
        gas_price: request
            .gas_price
            .or(request.max_fee_per_gas)
            .unwrap_or_default(),
        gas_priority_fee: request.max_priority_fee_per_gas,
        access_list: request.access_list.unwrap_or_default(),
        chain_id: Some(want),
        ..TxEnv::default()
    };
    tx.derive_tx_type()
        .map_err(|error| RpcError::invalid_params(error.to_string()))?;
    Ok(tx)
}

/// The gas that the sender can pay for, at most the call's limit.
fn affordable_gas(view: View<'_>, tx: &TxEnv) -> Result<u64, RpcError> {
    if tx.gas_price == 0 {
        return Ok(tx.gas_limit);
    }
    let available = view
        .state
        .balance(tx.caller)
        .checked_sub(tx.value)
        .ok_or_else(|| RpcError::server("insufficient funds for transfer"))?;
    let affordable = available
        .checked_div(U256::from(tx.gas_price))
        .unwrap_or(U256::MAX);
    Ok(affordable.saturating_to::<u64>().min(tx.gas_limit))
}

fn output(result: ExecutionResult) -> Result<Bytes, RpcError> {
    match result {
        ExecutionResult::Success { output, .. } => Ok(output.into_data()),
        ExecutionResult::Revert { output, .. } => Err(RpcError::reverted(&output)),
        ExecutionResult::Halt { reason, .. } => Err(RpcError::server(halted(&reason))),
    }
}

/// The reason why the EVM stopped, in go-ethereum's words.
pub(super) fn halted(reason: &HaltReason) -> String {
    match reason {
        HaltReason::OutOfGas(_) => "out of gas".to_owned(),
        HaltReason::InvalidFEOpcode => "invalid opcode: INVALID".to_owned(),
        other => other.to_string(),
    }
}
