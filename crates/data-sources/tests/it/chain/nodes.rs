//! The nodes' reports about transactions.

mod witnesses;

use std::{collections::BTreeMap, time::Duration};

use alloy_primitives::{Address, B256, U256, b256};
use data_sources::{
    evm::{EvmReader, SOURCES},
    rpc::RpcConfig,
    transport::{HealthState, Limits},
};
use readings::chain::{ExecutionOutcome, Record, Testimony, knowledge::Replay};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::any};

use crate::chain::{answering, clock, code, json as answer, recorded, transport};
use crate::support::methods;

const HASH: B256 = b256!("88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b");

type Change = fn(&mut Value);

/// A node's answers by method; a test changes one of them.
fn replies() -> BTreeMap<String, Value> {
    let recorded = |file: &str| recorded(&format!("evm_rpc/{file}"));
    BTreeMap::from([
        ("eth_chainId".to_owned(), recorded("chain_id_xlayer")),
        (
            "eth_getTransactionByHash".to_owned(),
            recorded("get_tx_erc20_transfer"),
        ),
        (
            "eth_getTransactionReceipt".to_owned(),
            recorded("get_receipt_erc20_transfer"),
        ),
        ("eth_getBlockByHash".to_owned(), recorded("get_block")),
        ("eth_call".to_owned(), recorded("replay_reverted")),
    ])
}

async fn node(replies: BTreeMap<String, Value>) -> MockServer {
    let server = MockServer::start().await;
    let respond = move |request: &Request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let method = body["method"].as_str().unwrap();
        match replies.get(method) {
            Some(reply) => answer(reply),
            None => answer(
                &json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "the method does not exist"}}),
            ),
        }
    };
    Mock::given(any())
        .respond_with(respond)
        .mount(&server)
        .await;
    server
}

async fn changed(method: &str, change: Change) -> MockServer {
    let mut replies = replies();
    change(&mut replies.get_mut(method).unwrap()["result"]);
    node(replies).await
}

fn reader(nodes: &[&MockServer]) -> EvmReader {
    reader_within(Duration::from_secs(60), nodes)
}

fn reader_within(timeout: Duration, nodes: &[&MockServer]) -> EvmReader {
    let urls = nodes.iter().map(|node| node.uri().into()).collect();
    let config = RpcConfig {
        chains: BTreeMap::from([(196, urls)]),
        limits: Limits {
            timeout,
            ..RpcConfig::default().limits
        },
        ..RpcConfig::default()
    };
    EvmReader::new(&transport(), config, clock()).unwrap()
}

async fn read(node: &MockServer) -> Record {
    let found = reader(&[node]).transaction(196, HASH, None).await.unwrap();
    found.value.unwrap()
}

async fn refused(method: &str, change: Change) -> String {
    let node = changed(method, change).await;
    code(reader(&[&node]).transaction(196, HASH, None).await)
}

#[tokio::test]
async fn a_transaction_is_read_with_its_receipt_and_the_time_of_its_block() {
    let node = node(replies()).await;
    let record = read(&node).await;
    assert_eq!(record.network.name, "xlayer");
    assert_eq!(record.time.unwrap().to_string(), "2026-11-21T00:59:59Z");
    let receipt = record.receipt.unwrap();
    assert_eq!(
        (receipt.outcome, receipt.logs.len()),
        (ExecutionOutcome::Success, 1)
    );
    assert_eq!(receipt.l1_fee, Some(U256::from(0x1a_2b3c)));
    assert_eq!(
        methods(&node).await,
        [
            "eth_chainId",
            "eth_getTransactionByHash",
            "eth_getTransactionReceipt",
            "eth_getBlockByHash"
        ]
    );
}

#[tokio::test]
async fn answers_about_something_else_are_refused() {
    let cases: [(&str, Change); 9] = [
        ("eth_getTransactionByHash", |tx| {
            tx["hash"] = json!(format!("0x{}", "11".repeat(32)))
        }),
        ("eth_getTransactionByHash", |tx| {
            tx["chainId"] = json!("0x1")
        }),
        ("eth_getTransactionByHash", |tx| tx["from"] = json!("0x12")),
        ("eth_getTransactionReceipt", |receipt| {
            receipt["transactionHash"] = json!(format!("0x{}", "11".repeat(32)))
        }),
        ("eth_getTransactionReceipt", |receipt| {
            receipt["blockHash"] = json!(format!("0x{}", "11".repeat(32)))
        }),
        ("eth_getTransactionReceipt", |receipt| {
            receipt["from"] = json!(format!("0x{}", "22".repeat(20)))
        }),
        ("eth_getTransactionReceipt", |receipt| {
            receipt["status"] = json!("0x2")
        }),
        ("eth_getTransactionReceipt", |receipt| {
            receipt["logs"][0]["removed"] = json!(true)
        }),
        ("eth_getTransactionReceipt", |receipt| {
            *receipt = Value::Null
        }),
    ];
    for (place, (method, change)) in cases.into_iter().enumerate() {
        assert_eq!(
            refused(method, change).await,
            "upstream_malformed",
            "{place}"
        );
    }
}

