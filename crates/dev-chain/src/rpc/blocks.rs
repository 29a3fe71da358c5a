//! Blocks, transactions and receipts.

use alloy_eips::BlockId;
use alloy_primitives::B256;
use alloy_rpc_types_eth::Transaction;
use serde_json::{Value, json};

use super::{answers::answer, error::RpcError, params::Params};
use crate::node::Node;

/// `eth_getBlockByNumber` and `eth_getBlockByHash`: null for an unknown block.
pub(super) fn block(node: &Node, mut params: Params) -> Result<Value, RpcError> {
    let (id, full): (BlockId, bool) = (params.required()?, params.optional()?.unwrap_or(false));
    params.end()?;
    let mut block = if id.is_pending() {
        answer(&node.pending_block().to_rpc(full))?
    } else {
        match node.resolve(id).and_then(|number| node.block(number)) {
            Some(block) => answer(&block.to_rpc(full))?,
            None => return Ok(Value::Null),
        }
    };
    if let (true, Some(members)) = (node.settings.legacy, block.as_object_mut()) {
        members.remove("baseFeePerGas");
    }
    Ok(block)
}

/// `eth_getBlockReceipts`.
pub(super) fn receipts(node: &Node, params: Params) -> Result<Value, RpcError> {
    let id: BlockId = params.single()?;
    match node.resolve(id).and_then(|number| node.block(number)) {
        Some(block) => {
            let all = (0..block.transactions.len()).filter_map(|index| block.receipt_to_rpc(index));
            answer(&all.collect::<Vec<_>>())
        }
        None => Ok(Value::Null),
    }
}

/// `eth_getTransactionByHash`, waiting transactions included.
pub(super) fn transaction(node: &Node, hash: B256) -> Result<Value, RpcError> {
    if let Some((block, index)) = node.locate(hash) {
        return answer(&block.transaction_to_rpc(index));
    }
    let Some(waiting) = node.pool.get(hash) else {
        return Ok(Value::Null);
    };
    answer(&Transaction {
        inner: waiting.clone(),
        block_hash: None,
        block_number: None,
        transaction_index: None,
        effective_gas_price: None,
        block_timestamp: None,
    })
}

/// `eth_getTransactionReceipt`: null until the transaction is mined and its receipt is not withheld
/// any more, or it is preconfirmed.
pub(super) fn receipt(node: &mut Node, hash: B256) -> Result<Value, RpcError> {
    if let Some((block, index)) = node.locate_preconfirmed(hash) {
        return answer(&block.receipt_to_rpc(index));
    }
    if node.locate(hash).is_none() || node.faults.withhold_receipt(hash) {
        return Ok(json!(null));
    }
    answer(
        &node
            .locate(hash)
            .and_then(|(block, index)| block.receipt_to_rpc(index)),
    )
}
