//! Readings through several nodes, one of which lies, lags or is on another fork; and the amounts
//! that an account received.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    unused_crate_dependencies,
    reason = "test code"
)]

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use alloy_primitives::{Address, B256, U256, address, b256};
use chain_reader::{Block, ChainReader, ReadFault};
use serde_json::{Value, json};
use tx_sender::{NodeFault, Transport};

const TOKEN: Address = address!("4200000000000000000000000000000000000006");
const ACCOUNT: Address = Address::repeat_byte(0xaa);
const OTHER: Address = Address::repeat_byte(0xbb);
const TRANSACTION: B256 = B256::repeat_byte(0x77);
const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// The answers of a node: its newest block, the fork that it is on, the allowance, the logs of the
/// transaction.
#[derive(Clone)]
struct NodeView {
    head: u64,
    fork: u8,
    allowance: u64,
    logs: Vec<Value>,
    l1_fee: Option<&'static str>,
}

impl Default for NodeView {
    fn default() -> Self {
        Self {
            head: 100,
            fork: 0,
            allowance: 7,
            logs: Vec::new(),
            l1_fee: None,
        }
    }
}

impl NodeView {
    fn hash(&self, number: u64) -> B256 {
        // The forks are one chain up to block 50.
        let fork = if number > 50 { self.fork } else { 0 };
        B256::from((U256::from(number) << 8) | U256::from(fork))
    }

    fn block(&self, number: u64) -> Value {
        if number > self.head {
            return Value::Null;
        }
        json!({ "number": format!("{number:#x}"), "hash": self.hash(number), "timestamp": format!("{:#x}", number * 2) })
    }

    fn answer(&self, request: &Value) -> Value {
        let params = &request["params"];
        match request["method"].as_str().unwrap() {
            "eth_getBlockByNumber" => match params[0].as_str().unwrap() {
                "latest" => self.block(self.head),
                number => self.block(u64::from_str_radix(&number[2..], 16).unwrap()),
            },
            "eth_call" => {
                let hash: B256 = params[1]["blockHash"].as_str().unwrap().parse().unwrap();
                match (1..=self.head).any(|number| self.hash(number) == hash) {
                    true => json!(B256::from(U256::from(self.allowance))),
                    false => Value::Null,
                }
            }
            "eth_getTransactionReceipt" => {
                let mut receipt = json!({
                    "transactionHash": TRANSACTION, "blockNumber": "0x32", "blockHash": self.hash(50),
                    "gasUsed": "0x64", "effectiveGasPrice": "0x3", "logs": self.logs,
                });
                if let Some(fee) = self.l1_fee {
                    receipt["l1Fee"] = fee.into();
                }
                receipt
            }
            other => panic!("{other}"),
        }
    }
}

struct Node(Mutex<NodeView>);

impl Transport for Node {
    fn exchange(
        &self,
        _: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        let request: Value = serde_json::from_slice(&body).unwrap();
        let result = self.0.lock().unwrap().answer(&request);
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        Box::pin(async move { Ok(answer.to_string().into_bytes()) })
    }
}

fn reader(nodes: &[NodeView]) -> ChainReader {
    let node = |view: &NodeView| -> Arc<dyn Transport> { Arc::new(Node(Mutex::new(view.clone()))) };
    ChainReader::new(8453, nodes.iter().map(node).collect(), 1)
}

async fn sealed(nodes: &[NodeView]) -> Result<u64, ReadFault> {
    let sealed = reader(nodes).sealed(0).await;
    sealed.map(|sealed| sealed.block.number)
}

/// A single node's made-up blocks are never sealed, whatever its place in the configuration.
#[tokio::test]
async fn a_node_that_runs_ahead_does_not_seal_its_blocks() {
    let liar = NodeView {
        head: 1_000,
        ..NodeView::default()
    };
    for nodes in [
        [liar.clone(), NodeView::default()],
        [NodeView::default(), liar.clone()],
    ] {
        assert_eq!(sealed(&nodes).await, Ok(99));
    }
}

/// A node that lags holds the reading back: a reading that needs a later block waits.
#[tokio::test]
async fn a_node_that_lags_holds_the_reading_back() {
    let laggard = NodeView {
        head: 80,
        ..NodeView::default()
    };
    let nodes = [NodeView::default(), laggard];
    assert_eq!(sealed(&nodes).await, Ok(79));
    let behind = reader(&nodes).sealed(90).await.unwrap_err();
    assert!(
        matches!(
            behind,
            ReadFault::Behind {
                needed: 90,
                sealed: 79,
                ..
            }
        ),
        "{behind}"
    );
}

