//! Checks every message that the server sends. It uses the protocol's own schemas where they cover
//! the message.

use serde_json::Value;

use crate::protocol::wire::Answer;

/// The allowed error codes: those of JSON-RPC and those of the protocol.
const CODES: [i64; 6] = [-32700, -32600, -32601, -32602, -32020, -32022];

pub(crate) fn check(answer: &Answer) {
    if answer.body.is_empty() {
        assert!([202, 204].contains(&answer.status), "{answer:?}");
        assert_eq!(answer.header("content-type"), None);
        return;
    }
    let message = answer.json();
    let members: Vec<&str> = message
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(message["jsonrpc"], "2.0");
    if let Some(id) = message.get("id") {
        // `is_number` also holds for integers of more than 64 bits.
        assert!(id.is_string() || id.is_number(), "{message}");
    }
    match (message.get("result"), message.get("error")) {
        (Some(result), None) => {
            assert_eq!(answer.status, 200);
            assert_eq!(members.len(), 3, "{members:?}");
            assert!(message.get("id").is_some());
            check_result(result);
        }
        (None, Some(error)) => {
            assert!(
                members
                    .iter()
                    .all(|name| ["error", "id", "jsonrpc"].contains(name))
            );
            let error = error.as_object().unwrap();
            assert!(
                error
                    .keys()
                    .all(|name| ["code", "message", "data"].contains(&name.as_str()))
            );
            assert!(error["message"].is_string());
            assert!(
                CODES.contains(&error["code"].as_i64().unwrap()),
                "{message}"
            );
        }
        _ => panic!("neither a result nor an error: {message}"),
    }
}

fn check_result(result: &Value) {
    assert!(result.is_object());
    let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    if let Some(kind) = result.get("resultType") {
        assert_eq!(kind, "complete");
        assert!(server["name"].is_string() && server["version"].is_string());
    } else {
        assert_eq!(result.get("_meta"), None);
    }
    if let Some(content) = result.get("content") {
        let block = &content.as_array().unwrap()[0];
        assert_eq!(block["type"], "text");
        let text: Value = serde_json::from_str(block["text"].as_str().unwrap()).unwrap();
        assert!(text.is_object());
        assert_eq!(result["structuredContent"], text);
        assert!(result["isError"].is_boolean());
    }
}
