//! The fees that a rollup of the OP stack adds to each transaction. A chain has them when its state
//! has the contract [`GAS_PRICE_ORACLE`], and they are what this contract holds.

use alloy_primitives::{Address, U256, address};

use crate::state::StateAt;

/// The predeploy that states the fees. [`base_stage`](crate::DevChainBuilder::base_stage) places
/// it, with fees of zero.
pub const GAS_PRICE_ORACLE: Address = address!("420000000000000000000000000000000000000F");

/// The fees of one transaction, in wei.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RollupFees {
    /// For its data on Ethereum.
    pub(crate) data: U256,
    /// For the operator of the chain.
    pub(crate) operator: U256,
}

impl RollupFees {
    /// The fees as of a state. Zero on a chain without the contract.
    pub(crate) fn of(state: StateAt<'_>) -> Self {
        Self {
            data: state.storage(GAS_PRICE_ORACLE, U256::ZERO),
            operator: state.storage(GAS_PRICE_ORACLE, U256::ONE),
        }
    }

    pub(crate) fn total(self) -> U256 {
        self.data.saturating_add(self.operator)
    }
}