#[tokio::test]
async fn two_forks_are_a_contradiction() {
    let fork = NodeView {
        fork: 1,
        ..NodeView::default()
    };
    let nodes = [NodeView::default(), fork];
    let fault = sealed(&nodes).await.unwrap_err();
    assert!(
        matches!(fault, ReadFault::Contradiction { number: 99, .. }),
        "{fault}"
    );
}

/// Both nodes have the block, and one makes up an allowance. The reading fails, because a false
/// zero would end a plan with an open allowance.
#[tokio::test]
async fn an_allowance_counts_only_when_no_node_contradicts_it() {
    let block = Block {
        number: 99,
        hash: NodeView::default().hash(99),
    };
    let liar = NodeView {
        allowance: 0,
        ..NodeView::default()
    };
    for nodes in [
        [liar.clone(), NodeView::default()],
        [NodeView::default(), liar.clone()],
    ] {
        let read = reader(&nodes).allowance(TOKEN, ACCOUNT, OTHER, block).await;
        let fault = read.unwrap_err();
        assert!(
            matches!(fault, ReadFault::Contradiction { number: 99, .. }),
            "{fault}"
        );
    }
    // A node without the block does not count.
    let laggard = NodeView {
        head: 80,
        allowance: 0,
        ..NodeView::default()
    };
    let chain = reader(&[laggard, NodeView::default()]);
    let read = chain.allowance(TOKEN, ACCOUNT, OTHER, block);
    assert_eq!(read.await, Ok(U256::from(7)));
}

fn transfer(token: Address, from: Address, to: Address, amount: u64) -> Value {
    json!({
        "address": token,
        "topics": [TRANSFER, from.into_word(), to.into_word()],
        "data": B256::from(U256::from(amount)),
    })
}

/// The received amount is the amount that arrived in the account, according to the token's own
/// logs.
#[tokio::test]
async fn the_received_amount_comes_from_the_tokens_own_logs() {
    let approval = json!({
        "address": TOKEN,
        "topics": [B256::repeat_byte(1), OTHER.into_word(), ACCOUNT.into_word()],
        "data": B256::from(U256::from(9)),
    });
    let unindexed = json!({ "address": TOKEN, "topics": [TRANSFER], "data": B256::ZERO });
    for (what, logs, received) in [
        ("all of it", vec![transfer(TOKEN, OTHER, ACCOUNT, 100)], 100),
        // The router sent 100, and the token kept 3 of them.
        (
            "a fee on transfer",
            vec![
                transfer(TOKEN, OTHER, ACCOUNT, 97),
                transfer(TOKEN, OTHER, OTHER, 3),
            ],
            97,
        ),
        (
            "another token's log",
            vec![transfer(OTHER, OTHER, ACCOUNT, 100)],
            0,
        ),
        (
            "another account's",
            vec![transfer(TOKEN, ACCOUNT, OTHER, 100)],
            0,
        ),
        // A transfer from the account to itself delivers nothing.
        (
            "a transfer to itself",
            vec![transfer(TOKEN, ACCOUNT, ACCOUNT, 100)],
            0,
        ),
        (
            "a part sent on",
            vec![
                transfer(TOKEN, OTHER, ACCOUNT, 100),
                transfer(TOKEN, ACCOUNT, OTHER, 40),
            ],
            60,
        ),
        ("another event", vec![approval], 0),
        ("an event without parties", vec![unindexed], 0),
    ] {
        let chain = reader(&[NodeView {
            logs,
            ..NodeView::default()
        }]);
        let block = Block {
            number: 50,
            hash: NodeView::default().hash(50),
        };
        let read = chain.received(TOKEN, ACCOUNT, TRANSACTION, block).await;
        assert_eq!(read, Ok(Some(U256::from(received))), "{what}");
        let elsewhere = Block {
            hash: B256::ZERO,
            ..block
        };
        let read = chain.received(TOKEN, ACCOUNT, TRANSACTION, elsewhere).await;
        assert_eq!(read, Ok(None), "{what}");
    }
}

/// A rollup charges a fee for the transaction's data in addition to its gas.
#[tokio::test]
async fn a_cost_includes_the_fee_of_the_rollup() {
    let block = Block {
        number: 50,
        hash: NodeView::default().hash(50),
    };
    for (l1_fee, cost) in [(None, 300), (Some("0x2a"), 342)] {
        let chain = reader(&[NodeView {
            l1_fee,
            ..NodeView::default()
        }]);
        let read = chain.cost(TRANSACTION, block).await;
        assert_eq!(read, Ok(Some(U256::from(cost))));
    }
}
