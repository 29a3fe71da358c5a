//! The state of a chain as plain values, to put the same contracts on another node.

use alloy_primitives::{Address, B256, Bytes, U256};

/// One account after the newest block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedAccount {
    /// Its address.
    pub address: Address,
    /// Its balance in wei.
    pub balance: U256,
    /// The number of transactions it has sent, or of contracts it has created.
    pub nonce: u64,
    /// Its runtime code; empty for an account without code.
    pub code: Bytes,
    /// The words of its storage that are not zero, by slot.
    pub storage: Vec<(B256, B256)>,
}
