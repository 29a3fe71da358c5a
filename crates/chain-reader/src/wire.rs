//! The JSON-RPC results that the reader uses.

use alloy_primitives::{Address, B256, Bytes, U64, U256};
use calldata_checks::{Block, UtcSeconds};
use serde::Deserialize;

use crate::SealedBlock;

#[derive(Deserialize)]
pub(crate) struct WireBlock {
    number: Option<U64>,
    hash: Option<B256>,
    timestamp: U64,
}

impl WireBlock {
    /// `None` for a pending block, which has no number or hash.
    pub(crate) fn sealed(self) -> Option<SealedBlock> {
        Some(SealedBlock {
            block: Block {
                number: self.number?.to(),
                hash: self.hash?,
            },
            at: UtcSeconds::from_unix(self.timestamp.to()),
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireReceipt {
    transaction_hash: B256,
    block_number: Option<U64>,
    block_hash: Option<B256>,
    gas_used: U64,
    #[serde(default)]
    effective_gas_price: Option<U256>,
    /// A rollup's fee for the transaction's data (OP stack).
    #[serde(default, rename = "l1Fee")]
    l1_fee: Option<U256>,
    pub(crate) logs: Vec<WireLog>,
}

#[derive(Deserialize)]
pub(crate) struct WireLog {
    pub(crate) address: Address,
    pub(crate) topics: Vec<B256>,
    pub(crate) data: Bytes,
}

impl WireReceipt {
    /// Whether this is the transaction's receipt in this block.
    pub(crate) fn is_of(&self, transaction: B256, block: Block) -> bool {
        self.transaction_hash == transaction
            && self.block_hash == Some(block.hash)
            && self.block_number == Some(U64::from(block.number))
    }

    /// The transaction's fee in wei, including a rollup's data fee.
    pub(crate) fn cost(&self) -> U256 {
        let price = self.effective_gas_price.unwrap_or_default();
        price
            .saturating_mul(U256::from(self.gas_used.to::<u64>()))
            .saturating_add(self.l1_fee.unwrap_or_default())
    }
}
