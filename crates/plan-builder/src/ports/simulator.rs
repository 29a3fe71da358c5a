//! The port that simulates a whole plan.

use std::future::Future;

use alloy_primitives::{Address, B256, Bytes};
use calldata_checks::Step;
use serde::{Deserialize, Serialize};

use super::PortError;
use crate::wire::{As, Eip55, Hex, Word};

/// Whole-plan simulation against a chain's latest state.
///
/// # Example
/// ```
/// use alloy_primitives::Address;
/// use calldata_checks::Step;
/// use plan_builder::ports::{PortError, SimulatedCall, Simulator};
///
/// /// An endpoint of one chain.
/// struct Node(u64);
///
/// impl Simulator for Node {
///     fn simulates(&self, chain_id: u64) -> bool {
///         chain_id == self.0
///     }
///
///     async fn simulate(
///         &self,
///         chain_id: u64,
///         account: Address,
///         calls: &[Step],
///     ) -> Result<Option<Vec<SimulatedCall>>, PortError> {
///         // Send one `eth_simulateV1` with all calls, and return one outcome for each.
/// #       let _ = account;
///         let outcome = SimulatedCall {
///             success: true,
///             return_data: [0; 32].into(),
///             gas_used: 21_000,
///             logs: Vec::new(),
///         };
///         Ok(self.simulates(chain_id).then(|| vec![outcome; calls.len()]))
///     }
/// }
/// ```
pub trait Simulator: Send + Sync {
    /// Returns whether a simulator is configured for this chain. If not, the builder prepares no
    /// calls.
    fn simulates(&self, _chain_id: u64) -> bool {
        true
    }

    /// Runs calls from an account one after another in one block, which is then dropped. Returns
    /// one outcome for each call. `None` when no simulator is configured for this chain.
    ///
    /// # Errors
    /// [`PortError`]
    fn simulate(
        &self,
        chain_id: u64,
        account: Address,
        calls: &[Step],
    ) -> impl Future<Output = Result<Option<Vec<SimulatedCall>>, PortError>> + Send;
}

/// The outcome of one simulated call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulatedCall {
    /// Whether the call succeeded.
    pub success: bool,
    /// The call's return data, or its revert data.
    #[serde(with = "As::<Hex>")]
    pub return_data: Bytes,
    /// The gas that the call used.
    pub gas_used: u64,
    /// The logs of the call.
    pub logs: Vec<SimulatedLog>,
}

/// A log of a simulated call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulatedLog {
    /// The emitting contract.
    #[serde(with = "As::<Eip55>")]
    pub address: Address,
    /// The topics of the log.
    #[serde(with = "As::<Vec<Word>>")]
    pub topics: Vec<B256>,
    /// The data of the log.
    #[serde(with = "As::<Hex>")]
    pub data: Bytes,
}

/// A port for embedders that have no endpoint. It simulates nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct NoSimulator;

impl Simulator for NoSimulator {
    fn simulates(&self, _: u64) -> bool {
        false
    }

    async fn simulate(
        &self,
        _: u64,
        _: Address,
        _: &[Step],
    ) -> Result<Option<Vec<SimulatedCall>>, PortError> {
        Ok(None)
    }
}
