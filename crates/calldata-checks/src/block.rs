//! A block of a chain.

use alloy_primitives::B256;

/// A block by number and hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Block {
    /// The block's number.
    pub number: u64,
    /// The block's hash.
    pub hash: B256,
}
