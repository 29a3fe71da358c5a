mod simulate;

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{Address, Bytes, U256, bytes};
use calldata_checks::{Step, StepKind};
use data_sources::rpc::{RpcConfig, RpcReader};
use plan_builder::ports::{Accounts, Simulator};
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::rails::*;
use crate::support::methods;

const BASE: u64 = 8453;
const ACCOUNT: Address = Address::repeat_byte(0xaa);
const TARGET: Address = Address::repeat_byte(0xbb);

fn result(value: Value) -> ResponseTemplate {
    json(&json!({"jsonrpc": "2.0", "id": 1, "result": value}))
}

fn error(code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message}})
}

/// A node of Base that answers everything but its chain id with `response`.
async fn node(response: ResponseTemplate) -> MockServer {
    node_of(json!("0x2105"), response).await
}

async fn node_of(chain_id: Value, response: ResponseTemplate) -> MockServer {
    deciding(move |request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(
            (body["jsonrpc"].as_str(), body["id"].as_u64()),
            (Some("2.0"), Some(1))
        );
        match body["method"].as_str().unwrap() {
            "eth_chainId" => result(chain_id.clone()),
            _ => response.clone(),
        }
    })
    .await
}

fn reader(urls: &[String]) -> RpcReader {
    let urls = urls.iter().map(|url| url.as_str().into()).collect();
    let config = RpcConfig {
        chains: BTreeMap::from([(BASE, urls)]),
        ..RpcConfig::default()
    };
    RpcReader::new(&transport(), config, Arc::new(recorded_clock())).unwrap()
}

async fn code(response: ResponseTemplate) -> Result<Bytes, PortError> {
    let node = node(response).await;
    reader(&[node.uri()]).code(BASE, ACCOUNT).await
}

async fn call(response: ResponseTemplate) -> Result<Option<Bytes>, PortError> {
    let node = node(response).await;
    reader(&[node.uri()])
        .call(BASE, TARGET, bytes!("a0e67e2b"))
        .await
}

#[track_caller]
fn place<T: std::fmt::Debug>(result: Result<T, PortError>) -> String {
    match reason(result, "rpc") {
        PortErrorReason::Malformed { path, .. } => path,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn code_is_read_after_the_chain_id_which_is_asked_once() {
    let node = node(result(json!("0xef0100"))).await;
    let reader = reader(&[format!("{}/v3/key?apikey=hidden", node.uri())]);
    for _ in 0..3 {
        assert_eq!(reader.code(BASE, ACCOUNT).await, Ok(bytes!("ef0100")));
    }
    assert_eq!(
        methods(&node).await,
        ["eth_chainId", "eth_getCode", "eth_getCode", "eth_getCode"]
    );
    let request = &node.received_requests().await.unwrap()[1];
    assert_eq!(
        (request.url.path(), request.url.query()),
        ("/v3/key", Some("apikey=hidden"))
    );
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(
        body["params"],
        json!([format!("0x{}", "aa".repeat(20)), "latest"])
    );
    assert!(!format!("{reader:?}").contains("hidden"));
    assert_eq!(code(result(json!("0x"))).await, Ok(Bytes::new()));
}

#[tokio::test]
async fn a_call_returns_or_reverts() {
    let node = node(result(json!("0x0102"))).await;
    assert_eq!(
        reader(&[node.uri()])
            .call(BASE, TARGET, bytes!("a0e67e2b"))
            .await,
        Ok(Some(bytes!("0102")))
    );
    let body: Value =
        serde_json::from_slice(&node.received_requests().await.unwrap()[1].body).unwrap();
    assert_eq!(
        body["params"],
        json!([{"to": format!("0x{}", "bb".repeat(20)), "data": "0xa0e67e2b"}, "latest"])
    );
    for reverted in [
        json!({"code": 3, "message": "execution reverted: no", "data": "0x08c379a0"}),
        json!({"code": -32000, "message": "execution reverted"}),
        json!({"code": -32015, "message": "VM execution error."}),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "error": reverted});
        assert_eq!(call(json(&body)).await, Ok(None));
        // Some nodes send it with their own status.
        assert_eq!(call(failure(400, &body)).await, Ok(None));
    }
}

