//! The table of methods. An unknown method is refused as on go-ethereum.

use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::{Value, json};

use super::{
    answers::quantity, blocks, calls, error::RpcError, fees, logs, params::Params, simulate,
    unlocked,
};
use crate::node::{Node, View};

/// Runs one method.
pub(super) fn dispatch(
    node: &mut Node,
    method: &str,
    mut params: Params,
) -> Result<Value, RpcError> {
    // Sending a transaction makes a block of its own, so it needs no empty one before it.
    if !matches!(method, "eth_sendRawTransaction" | "eth_sendTransaction") {
        node.catch_up();
    }
    match method {
        "web3_clientVersion" => constant(params, json!(client_version())),
        "net_version" => constant(params, json!(node.settings.chain_id.to_string())),
        "net_listening" => constant(params, json!(true)),
        "eth_syncing" => constant(params, json!(false)),
        "eth_accounts" => constant(params, unlocked::accounts()),
        "eth_chainId" => constant(params, quantity(node.settings.chain_id)),
        "eth_blockNumber" => constant(params, quantity(node.head().number)),
        "eth_gasPrice" => constant(params, fees::gas_price(node)),
        "eth_maxPriorityFeePerGas" => constant(params, fees::priority_fee()),
        "eth_feeHistory" => fees::history(node, params),
        "eth_getBalance" => {
            let address: Address = params.required()?;
            with_state(node, params, |view| json!(view.state.balance(address)))
        }
        "eth_getCode" => {
            let address: Address = params.required()?;
            with_state(node, params, |view| json!(view.state.code(address)))
        }
        "eth_getStorageAt" => {
            let (address, slot): (Address, U256) = (params.required()?, params.required()?);
            with_state(node, params, |view| {
                json!(B256::from(view.state.storage(address, slot)))
            })
        }
        "eth_getTransactionCount" => transaction_count(node, params),
        "eth_getBlockByNumber" | "eth_getBlockByHash" => blocks::block(node, params),
        "eth_getBlockReceipts" => blocks::receipts(node, params),
        "eth_getTransactionByHash" => blocks::transaction(node, params.single()?),
        "eth_getTransactionReceipt" => blocks::receipt(node, params.single()?),
        "eth_getLogs" => logs::logs(node, &params.single()?),
        "eth_call" => calls::call(node, params),
        "eth_estimateGas" => calls::estimate_gas(node, params),
        "eth_simulateV1" => simulate::simulate(node, params),
        "eth_sendRawTransaction" => {
            let raw: Bytes = params.single()?;
            Ok(json!(node.send(&raw)?))
        }
        "eth_sendTransaction" => unlocked::send(node, params.single()?),
        unknown => Err(RpcError::method_not_found(unknown)),
    }
}

/// A constant answer of a method without parameters.
fn constant(params: Params, value: Value) -> Result<Value, RpcError> {
    params.end()?;
    Ok(value)
}

/// Reads the state after the block that the last parameter names.
fn with_state(
    node: &Node,
    mut params: Params,
    read: impl FnOnce(View<'_>) -> Value,
) -> Result<Value, RpcError> {
    let block = params.block()?;
    params.end()?;
    node.view(block)
        .map(read)
        .ok_or_else(RpcError::header_not_found)
}

fn transaction_count(node: &Node, mut params: Params) -> Result<Value, RpcError> {
    let address: Address = params.required()?;
    let block = params.block()?;
    params.end()?;
    let view = node.view(block).ok_or_else(RpcError::header_not_found)?;
    let mined = view.state.nonce(address);
    let count = if block.is_pending() {
        node.pool.pending_nonce(address, mined)
    } else {
        mined
    };
    Ok(quantity(count))
}

fn client_version() -> String {
    format!("{}/v{}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
}
