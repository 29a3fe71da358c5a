//! What is to be sent.

use alloy_primitives::{Address, Bytes, U256};
use serde::{Deserialize, Serialize};

/// A call that is to become one transaction of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Whom the transaction calls.
    pub to: Address,
    /// The coins that it carries, in wei.
    pub value: U256,
    /// Its calldata.
    pub input: Bytes,
    /// The most gas that it may use.
    pub gas_limit: u64,
    /// The most that one gas may cost, in wei; the chain's cap when absent.
    pub max_fee_per_gas: Option<u128>,
    /// The time of the chain, in Unix seconds, from which on the transaction is of no use. One that
    /// is not on its way by then is not sent; of one that is, the nonce is used for nothing.
    pub not_after: Option<u64>,
    /// How many blocks must stand above the transaction's before it counts; the chain's number when
    /// absent. With 0 its block must be canonical.
    pub confirmations: Option<u64>,
}

impl Request {
    /// Whether the request is of no use at this time of the chain.
    #[must_use]
    pub fn is_over(&self, chain_time: u64) -> bool {
        self.not_after.is_some_and(|end| chain_time >= end)
    }
}
