//! A lane: the queue of the transactions of one account.

use std::fmt;

use alloy_primitives::Address;
use serde::{Deserialize, Serialize};

/// One account on one chain. Its transactions have one order, the order of their nonces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Lane {
    /// The chain id (EIP-155).
    pub chain_id: u64,
    /// The account that signs and pays the gas.
    pub account: Address,
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.chain_id, self.account)
    }
}
