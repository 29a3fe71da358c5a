//! Simulates calls one after another (`eth_simulateV1`). Nothing is sent.

use alloy_primitives::{Address, Bytes, U64};
use calldata_checks::Block;
use serde::Deserialize;
use serde_json::{Value, json};
use tx_sender::NodeFault;

use crate::reader::pinned;
use crate::{ChainReader, ReadFault};

/// A call to simulate. It carries no coins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedCall {
    /// The calling account.
    pub from: Address,
    /// The called contract or account.
    pub to: Address,
    /// Its calldata.
    pub input: Bytes,
}

/// The result of a simulated call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulated {
    /// Whether it ran without a revert.
    pub succeeded: bool,
    /// The returned bytes.
    pub output: Bytes,
    /// The used gas.
    pub gas_used: u64,
}

/// A block of `eth_simulateV1`.
#[derive(Deserialize)]
struct WireSimulated {
    calls: Vec<WireOutcome>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireOutcome {
    status: U64,
    #[serde(default)]
    return_data: Bytes,
    #[serde(default)]
    gas_used: U64,
}

impl ChainReader {
    /// Simulates the calls one after another on top of a block. Returns one result for each call,
    /// or `None` when the nodes do not support simulation.
    ///
    /// # Errors
    /// [`ReadFault::Nodes`], also when the number of results differs from the number of calls.
    pub async fn simulate(
        &self,
        calls: &[SimulatedCall],
        block: Block,
    ) -> Result<Option<Vec<Simulated>>, ReadFault> {
        let sent: Vec<Value> = calls
            .iter()
            .map(|call| json!({ "from": call.from, "to": call.to, "data": call.input }))
            .collect();
        let options = json!({
            "blockStateCalls": [{ "calls": sent }],
            "validation": false,
            "traceTransfers": false,
        });
        let params = json!([options, pinned(block)]);
        let blocks = match self
            .ask::<Vec<WireSimulated>>("eth_simulateV1", params)
            .await
        {
            Ok(blocks) => blocks,
            Err(ReadFault::Nodes {
                fault: NodeFault::Refused { .. } | NodeFault::Lost { .. },
                ..
            }) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let outcomes = blocks.into_iter().flat_map(|block| block.calls);
        let outcomes: Vec<_> = outcomes
            .map(|outcome| Simulated {
                succeeded: !outcome.status.is_zero(),
                output: outcome.return_data,
                gas_used: outcome.gas_used.to(),
            })
            .collect();
        match outcomes.len() == calls.len() {
            true => Ok(Some(outcomes)),
            false => Err(self.lost()),
        }
    }
}