#[tokio::test]
async fn a_failure_to_run_a_call_is_no_revert() {
    assert_eq!(
        reason(
            call(json(&error(-32000, "header not\u{202e} found"))).await,
            "rpc"
        ),
        unavailable("call: business code -32000: header not found")
    );
    assert_eq!(
        reason(
            call(failure(500, &error(-32603, "internal error"))).await,
            "rpc"
        ),
        unavailable("call: business code -32603: internal error")
    );
    assert_eq!(
        reason(
            call(json(&error(-32601, "the method eth_call does not exist"))).await,
            "rpc"
        ),
        unavailable("no endpoint of chain 8453 offers eth_call")
    );
}

#[tokio::test]
async fn a_chain_without_an_endpoint_is_not_configured() {
    let reader = reader(&[]);
    for chain in [BASE, 1] {
        let expected = PortErrorReason::NotConfigured {
            detail: format!("no endpoint for chain {chain}"),
        };
        assert_eq!(reason(reader.code(chain, ACCOUNT).await, "rpc"), expected);
        assert_eq!(
            reason(reader.call(chain, TARGET, Bytes::new()).await, "rpc"),
            expected
        );
        assert_eq!(reader.simulate(chain, ACCOUNT, &[]).await, Ok(None));
    }
    assert_eq!(reader.health(), []);
}

#[tokio::test]
async fn a_node_of_another_chain_is_refused_by_name() {
    let wrong = node_of(json!("0x1"), result(json!("0x01"))).await;
    let reader = reader(&[wrong.uri()]);
    for _ in 0..2 {
        assert_eq!(
            reason(reader.code(BASE, ACCOUNT).await, "rpc"),
            unavailable("endpoint 1 of chain 8453 is a node of chain 1")
        );
    }
    // It gets no other request, and its chain id is asked for only once.
    assert_eq!(methods(&wrong).await, ["eth_chainId"]);
    let health = &reader.health()[0];
    assert_eq!((health.chain_id, health.position), (BASE, 1));
    assert_eq!(
        state(&health.sources, "rpc.code"),
        ("disabled", Some("the node is on chain 1"))
    );
}

#[tokio::test]
async fn a_chain_id_must_be_one() {
    for id in [
        json!("base"),
        json!("0x"),
        json!(8453),
        json!("0x10000000000000000"),
        Value::Null,
    ] {
        let node = node_of(id, result(json!("0x"))).await;
        assert_eq!(
            place(reader(&[node.uri()]).code(BASE, ACCOUNT).await),
            "$.result"
        );
        assert_eq!(methods(&node).await, ["eth_chainId"]);
    }
}

