//! The reader.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall, sol};
use calldata_checks::{Block, UtcSeconds};
use serde_json::{Value, json};
use thiserror::Error;
use tx_sender::{NodeFault, Transport};

use crate::Moved;
use crate::wire::{WireBlock, WireReceipt, ask};

sol! {
    function allowance(address owner, address spender) external view returns (uint256);
    function decimals() external view returns (uint8);
    function balanceOf(address account) external view returns (uint256);
}

/// What a node says of a call that reverts (geth and others).
const REVERTED: i64 = 3;

/// Why the chain cannot be read. It is asked again; nothing is concluded from it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadFault {
    /// No node answers as it should.
    #[error("no node of chain {chain_id} can be asked: {fault}")]
    Nodes {
        /// The chain.
        chain_id: u64,
        /// What the last one came to.
        fault: NodeFault,
    },
    /// Two nodes have different blocks of one number, or say different things of one block, so that
    /// neither is believed.
    #[error("the nodes of chain {chain_id} contradict each other about block {number}")]
    Contradiction {
        /// The chain.
        chain_id: u64,
        /// The block's number.
        number: u64,
    },
    /// The newest sealed block is older than what is to be read.
    #[error("block {needed} of chain {chain_id} is not sealed yet, only {sealed}")]
    Behind {
        /// The chain.
        chain_id: u64,
        /// What is needed.
        needed: u64,
        /// What there is.
        sealed: u64,
    },
}

impl ReadFault {
    /// Whether a node says that the call reverts.
    fn is_revert(&self) -> bool {
        match self {
            Self::Nodes {
                fault: NodeFault::Refused { code, message },
                ..
            } => *code == REVERTED || message.to_ascii_lowercase().contains("revert"),
            _ => false,
        }
    }
}

/// A block that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealedBlock {
    /// Number and hash.
    pub block: Block,
    /// Its time.
    pub at: UtcSeconds,
}

/// What a transaction would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimate {
    /// It succeeds with so much gas.
    Gas(u64),
    /// It reverts.
    Reverts,
}

/// A chain, through one or more nodes. A block counts when as many others stand above it as
/// configured by the node that is furthest behind, and every node that answers has this one.
/// Everything else is read as of a block by its hash (EIP-1898): a node that lags or is on another
/// fork refuses instead of misleading. What a contract says is asked of every node, and counts when
/// all that answer say the same: one that lies holds the reading up, and cannot decide it.
#[derive(Clone)]
pub struct ChainReader {
    chain_id: u64,
    nodes: Vec<Arc<dyn Transport>>,
    confirmations: u64,
}

impl ChainReader {
    /// A chain through these nodes, in the order in which they are asked.
    #[must_use]
    pub fn new(chain_id: u64, nodes: Vec<Arc<dyn Transport>>, confirmations: u64) -> Self {
        Self {
            chain_id,
            nodes,
            confirmations,
        }
    }

    /// The chain's id.
    #[must_use]
    pub const fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// How many blocks stand above one that counts.
    #[must_use]
    pub const fn confirmations(&self) -> u64 {
        self.confirmations
    }

    /// The newest block that counts.
    ///
    /// # Errors
    /// [`ReadFault::Behind`] when it is older than `at_least`; nodes that do not answer or
    /// contradict each other.
    pub async fn sealed(&self, at_least: u64) -> Result<SealedBlock, ReadFault> {
        let heads = self.blocks(json!("latest")).await?;
        // Not the highest one: a node that makes up blocks which no other node has would say alone
        // what they hold.
        let head = heads.iter().map(|head| head.block.number).min();
        let number = head.unwrap_or_default().saturating_sub(self.confirmations);
        if number < at_least {
            return Err(ReadFault::Behind {
                chain_id: self.chain_id,
                needed: at_least,
                sealed: number,
            });
        }
        let blocks = self.blocks(json!(format!("{number:#x}"))).await?;
        let mut blocks = blocks.into_iter();
        let first = blocks.next().ok_or_else(|| self.silent())?;
        if first.block.number != number || blocks.any(|other| other != first) {
            return Err(ReadFault::Contradiction {
                chain_id: self.chain_id,
                number,
            });
        }
        Ok(first)
    }

