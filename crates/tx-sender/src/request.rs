//! The request for a transaction.

use alloy_primitives::{Address, Bytes, U256};
use serde::{Deserialize, Serialize};

/// A call that becomes one transaction of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The account that is called.
    pub to: Address,
    /// The native coin that is sent with the call, in wei.
    pub value: U256,
    /// The calldata.
    pub input: Bytes,
    /// The most gas that the transaction may use.
    pub gas_limit: u64,
    /// The highest price of a unit of gas, in wei. When absent, the cap of the chain.
    pub max_fee_per_gas: Option<u128>,
    /// The chain's time from which on the transaction is useless, in Unix seconds. If the
    /// transaction is not pending by then, it is not sent. If it is pending, a transaction without
    /// effect uses its nonce.
    pub not_after: Option<u64>,
    /// How many blocks must follow the transaction's block before the transaction counts. When
    /// absent, the number of the chain. With 0, its block must only be canonical.
    pub confirmations: Option<u64>,
}

impl Request {
    /// Whether the request is useless at this time of the chain.
    #[must_use]
    pub fn is_over(&self, chain_time: u64) -> bool {
        self.not_after.is_some_and(|end| chain_time >= end)
    }
}
