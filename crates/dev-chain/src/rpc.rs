//! JSON-RPC 2.0: single requests, batches and errors, in the manner of go-ethereum.
//!
//! This module reads the envelope and applies injected faults. The methods are in its submodules,
//! and [`server`](crate::server) has the sockets.

mod answers;
mod blocks;
mod calls;
mod error;
mod fees;
mod logs;
mod methods;
mod params;
mod simulate;
mod unlocked;

use serde_json::{Map, Value, json};

use self::{error::RpcError, params::Params};
use crate::{fault::BadAnswer, node::Node};

/// Longest batch that is answered.
const MAX_BATCH: usize = 1000;

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// An HTTP answer.
    Http {
        /// The status, 200 unless a [`InjectedFault`](crate::InjectedFault) says otherwise.
        status: u16,
        /// The body, empty when there were only notifications.
        body: Vec<u8>,
    },
    /// The connection is closed without an answer.
    Close,
    /// No answer, ever.
    Never,
}

/// Answers one body. Every input gets an answer, garbage included.
pub(crate) fn answer(node: &mut Node, body: &[u8]) -> Reply {
    let value = match serde_json::from_slice(body) {
        Ok(Value::Array(calls)) => match batch(node, calls) {
            Ok(value) => value,
            Err(faulty) => return faulty,
        },
        Ok(call) => match single(node, call) {
            Ok(value) => value,
            Err(faulty) => return faulty,
        },
        Err(_) => Some(failure(Value::Null, &RpcError::parse())),
    };
    let body = value
        .map(|value| value.to_string().into_bytes())
        .unwrap_or_default();
    Reply::Http { status: 200, body }
}

/// The answers of a batch; `Err` when a fault applies to the whole request.
fn batch(node: &mut Node, calls: Vec<Value>) -> Result<Option<Value>, Reply> {
    if calls.is_empty() {
        return Ok(Some(failure(
            Value::Null,
            &RpcError::invalid_request("empty batch"),
        )));
    }
    if calls.len() > MAX_BATCH {
        return Ok(Some(failure(
            Value::Null,
            &RpcError::invalid_request("batch too large"),
        )));
    }
    let mut answers = Vec::new();
    let mut faulty = None;
    for call in calls {
        match single(node, call) {
            Ok(answer) => answers.extend(answer),
            Err(reply) => faulty = faulty.or(Some(reply)),
        }
    }
    match faulty {
        Some(reply) => Err(reply),
        None => Ok((!answers.is_empty()).then_some(Value::Array(answers))),
    }
}

/// The answer to one call, none for a notification; `Err` when a fault applies to the whole
/// request.
fn single(node: &mut Node, call: Value) -> Result<Option<Value>, Reply> {
    let Some((id, method, params)) = envelope(call) else {
        return Ok(Some(failure(
            Value::Null,
            &RpcError::invalid_request("invalid request"),
        )));
    };
    let strike = node.faults.strike(&method);
    if let Some(strike) = &strike
        && !strike.after
    {
        return faulty_answer(id, &strike.answer);
    }
    let result = Params::new(params).and_then(|params| methods::dispatch(node, &method, params));
    if let Some(strike) = strike {
        return faulty_answer(id, &strike.answer);
    }
    let Some(id) = id else { return Ok(None) };
    Ok(Some(match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => failure(id, &error),
    }))
}

/// Id (none for a notification), method and parameters of a well-formed call.
fn envelope(call: Value) -> Option<(Option<Value>, String, Option<Value>)> {
    let Value::Object(mut call) = call else {
        return None;
    };
    if call.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return None;
    }
    let Some(Value::String(method)) = call.remove("method") else {
        return None;
    };
    let id = call.remove("id");
    if matches!(
        id,
        Some(Value::Object(_) | Value::Array(_) | Value::Bool(_))
    ) {
        return None;
    }
    Some((id, method, call.remove("params")))
}

fn faulty_answer(id: Option<Value>, answer: &BadAnswer) -> Result<Option<Value>, Reply> {
    match answer {
        BadAnswer::Error { code, message } => {
            let error = RpcError::new(*code, message.clone());
            Ok(id.map(|id| failure(id, &error)))
        }
        BadAnswer::Close => Err(Reply::Close),
        BadAnswer::Never => Err(Reply::Never),
        BadAnswer::Raw { status, body } => Err(Reply::Http {
            status: *status,
            body: body.clone(),
        }),
    }
}

fn failure(id: Value, error: &RpcError) -> Value {
    let mut object = Map::new();
    object.insert("code".to_owned(), json!(error.code));
    object.insert("message".to_owned(), json!(error.message));
    if let Some(data) = &error.data {
        object.insert("data".to_owned(), data.clone());
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": object })
}
