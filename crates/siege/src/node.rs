//! The JSON-RPC endpoint of the chain, with injected failures.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use alloy_primitives::hex;
use dev_chain::DevChain;
use serde_json::{Value, json};

use crate::weather::Weather;
use crate::wire::{self, Asked, Reply};

/// How many blocks a lagging node is behind.
const LAG: u64 = 4;

/// The calls that may fail. They name a payment or its payer. Other calls concern all callers, also
/// the steady ones, so they are always answered.
const STRUCK: [&str; 5] = [
    "eth_call",
    "eth_getCode",
    "eth_getLogs",
    "eth_getTransactionReceipt",
    "eth_getTransactionByHash",
];

/// The call that sends a transaction.
const SEND: &str = "eth_sendRawTransaction";

/// Serves the chain with failures. Nodes of other names fail at other calls.
///
/// # Errors
/// When no port is available.
pub async fn open(
    name: &'static str,
    chain: DevChain,
    weather: Arc<Weather>,
) -> io::Result<SocketAddr> {
    let (count, chain) = (AtomicU64::new(0), Arc::new(chain));
    wire::serve(move |asked| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let event = format!("{name} {number}");
        answer(chain.clone(), weather.clone(), event, asked)
    })
    .await
}

async fn answer(chain: Arc<DevChain>, weather: Arc<Weather>, event: String, asked: Asked) -> Reply {
    let text = String::from_utf8_lossy(&asked.body);
    let calls = serde_json::from_slice::<Value>(&asked.body).ok();
    // All calls of a batch have the same method.
    let first = calls.as_ref().map(|calls| calls.get(0).unwrap_or(calls));
    let method = first.and_then(|call| call.get("method"));
    let method = method.and_then(Value::as_str).unwrap_or_default();
    if method == SEND {
        let calls = calls.as_ref().map_or(&[][..], |calls| match calls {
            Value::Array(calls) => calls.as_slice(),
            call => std::slice::from_ref(call),
        });
        let raw = calls.iter().filter_map(|call| call.pointer("/params/0"));
        let raw = raw.filter_map(|raw| hex::decode(raw.as_str()?).ok());
        raw.for_each(|raw| weather.sent(&raw));
    }
    if !STRUCK.contains(&method) || weather.spares_request(&text) {
        return ask(&chain, &asked.body);
    }
    let mut chance = weather.chance(&event);
    match chance.below(100) {
        0..2 => Reply::Silence,
        2..4 => Reply::Drop,
        4..6 => Reply::json(503, "overloaded"),
        6..8 => match ask(&chain, &asked.body) {
            Reply::Whole { body, .. } => Reply::Torn(body),
            other => other,
        },
        8..9 => Reply::json(
            200,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"limit exceeded"}}"#,
        ),
        9..14 => lagging(&chain, method, &text),
        14..17 => {
            tokio::time::sleep(chance.millis(100, 900)).await;
            ask(&chain, &asked.body)
        }
        _ => ask(&chain, &asked.body),
    }
}

/// Answers like a node that has not seen the newest blocks.
fn lagging(chain: &DevChain, method: &str, text: &str) -> Reply {
    match method {
        "eth_getTransactionReceipt" | "eth_getTransactionByHash" => {
            let unknown = |call: &Value| {
                let id = call.get("id").cloned().unwrap_or(Value::Null);
                json!({ "jsonrpc": "2.0", "id": id, "result": null })
            };
            let answer = match serde_json::from_str::<Value>(text) {
                Ok(Value::Array(calls)) => calls.iter().map(unknown).collect(),
                Ok(call) => unknown(&call),
                Err(_) => unknown(&Value::Null),
            };
            Reply::json(200, answer.to_string())
        }
        _ => {
            let behind = chain.block_number().saturating_sub(LAG);
            let text = text.replace("\"latest\"", &format!("\"{behind:#x}\""));
            ask(chain, text.as_bytes())
        }
    }
}

fn ask(chain: &DevChain, body: &[u8]) -> Reply {
    match chain.answer(body) {
        dev_chain::Reply::Http { status, body } => Reply::json(status, body),
        dev_chain::Reply::Close => Reply::Drop,
        dev_chain::Reply::Never => Reply::Silence,
    }
}
