//! A node that is asked over JSON-RPC.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use alloy_primitives::{Address, B256, Bytes, U64, U128, U256};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::json_rpc::{RpcAnswer, Transport, ask, pinned};
use super::{AddedFees, Head, Mined, Node, NodeFault, NodeFuture, Receipt};

/// A node that is asked through a [`Transport`]. Members of answers that have consequences are read
/// strictly. Other members are ignored.
#[derive(Clone)]
pub struct RpcNode {
    transport: Arc<dyn Transport>,
    /// Whether the node has refused batches.
    one_by_one: Arc<AtomicBool>,
    added_fees: Arc<AddedFees>,
}

const RECEIPT: &str = "eth_getTransactionReceipt";

/// How many calls one batch has. Public endpoints accept a hundred.
const MAX_BATCH: usize = 100;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireBlock {
    number: Option<U64>,
    hash: Option<B256>,
    timestamp: U64,
    #[serde(default)]
    base_fee_per_gas: Option<U128>,
}

#[derive(Deserialize)]
struct WireFullBlock {
    hash: Option<B256>,
    transactions: Vec<WireTransaction>,
}

#[derive(Deserialize)]
struct WireTransaction {
    hash: B256,
    from: Address,
    nonce: U64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireReceipt {
    transaction_hash: B256,
    block_number: Option<U64>,
    block_hash: Option<B256>,
    status: Option<U64>,
}

impl WireReceipt {
    /// Converts the receipt. `None` when it belongs to another transaction, or states no block.
    fn of(self, hash: B256) -> Option<Receipt> {
        (self.transaction_hash == hash).then_some(())?;
        Some(Receipt {
            hash,
            number: self.block_number?.to(),
            block: self.block_hash?,
            succeeded: self.status? == U64::ONE,
        })
    }
}

impl RpcNode {
    /// Makes a node behind this transport.
    #[must_use]
    pub fn new(transport: Arc<dyn Transport>) -> Self {
        Self {
            transport,
            one_by_one: Arc::default(),
            added_fees: Arc::default(),
        }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<T, NodeFault> {
        ask(self.transport.as_ref(), method, params).await
    }

    async fn head_by(&self, tag: Value) -> Result<Option<Head>, NodeFault> {
        const METHOD: &str = "eth_getBlockByNumber";
        let block: Option<WireBlock> = self.ask(METHOD, json!([tag, false])).await?;
        let Some(block) = block else { return Ok(None) };
        // A block that is still being made has no hash and does not count.
        let (Some(number), Some(hash)) = (block.number, block.hash) else {
            return Err(NodeFault::Lost { method: METHOD });
        };
        Ok(Some(Head {
            number: number.to(),
            hash,
            timestamp: block.timestamp.to(),
            base_fee: block.base_fee_per_gas.map(|fee| fee.to()),
        }))
    }
}

/// One answer of a batch.
#[derive(Deserialize)]
struct Part {
    id: usize,
    #[serde(default = "Option::default")]
    result: Option<WireReceipt>,
}

impl RpcNode {
    /// Returns the receipts with one request. `None` when the node refuses batches, or when its
    /// answer is no batch, such as text or answers without ids. Such an answer says nothing about
    /// single calls.
    async fn receipts_at_once(
        &self,
        hashes: &[B256],
    ) -> Result<Option<Vec<Option<Receipt>>>, NodeFault> {
        let calls = hashes.iter().enumerate().map(
            |(id, hash)| json!({ "jsonrpc": "2.0", "id": id, "method": RECEIPT, "params": [hash] }),
        );
        let calls = Value::Array(calls.collect());
        let body = self
            .transport
            .exchange(RECEIPT, calls.to_string().into_bytes())
            .await?;
        let Ok(parts) = serde_json::from_slice::<Vec<Part>>(&body) else {
            // A single object refuses the whole batch.
            if let Some(error) = RpcAnswer::read(&body).and_then(|answer| answer.error.flatten()) {
                if !error.is_of_batches() {
                    return Err(error.into());
                }
                self.one_by_one.store(true, Ordering::Relaxed);
            }
            return Ok(None);
        };
        if parts.iter().all(|part| part.id >= hashes.len()) {
            return Ok(None);
        }
        let mut receipts = vec![None; hashes.len()];
        // The answers may come in any order. A receipt of another transaction than the one with
        // this id is ignored.
        for Part { id, result } in parts {
            if let (Some(receipt), Some(hash)) = (receipts.get_mut(id), hashes.get(id)) {
                *receipt = result.and_then(|result| result.of(*hash));
            }
        }
        Ok(Some(receipts))
    }
}

impl Node for RpcNode {
    fn chain_id(&self) -> NodeFuture<'_, u64> {
        Box::pin(async {
            let id: U64 = self.ask("eth_chainId", json!([])).await?;
            Ok(id.to())
        })
    }

