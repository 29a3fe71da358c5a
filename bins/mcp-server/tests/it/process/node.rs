//! A node of a chain with scripted answers.

use serde_json::{Value, json};
use test_support::answer_http;

/// A node of one chain. It answers until the process ends.
pub(crate) struct Node {
    pub(crate) url: String,
}

impl Node {
    /// Answers `eth_chainId` itself and every other request by `answer`. Requests that `answer`
    /// does not know revert.
    pub(crate) fn open(
        chain_id: u64,
        answer: impl Fn(&Value) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        let url = answer_http(move |asked| {
            let request: Value = serde_json::from_str(&asked.body).unwrap();
            let result = match request["method"].as_str() {
                Some("eth_chainId") => Some(json!(format!("{chain_id:#x}"))),
                _ => answer(&request),
            };
            let mut answer = json!({"jsonrpc": "2.0", "id": request["id"]});
            match result {
                Some(result) => answer["result"] = result,
                None => {
                    answer["error"] =
                        json!({"code": 3, "message": "execution reverted", "data": "0x"});
                }
            }
            (200, answer.to_string())
        });
        Self { url }
    }
}
