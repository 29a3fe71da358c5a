//! Answers and protocol errors, as JSON-RPC messages with their HTTP status. A refusal of a tool is
//! a result, not an error.

use http::StatusCode;
use serde::Serialize;
use serde_json::Value;

use super::Id;

/// At most one message, with its HTTP status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// One JSON-RPC message; none for an accepted notification.
    pub(crate) body: Option<Vec<u8>>,
}

impl Answer {
    /// The answer to an accepted notification.
    pub(crate) const ACCEPTED: Self = Self {
        status: StatusCode::ACCEPTED,
        body: None,
    };

    /// A result, given as the JSON text of an object.
    pub(crate) fn result(id: Id<'_>, result: &str) -> Self {
        let mut body = Self::open(id, result.len());
        body.extend_from_slice(result.as_bytes());
        body.push(b'}');
        Self {
            status: StatusCode::OK,
            body: Some(body),
        }
    }

    /// The start of a message, up to its result, with room for a result of `length` bytes.
    pub(crate) fn open(id: Id<'_>, length: usize) -> Vec<u8> {
        let mut body =
            Vec::with_capacity(length.saturating_add(id.json().len()).saturating_add(48));
        body.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        body.extend_from_slice(id.json().as_bytes());
        body.extend_from_slice(b",\"result\":");
        body
    }
}

/// An error of the protocol. Refusals of a tool are results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Fault {
    #[serde(skip)]
    status: StatusCode,
    code: i32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

impl Fault {
    fn new(status: StatusCode, code: i32, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The error for a text that is not JSON.
    pub(crate) fn parse_error(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32700, message)
    }

    /// The error for JSON that is no request and no notification.
    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32600, message)
    }

    /// The error for an unknown method. Only revisions from 2026-07-28 on also change the status.
    pub(crate) fn method_not_found(method: &str, modern: bool) -> Self {
        let status = if modern {
            StatusCode::NOT_FOUND
        } else {
            StatusCode::OK
        };
        let method: String = method.chars().take(128).collect();
        Self::new(status, -32601, format!("method not found: {method}"))
    }

    /// The error for parameters that do not fit their method.
    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(StatusCode::OK, -32602, message)
    }

    /// The error for a `_meta` that lacks a required member.
    pub(crate) fn invalid_meta(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32602, message)
    }

    /// The error for a header that is missing, repeated or different from the body.
    pub(crate) fn header_mismatch(message: impl std::fmt::Display) -> Self {
        let message = format!("header mismatch: {message}");
        Self::new(StatusCode::BAD_REQUEST, -32020, message)
    }

    /// The error for a revision of the protocol that the server does not support.
    pub(crate) fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        let requested: String = requested.chars().take(128).collect();
        Self {
            data: Some(serde_json::json!({ "supported": supported, "requested": requested })),
            ..Self::new(
                StatusCode::BAD_REQUEST,
                -32022,
                "unsupported protocol version",
            )
        }
    }

    /// The same error with another HTTP status.
    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// The error as a message. It has no id when the request's id is unreadable.
    pub(crate) fn answer(&self, id: Option<Id<'_>>) -> Answer {
        let error = serde_json::to_string(self).unwrap_or_default();
        let id = id.map_or(String::new(), |id| format!("\"id\":{},", id.json()));
        Answer {
            status: self.status,
            body: Some(format!("{{\"jsonrpc\":\"2.0\",{id}\"error\":{error}}}").into_bytes()),
        }
    }
}
