//! One node. It is asked for its chain id once, before anything else.
//!
//! The endpoint tells a revert, a missing method and a failure apart. Which node is asked next is
//! for its callers.

use std::sync::Arc;

use alloy_primitives::Bytes;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::{CHAIN_ID, EndpointHealth};
use crate::{
    error::{SourceError, SourceErrorKind},
    json::{Json, Object},
    provenance::{Clock, Mode, Sourced},
    source::{Fault, Source, UpstreamSpec},
    text::clean,
    transport::{HealthState, Limits, Reply, Transport, TransportError},
};

/// Longest message of a node that is passed on.
const MAX_MESSAGE_CHARS: usize = 120;
/// The id of every request: there is one in each HTTP exchange.
const ID: u64 = 1;

/// A node's answer to a request that it understood.
#[derive(Debug)]
pub(crate) enum RpcReply<T> {
    /// The result.
    Value(T),
    /// The call ran and reverted.
    Reverted(Revert),
    /// The node does not offer the method.
    NoMethod,
}

/// A node's report about a call that reverted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Revert {
    /// The returned data, when the node passes it on.
    pub(crate) data: Option<Bytes>,
    /// The node's message, cleaned. Untrusted text.
    pub(crate) message: String,
}

/// The reason why a node gives no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeError {
    /// The node gave no usable answer, or was not asked.
    Source(SourceError),
    /// The node refuses the request itself. Untrusted text.
    Refused(String),
    /// The node belongs to another chain.
    Unsuitable(String),
}

impl From<SourceError> for NodeError {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

/// One endpoint of a chain.
#[derive(Debug)]
pub(crate) struct Endpoint {
    source: Source,
    chain_id: u64,
    position: usize,
    /// The chain id that the node reported.
    reported: OnceCell<u64>,
}

impl Endpoint {
    /// The endpoint at `url`, at this position of its chain.
    pub(crate) fn new(
        transport: &Transport,
        spec: &'static UpstreamSpec,
        url: &str,
        mode: Mode,
        limits: Limits,
        clock: Arc<dyn Clock>,
        (chain_id, position): (u64, usize),
    ) -> Result<Self, TransportError> {
        Ok(Self {
            source: Source::endpoint(transport, spec, url, mode, limits, clock)?,
            chain_id,
            position,
            reported: OnceCell::new(),
        })
    }

    /// The name of the endpoint in messages. Its address may hold a key.
    pub(crate) fn name(&self) -> String {
        format!("chains.{}#{}", self.chain_id, self.position)
    }

    pub(crate) fn health(&self) -> EndpointHealth {
        let mut sources = self.source.health();
        if let Some(reported) = self.reported.get().filter(|id| **id != self.chain_id) {
            for source in &mut sources {
                source.state = HealthState::Disabled;
                source.reason = Some(format!("the node is on chain {reported}"));
            }
        }
        EndpointHealth {
            chain_id: self.chain_id,
            position: self.position,
            sources,
        }
    }

    /// Asks the node, after it has reported the configured chain id. A result may be `null`.
    pub(crate) async fn ask<T>(
        &self,
        source: &'static str,
        method: &str,
        params: &Value,
        read: impl Fn(Option<&Json<'_>>) -> Result<T, SourceErrorKind> + Send,
    ) -> Result<Sourced<RpcReply<T>>, NodeError> {
        self.check_chain_id().await?;
        self.request(source, method, params, read).await
    }

    /// Refuses a node of another chain.
    async fn check_chain_id(&self) -> Result<(), NodeError> {
        let reported = *self
            .reported
            .get_or_try_init(|| self.ask_chain_id())
            .await?;
        if reported != self.chain_id {
            return Err(NodeError::Unsuitable(format!(
                "endpoint {} of chain {} is a node of chain {reported}",
                self.position, self.chain_id
            )));
        }
        Ok(())
    }

    async fn ask_chain_id(&self) -> Result<u64, NodeError> {
        let read = |result: Option<&Json<'_>>| {
            let result = result.ok_or_else(nothing)?;
            u64::try_from(result.quantity()?).map_err(|_| result.malformed("a chain id"))
        };
        let answer = self
            .request(CHAIN_ID, "eth_chainId", &json!([]), read)
            .await?;
        match answer.value {
            RpcReply::Value(chain_id) => Ok(chain_id),
            RpcReply::Reverted(_) | RpcReply::NoMethod => Err(NodeError::Unsuitable(
                "the node does not say its chain id".to_owned(),
            )),
        }
    }

