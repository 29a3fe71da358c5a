//! Asks the nodes: either all of them, or the first one that answers.

use std::sync::Arc;

use alloy_primitives::Bytes;
use calldata_checks::Block;
use serde_json::{Value, json};
use tx_sender::{NodeFault, ask};

use super::{ChainReader, SealedBlock};
use crate::ReadFault;
use crate::wire::WireBlock;

impl ChainReader {
    /// The block with a number or tag, from every node that has it.
    pub(super) async fn blocks(&self, tag: Value) -> Result<Vec<SealedBlock>, ReadFault> {
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

    /// The answer on which all answering nodes agree, as of a block.
    pub(super) async fn ask_all(
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

    /// The answer of the first node that gives a usable one.
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
}