#[tokio::test]
async fn an_unreadable_block_leaves_out_only_the_time() {
    let other: Change = |block| block["hash"] = json!(format!("0x{}", "11".repeat(32)));
    let late: Change = |block| block["timestamp"] = json!("0xffffffffffffffff");
    for change in [other, late] {
        let record = read(&changed("eth_getBlockByHash", change).await).await;
        assert!(record.time.is_none() && record.receipt.is_some());
    }
}

#[tokio::test]
async fn a_pending_transaction_has_no_receipt() {
    let pending: Change = |tx| {
        for member in ["blockHash", "blockNumber", "transactionIndex"] {
            tx[member] = Value::Null;
        }
    };
    let node = changed("eth_getTransactionByHash", pending).await;
    let record = read(&node).await;
    assert!(
        record.receipt.is_none() && record.transaction.block.is_none() && record.time.is_none()
    );
    assert_eq!(
        methods(&node).await,
        ["eth_chainId", "eth_getTransactionByHash"]
    );
}

#[tokio::test]
async fn a_node_of_another_chain_is_never_believed() {
    let wrong = changed("eth_chainId", |id| *id = json!("0x1")).await;
    let reader = reader(&[&wrong]);
    assert_eq!(
        code(reader.transaction(196, HASH, None).await),
        "upstream_business_unsuitable_node"
    );
    assert_eq!(methods(&wrong).await, ["eth_chainId"]);
    let health = reader.health();
    assert_eq!(health[0].sources.len(), SOURCES.len());
    assert!(
        health[0]
            .sources
            .iter()
            .all(|source| source.state == HealthState::Disabled)
    );
}

#[tokio::test]
async fn a_settled_transaction_is_kept_and_a_young_one_is_not() {
    let old = changed("eth_getBlockByHash", |block| {
        block["timestamp"] = json!("0x5f5e100")
    })
    .await;
    let reader_of_old = reader(&[&old]);
    for _ in 0..3 {
        let found = reader_of_old.transaction(196, HASH, None).await.unwrap();
        assert!(reader_of_old.is_settled(&found.value.unwrap()));
    }
    assert_eq!(methods(&old).await.len(), 4);
    let young = node(replies()).await;
    let record = read(&young).await;
    assert!(!reader(&[&young]).is_settled(&record));
}

#[tokio::test]
async fn a_revert_is_run_again_on_the_state_before_its_block() {
    let node = node(replies()).await;
    let reader = reader(&[&node]);
    let record = read(&node).await;
    let Replay::Reverted { data, message } = reader.replay(&record).await else {
        panic!("no revert");
    };
    assert!(data.unwrap().starts_with(&[0x08, 0xc3, 0x79, 0xa0]));
    assert!(message.contains("exceeds balance"));
    let requests = node.received_requests().await.unwrap();
    let call: Value = serde_json::from_slice(&requests.last().unwrap().body).unwrap();
    assert_eq!(call["params"][1], "0x2f3a1af");
    assert_eq!(call["params"][0]["gas"], "0x11170");
    assert_eq!(call["params"][0]["from"], format!("0x{}", "11".repeat(20)));
}

#[tokio::test]
async fn a_replay_without_the_old_state_is_unavailable() {
    let with = |reply: Value| {
        let mut all = replies();
        all.insert("eth_call".to_owned(), reply);
        node(all)
    };
    let pruned = with(recorded("evm_rpc/state_pruned")).await;
    let record = read(&pruned).await;
    assert_eq!(
        reader(&[&pruned]).replay(&record).await,
        Replay::Unavailable("state_pruned".to_owned())
    );
    let fine = with(json!({"jsonrpc": "2.0", "id": 1, "result": "0x"})).await;
    assert_eq!(reader(&[&fine]).replay(&record).await, Replay::Succeeded);
    let silent = with(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "execution reverted"}})).await;
    let expected = Replay::Reverted {
        data: None,
        message: "execution reverted".to_owned(),
    };
    assert_eq!(reader(&[&silent]).replay(&record).await, expected);
}