    async fn request<T>(
        &self,
        source: &'static str,
        method: &str,
        params: &Value,
        read: impl Fn(Option<&Json<'_>>) -> Result<T, SourceErrorKind> + Send,
    ) -> Result<Sourced<RpcReply<T>>, NodeError> {
        let body = request_body(method, params);
        let ask = self.source.post(source, "", &body).accepts_any();
        self.source.ask(ask, |reply| outcome(reply, read)).await
    }
}

/// The error for a result that must not be `null`.
pub(crate) fn nothing() -> SourceErrorKind {
    SourceErrorKind::Malformed {
        path: "$.result".to_owned(),
        expected: "a member",
        observed: "nothing".to_owned(),
    }
}

fn request_body(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": ID, "method": method, "params": params}).to_string()
}

/// Opens a reply, and reads its result with `read`.
fn outcome<T>(
    reply: &Reply,
    read: impl Fn(Option<&Json<'_>>) -> Result<T, SourceErrorKind>,
) -> Result<RpcReply<T>, Fault<NodeError>> {
    Ok(match open(reply)? {
        RpcReply::Value(result) => RpcReply::Value(read(result.as_ref())?),
        RpcReply::Reverted(revert) => RpcReply::Reverted(revert),
        RpcReply::NoMethod => RpcReply::NoMethod,
    })
}

/// Opens a reply of any status: many nodes send errors with their own status codes.
fn open(reply: &Reply) -> Result<RpcReply<Option<Json<'_>>>, Fault<NodeError>> {
    let failure = reply.failure();
    let parsed = Json::document(&reply.body).and_then(|body| body.object());
    let response = match (parsed, failure) {
        (Ok(response), None) => response,
        // A gateway writes errors in another form: then only the status is known.
        (Ok(response), Some(kind)) => match response.find("error") {
            Some(error) if error.object().is_ok() => response,
            _ => return Err(kind.into()),
        },
        (Err(_), Some(kind)) | (Err(kind), None) => return Err(kind.into()),
    };
    if let Some(error) = response.find("error") {
        return failed(&error.object()?);
    }
    let id = response.member("id")?;
    if id.integer::<u64>()? != ID {
        return Err(id.malformed("the id of the request").into());
    }
    Ok(RpcReply::Value(response.nullable("result")?))
}

/// Classifies a JSON-RPC error. Only the virtual machine's own report is a revert; a node that
/// could not run the call has not answered.
fn failed<T>(error: &Object<'_>) -> Result<RpcReply<T>, Fault<NodeError>> {
    let code = error.member("code")?.signed()?;
    let message = error
        .find("message")
        .map(|message| message.text())
        .transpose()?
        .unwrap_or_default();
    let message = clean(&message, MAX_MESSAGE_CHARS);
    let lower = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    // A contract writes its own revert reason, so no other text of the error counts.
    let reverted = code == 3
        || code == -32015
        || says(&[
            "revert",
            "invalid opcode",
            "invalid jump destination",
            "stack underflow",
        ]);
    let no_method = matches!(code, -32601 | -32004)
        || (says(&["method"])
            && says(&[
                "not found",
                "not exist",
                "not supported",
                "not available",
                "unsupported",
            ]));
    let limited =
        matches!(code, -32005 | -32029 | 429) || says(&["rate limit", "too many requests"]);
    let refused = matches!(code, -32602 | -32600) || (-38_099..=-38_000).contains(&code);
    match () {
        () if reverted => Ok(RpcReply::Reverted(Revert {
            data: error.find("data").and_then(|data| revert_data(&data)),
            message,
        })),
        () if no_method => Ok(RpcReply::NoMethod),
        () if limited => Err(SourceErrorKind::RateLimited { retry_after: None }.into()),
        () if refused => Err(Fault::Answer(NodeError::Refused(format!(
            "{message} (code {code})"
        )))),
        () => Err(SourceErrorKind::Business {
            code: code.to_string(),
            message,
        }
        .into()),
    }
}

/// The data that a reverted call returned. Most nodes give it directly, some inside an object, some
/// after a word.
fn revert_data(data: &Json<'_>) -> Option<Bytes> {
    if let Ok(object) = data.object() {
        return object.find("data").and_then(|data| revert_data(&data));
    }
    let text = data.text().ok()?;
    let hex = text.strip_prefix("Reverted ").unwrap_or(&text);
    hex.starts_with("0x").then(|| hex.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use reqwest::{StatusCode, header::HeaderMap};

    use super::*;

    fn sorted(code: i64, message: &str) -> String {
        let body = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message}});
        let reply = Reply {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: body.to_string().into_bytes(),
        };
        match outcome(&reply, |result| result.ok_or_else(nothing)?.bytes()) {
            Ok(RpcReply::Reverted(_)) => "Reverted".to_owned(),
            Ok(outcome) => format!("{outcome:?}"),
            Err(Fault::Answer(NodeError::Refused(message))) => format!("refused: {message}"),
            Err(Fault::Answer(other)) => format!("{other:?}"),
            Err(Fault::Upstream(kind)) => kind.to_string(),
        }
    }

