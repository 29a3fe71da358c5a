//! JSON-RPC: the port that carries it, its requests and its answers.

use std::pin::Pin;

use alloy_primitives::B256;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::NodeFault;

/// How many characters of a node's message a [`NodeFault`] keeps.
const MAX_WORDS: usize = 200;

/// Sends one JSON-RPC request to a node, and returns its answer.
pub trait Transport: Send + Sync + 'static {
    /// Returns the body of the answer, whatever its status is. `method` is for errors and metrics.
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>>;
}

/// An answer to one request. Other members than these two are ignored, also the `id`: one exchange
/// carries one request.
#[derive(Debug, Deserialize)]
pub struct RpcAnswer<'a> {
    /// The result, which may be `null`. `None` when the answer has no such member.
    #[serde(borrow, default, deserialize_with = "present")]
    pub result: Option<&'a RawValue>,
    /// The error. `None` when the answer has no such member, and `Some(None)` when it is `null`.
    #[serde(default, deserialize_with = "present")]
    pub error: Option<Option<RpcError>>,
}

/// The error of an answer. Its member `data` is ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// The message of the node, in full. Empty when the node gives none.
    #[serde(default)]
    pub message: String,
}

impl<'a> RpcAnswer<'a> {
    /// Reads the body of an answer. `None` when it is no JSON object, or when its error has another
    /// form than [`RpcError`].
    #[must_use]
    pub fn read(body: &'a [u8]) -> Option<Self> {
        object(body)
    }
}

impl RpcError {
    /// Reads an error that a node has sent as the result. `None` when the result is another one.
    #[must_use]
    pub fn read(result: &RawValue) -> Option<Self> {
        object(result.get().as_bytes())
    }

    /// Whether this error refuses batches: by the code for an invalid request, or by its words.
    pub(super) fn is_of_batches(&self) -> bool {
        matches!(self.code, -32600 | -32700) || self.message.to_ascii_lowercase().contains("batch")
    }
}

impl From<RpcError> for NodeFault {
    fn from(error: RpcError) -> Self {
        Self::Refused {
            code: error.code,
            message: error.message.chars().take(MAX_WORDS).collect(),
        }
    }
}

/// Returns the body of a request. `params` is the array of its parameters.
#[must_use]
pub fn rpc_request(method: &str, params: Value) -> Vec<u8> {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    request.to_string().into_bytes()
}

/// The block parameter of a call, by hash. A node refuses it when the block is not canonical.
pub(super) fn pinned(block: B256) -> Value {
    json!({ "blockHash": block, "requireCanonical": true })
}

/// Asks one node. An absent result is read as `null`, and an error is the answer even beside a
/// result.
///
/// # Errors
/// [`NodeFault::Refused`] when the node answers with an error, [`NodeFault::Lost`] when its answer
/// has another form, and the faults of the transport.
pub async fn ask<T: DeserializeOwned>(
    node: &dyn Transport,
    method: &'static str,
    params: Value,
) -> Result<T, NodeFault> {
    let body = node.exchange(method, rpc_request(method, params)).await?;
    let answer = RpcAnswer::read(&body).ok_or(NodeFault::Lost { method })?;
    if let Some(error) = answer.error.flatten() {
        return Err(error.into());
    }
    let result = answer.result.map_or("null", RawValue::get);
    serde_json::from_str(result).map_err(|_| NodeFault::Lost { method })
}

/// Reads a JSON object. Serde would also take an array, for the members in their order.
fn object<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Option<T> {
    let is_object = json.trim_ascii_start().starts_with(b"{");
    is_object
        .then(|| serde_json::from_slice(json).ok())
        .flatten()
}

/// Reads a member that is there. A member that is `null` is there, too.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Option<(Option<&str>, Option<Option<i64>>)> {
        let RpcAnswer { result, error } = RpcAnswer::read(body.as_bytes())?;
        let code = error.map(|error| error.map(|error| error.code));
        Some((result.map(RawValue::get), code))
    }

    #[test]
    fn a_null_member_is_not_an_absent_one() {
        for (body, expected) in [
            ("{}", (None, None)),
            (r#"{"id":7,"result":null}"#, (Some("null"), None)),
            (r#"{"result":{"a":[1]}}"#, (Some(r#"{"a":[1]}"#), None)),
            (r#" {"error":{"code":3,"data":[]}}"#, (None, Some(Some(3)))),
            (
                r#"{"result":"0x","error":null}"#,
                (Some(r#""0x""#), Some(None)),
            ),
        ] {
            assert_eq!(read(body), Some(expected), "{body}");
        }
    }

    #[test]
    fn only_objects_are_answers() {
        for body in [
            "",
            "null",
            "<html>",
            r#"["0x1"]"#,
            r#"[{"result":"0x1"}]"#,
            r#"{"result":"0x1"} x"#,
            r#"{"result":1,"result":2}"#,
            r#"{"error":"overloaded"}"#,
            r#"{"error":{"message":"no code"}}"#,
            r#"{"error":{"code":3,"message":null}}"#,
        ] {
            assert_eq!(read(body), None, "{body}");
        }
    }

    #[test]
    fn an_error_in_the_result_is_found() {
        let read = |result: &str| RpcError::read(serde_json::from_str(result).unwrap());
        let error = read(r#"{"code":-32000,"message":"limit exceeded"}"#).unwrap();
        assert_eq!(
            (error.code, error.message.as_str()),
            (-32000, "limit exceeded")
        );
        for result in ["null", "[3]", r#""0x""#, r#"{"message":"no code"}"#] {
            assert_eq!(read(result), None, "{result}");
        }
    }
}