    fn head(&self) -> NodeFuture<'_, Head> {
        Box::pin(async {
            let head = self.head_by(json!("latest")).await?;
            head.ok_or(NodeFault::Lost {
                method: "eth_getBlockByNumber",
            })
        })
    }

    fn block(&self, number: u64) -> NodeFuture<'_, Option<Head>> {
        Box::pin(async move {
            let block = self.head_by(json!(U64::from(number))).await?;
            // An answer with another block is a fault.
            match block {
                Some(block) if block.number != number => Err(NodeFault::Lost {
                    method: "eth_getBlockByNumber",
                }),
                block => Ok(block),
            }
        })
    }

    fn transactions(&self, number: u64) -> NodeFuture<'_, Option<(B256, Vec<Mined>)>> {
        Box::pin(async move {
            let block: Option<WireFullBlock> = self
                .ask("eth_getBlockByNumber", json!([U64::from(number), true]))
                .await?;
            Ok(block.and_then(|block| {
                let mined = block.transactions.into_iter().map(|wire| Mined {
                    hash: wire.hash,
                    from: wire.from,
                    nonce: wire.nonce.to(),
                });
                Some((block.hash?, mined.collect()))
            }))
        })
    }

    fn count(&self, account: Address, block: B256) -> NodeFuture<'_, u64> {
        Box::pin(async move {
            let count: U64 = self
                .ask("eth_getTransactionCount", json!([account, pinned(block)]))
                .await?;
            Ok(count.to())
        })
    }

    fn count_at(&self, account: Address, number: u64) -> NodeFuture<'_, u64> {
        Box::pin(async move {
            let count: U64 = self
                .ask(
                    "eth_getTransactionCount",
                    json!([account, U64::from(number)]),
                )
                .await?;
            Ok(count.to())
        })
    }

    fn balance(&self, account: Address, block: B256) -> NodeFuture<'_, U256> {
        Box::pin(async move {
            self.ask("eth_getBalance", json!([account, pinned(block)]))
                .await
        })
    }

    fn gas_price(&self) -> NodeFuture<'_, u128> {
        Box::pin(async {
            let price: U128 = self.ask("eth_gasPrice", json!([])).await?;
            Ok(price.to())
        })
    }

    fn priority_fee(&self) -> NodeFuture<'_, u128> {
        Box::pin(async {
            let fee: U128 = self.ask("eth_maxPriorityFeePerGas", json!([])).await?;
            Ok(fee.to())
        })
    }

    fn noop_gas(&self, account: Address) -> NodeFuture<'_, u64> {
        Box::pin(async move {
            let call = json!({ "from": account, "to": account, "value": "0x0" });
            let gas: U64 = self.ask("eth_estimateGas", json!([call])).await?;
            Ok(gas.to())
        })
    }

    fn added_fees(&self, transaction: (usize, u64), block: B256) -> NodeFuture<'_, U256> {
        Box::pin(async move {
            let node = self.transport.as_ref();
            self.added_fees.of(node, transaction, block).await
        })
    }

    fn send(&self, raw: Bytes) -> NodeFuture<'_, ()> {
        Box::pin(async move {
            // The sender computes the hash itself and ignores the node's answer.
            let _: B256 = self.ask("eth_sendRawTransaction", json!([raw])).await?;
            Ok(())
        })
    }

    fn receipt(&self, hash: B256) -> NodeFuture<'_, Option<Receipt>> {
        Box::pin(async move {
            let receipt: Option<WireReceipt> = self.ask(RECEIPT, json!([hash])).await?;
            Ok(receipt.and_then(|receipt| receipt.of(hash)))
        })
    }

    fn receipts(&self, hashes: Vec<B256>) -> NodeFuture<'_, Vec<Option<Receipt>>> {
        Box::pin(async move {
            let mut receipts = Vec::with_capacity(hashes.len());
            for part in hashes.chunks(MAX_BATCH) {
                let together = match part.len() > 1 && !self.one_by_one.load(Ordering::Relaxed) {
                    true => self.receipts_at_once(part).await?,
                    false => None,
                };
                match together {
                    Some(together) => receipts.extend(together),
                    None => {
                        for hash in part {
                            receipts.push(self.receipt(*hash).await?);
                        }
                    }
                }
            }
            Ok(receipts)
        })
    }
}

impl std::fmt::Debug for RpcNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RpcNode").finish_non_exhaustive()
    }
}
