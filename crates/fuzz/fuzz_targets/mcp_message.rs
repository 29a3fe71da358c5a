//! Reads a message of the Model Context Protocol from any bytes. It is read as a general JSON
//! parser reads it, or refused with an error that is itself a message. Every answer carries the id
//! as it was written.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json, value::RawValue};

use self::rpc::{Answer, Id, MAX_DEPTH, Message, is_shallow, string};

/// Compiles the codec from its own files, because it is private to the server.
#[path = "../../../bins/mcp-server/src/rpc"]
#[allow(dead_code, reason = "the server uses more of it")]
mod rpc {
    mod depth;
    mod fault;
    mod id;
    mod members;
    mod message;

    pub(crate) use depth::{MAX_DEPTH, is_shallow};
    pub(crate) use fault::{Answer, Fault};
    pub(crate) use id::Id;
    pub(crate) use members::{Member, Members, MembersError};
    pub(crate) use message::{Message, string};
}

fuzz_target!(|data: &[u8]| {
    let value = serde_json::from_slice::<Value>(data).ok();
    if let Some(value) = &value {
        assert_eq!(is_shallow(data), depth(value) <= MAX_DEPTH);
    }
    let message = match Message::parse(data) {
        Ok(message) => message,
        Err((fault, id)) => {
            let answer = body(fault.answer(id));
            let error: Value = serde_json::from_str(answer["error"].get()).unwrap();
            assert!(error["code"].as_i64().is_some_and(|code| code < 0));
            assert!(error["message"].is_string());
            assert_eq!(answer.get("id").map(|id| id.get()), id.map(Id::json));
            return;
        }
    };
    // Numbers that a general parser cannot hold stay text.
    if let Some(value) = &value {
        assert_eq!(value["jsonrpc"], "2.0");
        assert_eq!(value["method"], *message.method);
        let id = message
            .id
            .map(|id| serde_json::from_str(id.json()).unwrap());
        assert_eq!(value.get("id").cloned(), id);
        agree(value.get("params"), Some(&message.params));
        agree(
            value.get("params").and_then(|params| params.get("_meta")),
            message.meta.as_ref(),
        );
    }
    let Some(id) = message.id else { return };
    let answer = body(Answer::result(id, "{\"a\":1}"));
    let member = |name| answer.get(name).map(|value| value.get());
    assert_eq!(answer.len(), 3);
    assert_eq!(member("jsonrpc"), Some("\"2.0\""));
    assert_eq!(member("id"), Some(id.json()));
    assert_eq!(member("result"), Some("{\"a\":1}"));
    let again = format!(
        "{{\"method\":{},\"id\":{},\"jsonrpc\":\"2.0\"}}",
        json!(message.method),
        id.json()
    );
    let again = Message::parse(again.as_bytes()).unwrap();
    assert_eq!((again.id, again.method), (Some(id), message.method));
});

/// Every member that a general parser sees is found, with the same value.
fn agree(value: Option<&Value>, members: Option<&rpc::Members<'_>>) {
    let Some(object) = value.and_then(Value::as_object) else {
        return;
    };
    for (name, value) in object {
        let found = members.unwrap().find(name).unwrap();
        assert_eq!(&serde_json::from_str::<Value>(found.get()).unwrap(), value);
        assert_eq!(string(found).as_deref(), value.as_str());
    }
}

/// The members of an answer, as text: an id can be a number that a general parser cannot hold.
fn body(answer: Answer) -> BTreeMap<String, Box<RawValue>> {
    serde_json::from_slice(&answer.body.unwrap()).unwrap()
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
