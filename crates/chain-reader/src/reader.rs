//! The reader of a chain, and its rule for sealed blocks.
//!
//! It reads through nodes that may lag, lie or follow another fork. It sends no transaction, and
//! the caller decides what a reading means.

mod contracts;
mod nodes;
mod transactions;

use std::sync::Arc;

use calldata_checks::{Block, UtcSeconds};
use serde_json::{Value, json};
use tx_sender::{AddedFees, NodeFault, Transport};

use crate::ReadFault;

/// A sealed block: deep enough, and the same at every node that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealedBlock {
    /// Number and hash.
    pub block: Block,
    /// The time in its header.
    pub at: UtcSeconds,
}

/// The result of a gas estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimate {
    /// The transaction succeeds with this much gas.
    Gas(u64),
    /// The transaction reverts.
    Reverts,
}

/// Reads a chain through one or more nodes. Cheap to clone.
///
/// A block is sealed when the node that is furthest behind has the configured number of blocks
/// above it, and every node that answers has the same block. State is read as of a block,
/// identified by its hash (EIP-1898), so a node that lags or follows another fork refuses instead
/// of misleading. Contract calls and code are read from every node, and count when all answers
/// agree. A wrong node can delay such a reading and cannot decide it. Coin balances, estimates,
/// prices, added fees and receipts come from the first node that answers.
#[derive(Clone)]
pub struct ChainReader {
    chain_id: u64,
    nodes: Vec<Arc<dyn Transport>>,
    confirmations: u64,
    added_fees: Arc<AddedFees>,
}

impl ChainReader {
    /// A reader over these nodes, in the order in which they are asked. A sealed block has
    /// `confirmations` blocks above it.
    #[must_use]
    pub fn new(chain_id: u64, nodes: Vec<Arc<dyn Transport>>, confirmations: u64) -> Self {
        Self {
            chain_id,
            nodes,
            confirmations,
            added_fees: Arc::default(),
        }
    }

    /// The chain's id.
    #[must_use]
    pub const fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// The number of blocks above a sealed block.
    #[must_use]
    pub const fn confirmations(&self) -> u64 {
        self.confirmations
    }

    /// The newest sealed block.
    ///
    /// # Errors
    /// [`ReadFault::Behind`] when its number is below `at_least`; [`ReadFault::Nodes`];
    /// [`ReadFault::Contradiction`].
    pub async fn sealed(&self, at_least: u64) -> Result<SealedBlock, ReadFault> {
        let heads = self.blocks(json!("latest")).await?;
        // The lowest head counts. With the highest one, a node that invents blocks would alone
        // decide their content.
        let head = heads.iter().map(|head| head.block.number).min();
        let number = head.unwrap_or_default().saturating_sub(self.confirmations);
        if number < at_least {
            return Err(ReadFault::Behind {
                chain_id: self.chain_id,
                needed: at_least,
                sealed: number,
            });
        }
        let blocks = self.blocks(json!(format!("{number:#x}"))).await?;
        let mut blocks = blocks.into_iter();
        let first = blocks.next().ok_or_else(|| self.silent())?;
        if first.block.number != number || blocks.any(|other| other != first) {
            return Err(ReadFault::Contradiction {
                chain_id: self.chain_id,
                number,
            });
        }
        Ok(first)
    }

    /// Whether the chain has this block, according to every node that has a block of its number.
    ///
    /// # Errors
    /// [`ReadFault::Nodes`].
    pub async fn has(&self, block: Block) -> Result<bool, ReadFault> {
        let number = json!(format!("{:#x}", block.number));
        let found = self.blocks(number).await?;
        Ok(found.iter().all(|found| found.block == block))
    }

    /// The fault for a contract's answer that cannot be decoded.
    #[must_use]
    pub fn lost(&self) -> ReadFault {
        self.fault(NodeFault::Lost { method: "eth_call" })
    }

    fn fault(&self, fault: NodeFault) -> ReadFault {
        ReadFault::Nodes {
            chain_id: self.chain_id,
            fault,
        }
    }

    fn silent(&self) -> ReadFault {
        self.fault(NodeFault::Unreachable)
    }
}

impl std::fmt::Debug for ChainReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChainReader")
            .field("chain_id", &self.chain_id)
            .field("nodes", &self.nodes.len())
            .field("confirmations", &self.confirmations)
            .finish()
    }
}

/// The block parameter of a call, by hash. A node refuses it when the block is not canonical.
pub(crate) fn pinned(block: Block) -> Value {
    json!({ "blockHash": block.hash, "requireCanonical": true })
}
