//! The price of gas.

use alloy_primitives::U256;
use serde_json::json;

use super::{EvmReader, required};
use crate::{
    error::{Error, SourceError, SourceErrorKind},
    provenance::Sourced,
};

const GAS: &str = "rpc.gas-price";

impl EvmReader {
    /// What a node would pay for a unit of gas now, in the chain's smallest unit.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when no node of the chain answers.
    pub async fn gas_price(&self, chain_id: u64) -> Result<Sourced<U256>, Error> {
        let answer = self
            .ask(chain_id, GAS, "eth_gasPrice", &json!([]), |result| {
                required(result)?.quantity()
            })
            .await?;
        let source = answer.sources.first().map_or(GAS, |source| source.source);
        let reverted = |_| SourceError {
            source,
            kind: SourceErrorKind::Business {
                code: "refused".to_owned(),
                message: "a price of gas cannot revert".to_owned(),
            },
        };
        let value = answer.value.map_err(reverted)?;
        Ok(Sourced {
            value,
            sources: answer.sources,
        })
    }
}
