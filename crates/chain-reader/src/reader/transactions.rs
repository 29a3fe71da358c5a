//! Reads the receipts of transactions, the present gas price, and the fees beside gas.

use alloy_primitives::{Address, B256, U256};
use calldata_checks::Block;
use serde_json::json;
use tx_sender::{NodeFault, ask};

use super::ChainReader;
use crate::wire::WireReceipt;
use crate::{Moved, ReadFault};

impl ChainReader {
    /// The present price of one gas in wei (`eth_gasPrice`), from the first node that answers.
    ///
    /// # Errors
    /// [`ReadFault::Nodes`].
    pub async fn gas_price(&self) -> Result<u128, ReadFault> {
        let price = self.ask::<alloy_primitives::U128>("eth_gasPrice", json!([]));
        Ok(price.await?.to())
    }

    /// The most that the chain adds to the gas of a transaction with this much calldata and gas, in
    /// wei, as of a block, from the first node that answers: the fees of a rollup of the OP stack.
    /// Zero on other chains.
    ///
    /// # Errors
    /// [`ReadFault::Nodes`].
    pub async fn added_fees(
        &self,
        transaction: (usize, u64),
        block: Block,
    ) -> Result<U256, ReadFault> {
        let mut fault = NodeFault::Unreachable;
        for node in &self.nodes {
            let asked = self.added_fees.of(node.as_ref(), transaction, block.hash);
            match asked.await {
                Ok(fees) => return Ok(fees),
                Err(other) => fault = other,
            }
        }
        Err(self.fault(fault))
    }

    /// The net amount of a token that an account received in a transaction, from its logs: received
    /// less given, at least zero. `None` while no node has the receipt in this block.
    ///
    /// # Errors
    /// [`ReadFault::Nodes`].
    pub async fn received(
        &self,
        token: Address,
        account: Address,
        transaction: B256,
        block: Block,
    ) -> Result<Option<U256>, ReadFault> {
        let moved = self.moved(token, account, transaction, block).await?;
        Ok(moved.map(|moved| moved.received.saturating_sub(moved.given)))
    }

    /// The amounts of a token that a transaction moved to and from an account, from its logs.
    /// `None` while no node has the receipt in this block.
    ///
    /// # Errors
    /// [`ReadFault::Nodes`].
    pub async fn moved(
        &self,
        token: Address,
        account: Address,
        transaction: B256,
        block: Block,
    ) -> Result<Option<Moved>, ReadFault> {
        let receipt = self.receipt(transaction, block).await?;
        Ok(receipt.map(|receipt| Moved::by(&receipt.logs, token, account)))
    }

    /// The fee of a transaction in wei, including a rollup's data fee. `None` while no node has the
    /// receipt in this block.
    ///
    /// # Errors
    /// [`ReadFault::Nodes`].
    pub async fn cost(&self, transaction: B256, block: Block) -> Result<Option<U256>, ReadFault> {
        let receipt = self.receipt(transaction, block).await?;
        Ok(receipt.map(|receipt| receipt.cost()))
    }

    /// The receipt of the transaction in this block, from the first node that has it.
    async fn receipt(
        &self,
        transaction: B256,
        block: Block,
    ) -> Result<Option<WireReceipt>, ReadFault> {
        let mut fault = None;
        for node in &self.nodes {
            match ask::<Option<WireReceipt>>(
                node.as_ref(),
                "eth_getTransactionReceipt",
                json!([transaction]),
            )
            .await
            {
                Ok(Some(receipt)) if receipt.is_of(transaction, block) => return Ok(Some(receipt)),
                Ok(_) => fault = None,
                Err(other) => fault = Some(other),
            }
        }
        match fault {
            Some(fault) => Err(self.fault(fault)),
            None => Ok(None),
        }
    }
}
