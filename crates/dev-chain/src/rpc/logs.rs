//! `eth_getLogs`.

use alloy_primitives::B256;
use alloy_rpc_types_eth::{BlockNumberOrTag, Filter, FilterBlockOption};
use serde_json::Value;

use super::{answers::answer, error::RpcError};
use crate::{block::Block, node::Node};

/// The logs of a block or of an inclusive range of blocks, by address and topics.
pub(super) fn logs(node: &Node, filter: &Filter) -> Result<Value, RpcError> {
    let blocks = match &filter.block_option {
        FilterBlockOption::AtBlockHash(hash) => std::slice::from_ref(by_hash(node, *hash)?),
        FilterBlockOption::Range {
            from_block,
            to_block,
        } => range(
            node,
            from_block.unwrap_or_default(),
            to_block.unwrap_or_default(),
        )?,
    };
    let logs = blocks
        .iter()
        .filter(|block| filter.matches_bloom(block.header.logs_bloom))
        .flat_map(Block::logs)
        .filter(|log| filter.matches(&log.inner));
    answer(&logs.collect::<Vec<_>>())
}

fn by_hash(node: &Node, hash: B256) -> Result<&Block, RpcError> {
    node.resolve(hash.into())
        .and_then(|number| node.block(number))
        .ok_or_else(|| RpcError::server("unknown block"))
}

/// The blocks of a range, as far as they exist.
fn range(node: &Node, from: BlockNumberOrTag, to: BlockNumberOrTag) -> Result<&[Block], RpcError> {
    let newest = node.head().number;
    let number = |tag: BlockNumberOrTag| match tag {
        BlockNumberOrTag::Number(number) => number,
        BlockNumberOrTag::Earliest => 0,
        _ => newest,
    };
    let (first, last) = (number(from), number(to));
    if first > last {
        return Err(RpcError::invalid_params("invalid block range params"));
    }
    let index = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let end = index(last).saturating_add(1).min(node.blocks().len());
    Ok(node.blocks().get(index(first)..end).unwrap_or_default())
}