    /// Whether the chain has this block, by every node that has one of its number.
    ///
    /// # Errors
    /// Nodes that do not answer.
    pub async fn has(&self, block: Block) -> Result<bool, ReadFault> {
        let number = json!(format!("{:#x}", block.number));
        let found = self.blocks(number).await?;
        Ok(found.iter().all(|found| found.block == block))
    }

    /// What `spender` may take of the owner's tokens, as of a block.
    ///
    /// # Errors
    /// Nodes that do not answer, do not have the block, or contradict each other.
    pub async fn allowance(
        &self,
        token: Address,
        owner: Address,
        spender: Address,
        block: Block,
    ) -> Result<U256, ReadFault> {
        let call = allowanceCall { owner, spender };
        self.call(token, &call, block).await
    }

    /// An account's code, as of a block.
    ///
    /// # Errors
    /// As [`Self::allowance`].
    pub async fn code(&self, account: Address, block: Block) -> Result<Bytes, ReadFault> {
        let params = json!([account, pinned(block)]);
        self.ask_all("eth_getCode", params, block).await
    }

    /// What a contract answers, as of a block; nothing where there is none.
    ///
    /// # Errors
    /// As [`Self::allowance`]; also a call that reverts.
    pub async fn view(&self, to: Address, input: &Bytes, block: Block) -> Result<Bytes, ReadFault> {
        let params = json!([{ "to": to, "data": input }, pinned(block)]);
        self.ask_all("eth_call", params, block).await
    }

