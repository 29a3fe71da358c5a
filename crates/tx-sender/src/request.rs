//! The request for a transaction.

use alloy_primitives::{Address, Bytes, U256};
use serde::{Deserialize, Serialize};

/// A call that becomes one transaction of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The called account.
    pub to: Address,
    /// The native coin that it carries, in wei.
    pub value: U256,
    /// Its calldata.
    pub input: Bytes,
    /// The most gas that it may use.
    pub gas_limit: u64,
    /// The highest price of a unit of gas, in wei; when absent, the chain's cap.
    pub max_fee_per_gas: Option<u128>,
    /// The time of the chain, in Unix seconds, from which on the transaction is useless. A
    /// transaction that is not pending by then is not sent; the nonce of a pending one is used by a
    /// transaction without effect.
    pub not_after: Option<u64>,
    /// How many blocks must follow the transaction's block before it counts; when absent, the
    /// chain's number. With 0 its block must be canonical.
    pub confirmations: Option<u64>,
}

impl Request {
    /// Whether the request is useless at this time of the chain.
    #[must_use]
    pub fn is_over(&self, chain_time: u64) -> bool {
        self.not_after.is_some_and(|end| chain_time >= end)
    }
}