#[tokio::test]
async fn the_next_endpoint_is_asked_when_one_fails() {
    for broken in [
        ResponseTemplate::new(503),
        ResponseTemplate::new(403),
        ResponseTemplate::new(429),
        ResponseTemplate::new(200).set_body_raw("<html>", "text/html"),
        raw(r#"{"jsonrpc":"2.0","id":1,"resu"#),
        raw(r#"{"jsonrpc":"2.0","id":1}"#),
        raw(r#"{"jsonrpc":"2.0","id":2,"result":"0x01"}"#),
        raw(r#"{"jsonrpc":"2.0","id":1,"result":"01"}"#),
        raw("[]"),
        json(&error(-32005, "limit exceeded")),
        json(&error(-32000, "missing trie node")),
        json(&error(-32601, "method not found")),
    ] {
        let (first, second) = (node(broken).await, node(result(json!("0x60"))).await);
        let reader = reader(&[first.uri(), second.uri()]);
        assert_eq!(reader.code(BASE, ACCOUNT).await, Ok(bytes!("60")));
        assert_eq!(
            (request_count(&first).await, request_count(&second).await),
            (2, 2)
        );
    }
    let second = node(result(json!("0x60"))).await;
    assert_eq!(
        reader(&[dropping(), second.uri()])
            .code(BASE, ACCOUNT)
            .await,
        Ok(bytes!("60"))
    );
    let wrong = node_of(json!("0xa"), result(json!("0x01"))).await;
    assert_eq!(
        reader(&[wrong.uri(), second.uri()])
            .code(BASE, ACCOUNT)
            .await,
        Ok(bytes!("60"))
    );
}

#[tokio::test]
async fn an_answer_about_the_request_is_final() {
    let (first, second) = (
        node(json(&error(-32602, "invalid argument 0"))).await,
        node(result(json!("0x60"))).await,
    );
    let reader = self::reader(&[first.uri(), second.uri()]);
    assert_eq!(
        reason(reader.code(BASE, ACCOUNT).await, "rpc"),
        refused("invalid argument 0 (code -32602)")
    );
    assert_eq!(request_count(&second).await, 0);
    let (first, second) = (
        node(json(&error(3, "execution reverted"))).await,
        node(result(json!("0x60"))).await,
    );
    let reader = self::reader(&[first.uri(), second.uri()]);
    assert_eq!(reader.call(BASE, TARGET, Bytes::new()).await, Ok(None));
    assert_eq!(request_count(&second).await, 0);
}

#[tokio::test]
async fn every_failure_has_its_reason() {
    for (response, expected) in [
        (
            ResponseTemplate::new(503),
            unavailable("code: http status 503"),
        ),
        (
            ResponseTemplate::new(401),
            unavailable("code: http status 401"),
        ),
        (
            ResponseTemplate::new(429).insert_header("retry-after", "5"),
            limited(Some(5)),
        ),
        (json(&error(-32005, "limit exceeded")), limited(Some(2))),
        (
            ResponseTemplate::new(200).set_body_raw("x", "text/plain"),
            malformed("$", "code: content type \"text/plain\" instead of json"),
        ),
        (
            raw("{"),
            malformed(
                "$",
                "code: expected a json document, got EOF while parsing an object at line 1 column 1",
            ),
        ),
        (
            raw(r#"{"jsonrpc":"2.0","id":1}"#),
            malformed("$.result", "code: expected a member, got nothing"),
        ),
        (
            raw(r#"{"jsonrpc":"2.0","id":1,"result":null}"#),
            malformed("$.result", "code: expected a member, got nothing"),
        ),
        (
            raw(r#"{"jsonrpc":"2.0","id":9,"result":"0x"}"#),
            malformed("$.id", "code: expected the id of the request, got 9"),
        ),
        (
            raw(r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#),
            malformed("$.error", r#"code: expected an object, got "no""#),
        ),
        (
            raw(r#"{"jsonrpc":"2.0","id":1,"error":{"code":"3"}}"#),
            malformed("$.error.code", r#"code: expected a whole number, got "3""#),
        ),
        (
            result(json!("0x1")),
            malformed(
                "$.result",
                r#"code: expected 0x and hexadecimal bytes, got "0x1""#,
            ),
        ),
    ] {
        assert_eq!(reason(code(response).await, "rpc"), expected);
    }
}

#[tokio::test]
async fn a_hanging_node_is_left_behind_in_time() {
    let (slow, second) = (
        node(hanging(result(json!("0x01")))).await,
        node(result(json!("0x60"))).await,
    );
    let config = |urls: Vec<secrecy::SecretString>| RpcConfig {
        chains: BTreeMap::from([(BASE, urls)]),
        limits: Limits {
            attempts: 1,
            ..patient_enough()
        },
        ..RpcConfig::default()
    };
    let built = |config| RpcReader::new(&transport(), config, Arc::new(recorded_clock())).unwrap();
    let alone = built(config(vec![slow.uri().into()]));
    assert_eq!(
        reason(alone.code(BASE, ACCOUNT).await, "rpc"),
        unavailable("code: no answer within 1000 ms")
    );
    assert_eq!(
        state(&alone.health()[0].sources, "rpc.code"),
        ("unavailable", Some("upstream_timeout"))
    );
    let both = built(config(vec![slow.uri().into(), second.uri().into()]));
    assert_eq!(both.code(BASE, ACCOUNT).await, Ok(bytes!("60")));
}

#[test]
fn an_unusable_address_is_refused_without_printing_it() {
    let config = RpcConfig {
        chains: BTreeMap::from([(BASE, vec!["node.example/secret".into()])]),
        ..RpcConfig::default()
    };
    assert!(!format!("{config:?}").contains("secret"));
    let error = RpcReader::new(&transport(), config, Arc::new(recorded_clock())).unwrap_err();
    assert_eq!(error.code(), "base_url_invalid");
    assert!(!format!("{error} {error:?}").contains("secret"));
}