    /// A gateway in front of the node answers in its own form.
    #[test]
    fn errors_of_another_form_leave_the_status() {
        let read = |status, body: &str| {
            let reply = Reply {
                status,
                headers: HeaderMap::new(),
                body: body.as_bytes().to_vec(),
            };
            match outcome(&reply, |result| result.ok_or_else(nothing)?.bytes()) {
                Err(Fault::Upstream(kind)) => kind.to_string(),
                other => format!("{:?}", other.map(drop).is_ok()),
            }
        };
        for body in [
            r#"{"error":"not found"}"#,
            r#"{"error":null}"#,
            "{}",
            "null",
            "<html>",
        ] {
            assert_eq!(
                read(StatusCode::NOT_FOUND, body),
                "http status 404",
                "{body}"
            );
        }
        let malformed = read(StatusCode::OK, r#"{"error":"not found"}"#);
        assert!(malformed.contains("an object"), "{malformed}");
    }

    #[test]
    fn errors_are_classified_by_their_meaning_for_the_call() {
        for (code, message, expected) in [
            (3, "execution reverted: no", "Reverted"),
            (-32000, "execution reverted", "Reverted"),
            (-32015, "VM execution error.", "Reverted"),
            (-32000, "invalid opcode: INVALID", "Reverted"),
            (
                3,
                "execution reverted: method not found, rate limit exceeded",
                "Reverted",
            ),
            (
                -32601,
                "the method eth_simulateV1 does not exist/is not available",
                "NoMethod",
            ),
            (-32000, "Method eth_simulateV1 not supported", "NoMethod"),
            (-32005, "daily request count exceeded", "rate limited"),
            (-32000, "Rate limit exceeded", "rate limited"),
            (
                -32602,
                "invalid argument 0",
                "refused: invalid argument 0 (code -32602)",
            ),
            (
                -38014,
                "insufficient funds for gas",
                "refused: insufficient funds for gas (code -38014)",
            ),
            // None of these errors says what the call does.
            (
                -32000,
                "execution timeout",
                "business code -32000: execution timeout",
            ),
            (
                -32000,
                "header not found",
                "business code -32000: header not found",
            ),
            (
                -32603,
                "missing trie node",
                "business code -32603: missing trie node",
            ),
        ] {
            assert_eq!(sorted(code, message), expected, "{code} {message}");
        }
    }
}