    /// What a contract answers to a call of an account, as of a block; `None` where the call
    /// reverts.
    ///
    /// # Errors
    /// As [`Self::allowance`].
    pub async fn call_from(
        &self,
        from: Address,
        to: Address,
        input: &Bytes,
        block: Block,
    ) -> Result<Option<Bytes>, ReadFault> {
        let params = json!([{ "from": from, "to": to, "data": input }, pinned(block)]);
        match self.ask_all("eth_call", params, block).await {
            Ok(output) => Ok(Some(output)),
            Err(fault) if fault.is_revert() => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// The fault of an answer that cannot be read.
    #[must_use]
    pub fn lost(&self) -> ReadFault {
        self.fault(NodeFault::Lost { method: "eth_call" })
    }

    /// What an account holds of a token, as of a block.
    ///
    /// # Errors
    /// As [`Self::allowance`].
    pub async fn token_balance(
        &self,
        token: Address,
        account: Address,
        block: Block,
    ) -> Result<U256, ReadFault> {
        self.call(token, &balanceOfCall { account }, block).await
    }

    /// A token's decimals, as of a block.
    ///
    /// # Errors
    /// As [`Self::allowance`].
    pub async fn decimals(&self, token: Address, block: Block) -> Result<u8, ReadFault> {
        self.call(token, &decimalsCall {}, block).await
    }

    /// An account's coins in wei, as of a block.
    ///
    /// # Errors
    /// As [`Self::allowance`].
    pub async fn balance(&self, account: Address, block: Block) -> Result<U256, ReadFault> {
        self.ask("eth_getBalance", json!([account, pinned(block)]))
            .await
    }

    /// What a transaction would do, as of a block.
    ///
    /// # Errors
    /// As [`Self::allowance`].
    pub async fn estimate(
        &self,
        from: Address,
        to: Address,
        input: &Bytes,
        block: Block,
    ) -> Result<Estimate, ReadFault> {
        let call = json!({ "from": from, "to": to, "data": input });
        let asked =
            self.ask::<alloy_primitives::U64>("eth_estimateGas", json!([call, pinned(block)]));
        match asked.await {
            Ok(gas) => Ok(Estimate::Gas(gas.to())),
            Err(fault) if fault.is_revert() => Ok(Estimate::Reverts),
            Err(fault) => Err(fault),
        }
    }

    /// What one gas costs now, in wei: base fee and tip, or the price of a chain that has none.
    ///
    /// # Errors
    /// Nodes that do not answer.
    pub async fn gas_price(&self) -> Result<u128, ReadFault> {
        let price = self.ask::<alloy_primitives::U128>("eth_gasPrice", json!([]));
        Ok(price.await?.to())
    }

    /// What an account received of a token in a transaction, by its logs; what it gave away is
    /// taken off. `None` while no node has the receipt in this block.
    ///
    /// # Errors
    /// Nodes that do not answer.
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

    /// What a transaction moved of a token to and from an account, by its logs. `None` while no
    /// node has the receipt in this block.
    ///
    /// # Errors
    /// Nodes that do not answer.
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

    /// What a transaction in a block has cost, in wei, with what a rollup takes for its data.
    /// `None` while no node has the receipt in this block.
    ///
    /// # Errors
    /// Nodes that do not answer.
    pub async fn cost(&self, transaction: B256, block: Block) -> Result<Option<U256>, ReadFault> {
        let receipt = self.receipt(transaction, block).await?;
        Ok(receipt.map(|receipt| receipt.cost()))
    }

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

    /// A block by its number or tag, from every node that has it.
    async fn blocks(&self, tag: Value) -> Result<Vec<SealedBlock>, ReadFault> {
        let mut blocks = Vec::new();
        let mut fault = NodeFault::Unreachable;
        let mut asked = tokio::task::JoinSet::new();
        for node in &self.nodes {
            let (node, params) = (Arc::clone(node), json!([tag, false]));
            asked.spawn(async move {
                ask::<Option<WireBlock>>(node.as_ref(), "eth_getBlockByNumber", params).await
            });
        }
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(Some(block))) => blocks.extend(block.sealed()),
                Ok(Ok(None)) | Err(_) => {}
                Ok(Err(other)) => fault = other,
            }
        }
        if blocks.is_empty() {
            return Err(self.fault(fault));
        }
        Ok(blocks)
    }

    async fn call<C: SolCall>(
        &self,
        to: Address,
        call: &C,
        block: Block,
    ) -> Result<C::Return, ReadFault> {
        const METHOD: &str = "eth_call";
        let input = Bytes::from(call.abi_encode());
        let params = json!([{ "to": to, "data": input }, pinned(block)]);
        let output = self.ask_all(METHOD, params, block).await?;
        C::abi_decode_returns(&output).map_err(|_| self.fault(NodeFault::Lost { method: METHOD }))
    }

    /// The answer of all nodes that give one, as of a block.
    async fn ask_all(
        &self,
        method: &'static str,
        params: Value,
        block: Block,
    ) -> Result<Bytes, ReadFault> {
        let mut fault = NodeFault::Unreachable;
        let mut asked = tokio::task::JoinSet::new();
        for node in &self.nodes {
            let (node, params) = (Arc::clone(node), params.clone());
            asked.spawn(async move { ask::<Option<Bytes>>(node.as_ref(), method, params).await });
        }
        let mut answers = Vec::new();
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(Some(answer))) => answers.push(answer),
                Ok(Ok(None)) => fault = NodeFault::Lost { method },
                Ok(Err(other)) => fault = other,
                Err(_) => {}
            }
        }
        let Some(first) = answers.pop() else {
            return Err(self.fault(fault));
        };
        if answers.iter().any(|other| *other != first) {
            return Err(ReadFault::Contradiction {
                chain_id: self.chain_id,
                number: block.number,
            });
        }
        Ok(first)
    }

    /// The answer of the first node that gives one.
    pub(crate) async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<T, ReadFault> {
        let mut fault = NodeFault::Unreachable;
        for node in &self.nodes {
            match ask::<Option<T>>(node.as_ref(), method, params.clone()).await {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => fault = NodeFault::Lost { method },
                Err(other) => fault = other,
            }
        }
        Err(self.fault(fault))
    }

    fn fault(&self, fault: NodeFault) -> ReadFault {
        ReadFault::Nodes {
            chain_id: self.chain_id,
            fault,
        }
    }

    fn silent(&self) -> ReadFault {
        self.fault(NodeFault::Unreachable)
    }
}

impl std::fmt::Debug for ChainReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChainReader")
            .field("chain_id", &self.chain_id)
            .field("nodes", &self.nodes.len())
            .field("confirmations", &self.confirmations)
            .finish()
    }
}

pub(crate) fn pinned(block: Block) -> Value {
    json!({ "blockHash": block.hash, "requireCanonical": true })
}