#[tokio::test]
async fn more_logs_than_are_read_are_counted() {
    let many: Change = |receipt| {
        let log = receipt["logs"][0].clone();
        receipt["logs"] = Value::Array(vec![log; 4_100]);
    };
    let receipt = read(&changed("eth_getTransactionReceipt", many).await)
        .await
        .receipt
        .unwrap();
    assert_eq!((receipt.logs.len(), receipt.logs_left_out), (4_096, 4));
}

#[tokio::test]
async fn pages_and_silence_are_no_answers() {
    let page =
        answering(ResponseTemplate::new(200).set_body_raw("<html></html>", "text/html")).await;
    assert_eq!(
        code(reader(&[&page]).transaction(196, HASH, None).await),
        "upstream_wrong_content_type"
    );
    let slow = answering(answer(&json!({})).set_delay(Duration::from_secs(60))).await;
    let hasty = reader_within(Duration::from_millis(50), &[&slow]);
    assert_eq!(
        code(hasty.transaction(196, HASH, None).await),
        "upstream_timeout"
    );
    let limited = answering(ResponseTemplate::new(429)).await;
    assert_eq!(
        code(reader(&[&limited]).transaction(196, HASH, None).await),
        "upstream_rate_limited"
    );
}

#[tokio::test]
async fn a_batch_of_a_block_of_the_future_is_refused() {
    // The recorded batch with its time set ten thousand seconds ahead.
    let recorded = recorded("evm_rpc/facts_usdt0").to_string();
    let time = |seconds: u64| format!("{seconds:064x}");
    let future = recorded.replace(&time(1_795_222_919), &time(1_795_232_920));
    assert_ne!(future, recorded);
    for (reply, fine) in [(recorded, true), (future, false)] {
        let mut all = replies();
        all.insert("eth_call".to_owned(), serde_json::from_str(&reply).unwrap());
        let node = node(all).await;
        let token: Address = "0x779Ded0c9e1022225f8E0630b35a9b54bE713736"
            .parse()
            .unwrap();
        let facts = reader(&[&node]).token_facts(196, &[token]).await;
        assert_eq!(facts.is_ok(), fine, "{facts:?}");
        if let Ok(facts) = facts {
            assert_eq!(facts.value[&token].symbol.as_deref(), Some("USD₮0"));
            assert_eq!(facts.sources[0].as_of.unwrap().as_second(), 1_795_222_919);
        }
    }
}

#[tokio::test]
async fn only_a_deposit_mints_coins() {
    let deposit: Change = |tx| {
        tx["type"] = json!("0x7e");
        tx["mint"] = json!("0xde0b6b3a7640000");
    };
    let record = read(&changed("eth_getTransactionByHash", deposit).await).await;
    let ether = U256::from(1_000_000_000_000_000_000_u64);
    assert_eq!(record.transaction.minted, Some(ether));
    let forged: Change = |tx| tx["mint"] = json!("0xde0b6b3a7640000");
    let record = read(&changed("eth_getTransactionByHash", forged).await).await;
    assert_eq!(record.transaction.minted, None);
    let counted: Change = |receipt| receipt["gasUsedForL1"] = json!("0x10");
    let record = read(&changed("eth_getTransactionReceipt", counted).await).await;
    assert_eq!(record.receipt.unwrap().l1_gas, Some(U256::from(16)));
}

#[tokio::test]
async fn a_token_that_breaks_a_batch_leaves_the_units_of_the_others() {
    let good: Address = "0x779Ded0c9e1022225f8E0630b35a9b54bE713736"
        .parse()
        .unwrap();
    let hostile = Address::repeat_byte(0xee);
    let server = MockServer::start().await;
    let respond = |request: &Request| {
        let text = String::from_utf8(request.body.clone()).unwrap();
        if text.contains("eth_chainId") {
            return answer(&recorded("evm_rpc/chain_id_xlayer"));
        }
        match text.contains(&"ee".repeat(20)) {
            true => answer(
                &json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "out of gas"}}),
            ),
            false => answer(&recorded("evm_rpc/facts_usdt0")),
        }
    };
    Mock::given(any())
        .respond_with(respond)
        .mount(&server)
        .await;
    let reader = reader(&[&server]);
    let facts = reader.token_facts(196, &[hostile, good]).await.unwrap();
    assert_eq!(facts.value[&good].decimals, Some(6));
    assert_eq!(facts.value[&hostile].decimals, None);
    assert!(facts.sources.iter().all(|source| source.reference));
    // A batch with only this token is a failure: the node stated nothing.
    assert!(reader.token_facts(196, &[hostile]).await.is_err());
    // Kept facts state their time, and only name things.
    let kept = reader.token_facts(196, &[good]).await.unwrap();
    assert!(kept.sources[0].cached && kept.sources[0].reference);
}
