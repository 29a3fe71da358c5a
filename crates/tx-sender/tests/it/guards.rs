//! Tests of the sender's guards, one for each. Each test fails when its guard is removed, and no
//! other test does.

mod blocks;
mod contradictions;
mod lanes;
mod names;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use alloy_signer_local::PrivateKeySigner;
use dev_chain::{BadAnswer, DevChain, Fate, InjectedFault, Reply};
use serde_json::{Value, json};
use test_support::{eventually, pass};
use tokio::time::timeout;
use tx_sender::{
    Chain, Lane, LocalKey, Node, NodeFault, Options, Request, RpcNode, Sender, SignError,
    SignFuture, Takeover, TransactionSigner, Transport, Unsigned,
};

use crate::support::{BASE_FEE, CAP, InProcess, LANE, World, key, name, submit, transfer};

/// Replaces the answer of a node, by method and parameters.
type Script = dyn Fn(&str, &Value) -> Option<Result<Value, NodeFault>> + Send + Sync;

struct Scripted(InProcess, Box<Script>);

impl Transport for Scripted {
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        let request: Value = serde_json::from_slice(&body).unwrap();
        let Some(answer) = (self.1)(method, &request["params"]) else {
            return self.0.exchange(method, body);
        };
        let answer = answer.map(|mut answer| {
            answer["jsonrpc"] = json!("2.0");
            answer["id"] = request["id"].clone();
            answer.to_string().into_bytes()
        });
        Box::pin(std::future::ready(answer))
    }
}

pub(crate) fn scripted(
    node: &InProcess,
    script: impl Fn(&str, &Value) -> Option<Result<Value, NodeFault>> + Send + Sync + 'static,
) -> Arc<dyn Node> {
    let scripted = Scripted(node.clone(), Box::new(script));
    Arc::new(RpcNode::new(Arc::new(scripted)))
}

/// Gives signed bytes to a chain.
fn hand_over(chain: &DevChain, raw: &[u8]) -> B256 {
    let request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction",
        "params": [hex::encode_prefixed(raw)],
    });
    let Reply::Http { body, .. } = chain.answer(request.to_string().as_bytes()) else {
        panic!("no answer")
    };
    let answer: Value = serde_json::from_slice(&body).unwrap();
    answer["result"].as_str().unwrap().parse().unwrap()
}
