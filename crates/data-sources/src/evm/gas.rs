//! The price of gas, and the native balance of an account.

use alloy_primitives::{Address, U256};
use serde_json::{Value, json};

use super::{CALL, EvmReader, required};
use crate::{
    error::{Error, SourceError, SourceErrorKind},
    provenance::Sourced,
};

const GAS: &str = "rpc.gas-price";

impl EvmReader {
    /// The current price of a unit of gas, in the chain's smallest unit.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when no node of the chain answers.
    pub async fn gas_price(&self, chain_id: u64) -> Result<Sourced<U256>, Error> {
        self.amount_of(chain_id, GAS, "eth_gasPrice", json!([]))
            .await
    }

    /// The native balance of `account` on the newest block, in the coin's smallest unit.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when no node of the chain answers.
    pub async fn native_balance(
        &self,
        chain_id: u64,
        account: Address,
    ) -> Result<Sourced<U256>, Error> {
        let params = json!([format!("{account:#x}"), "latest"]);
        self.amount_of(chain_id, CALL, "eth_getBalance", params)
            .await
    }

    /// How many transactions an account has sent, as of the newest block.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] when no node of the chain answers.
    pub async fn transaction_count(
        &self,
        chain_id: u64,
        account: Address,
    ) -> Result<Sourced<u64>, Error> {
        let params = json!([format!("{account:#x}"), "latest"]);
        let count = self
            .amount_of(chain_id, CALL, "eth_getTransactionCount", params)
            .await?;
        Ok(count.map(|count| count.saturating_to()))
    }

    /// The result of a method that returns one number and cannot revert.
    async fn amount_of(
        &self,
        chain_id: u64,
        call: &'static str,
        method: &'static str,
        params: Value,
    ) -> Result<Sourced<U256>, Error> {
        let answer = self
            .ask(chain_id, call, method, &params, |result| {
                required(result)?.quantity()
            })
            .await?;
        let source = answer.sources.first().map_or(call, |source| source.source);
        let reverted = |_| SourceError {
            source,
            kind: SourceErrorKind::Business {
                code: "refused".to_owned(),
                message: "a method that only reads a number cannot revert".to_owned(),
            },
        };
        let value = answer.value.map_err(reverted)?;
        Ok(Sourced {
            value,
            sources: answer.sources,
        })
    }
}
