//! Builds HTTP answers.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use http_edge::RequestId;
use serde_json::{Value, json};

use crate::rpc::Answer;

pub(crate) type Reply = Response<Full<Bytes>>;

const APPLICATION_JSON: HeaderValue = HeaderValue::from_static("application/json");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// Makes an answer with a body and its media type, which must not be cached.
pub(crate) fn with_body(status: StatusCode, media_type: HeaderValue, body: Bytes) -> Reply {
    let mut reply = Response::new(Full::new(body));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, media_type);
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    reply
}

/// Makes a JSON answer.
pub(crate) fn json(status: StatusCode, body: &Value) -> Reply {
    with_body(status, APPLICATION_JSON, Bytes::from(body.to_string()))
}

/// Makes an answer with a JSON-RPC message, or an empty one for a notification.
pub(crate) fn message(answer: Answer) -> Reply {
    match answer.body {
        Some(body) => with_body(answer.status, APPLICATION_JSON, Bytes::from(body)),
        None => empty(answer.status),
    }
}

/// Makes an answer without a body.
pub(crate) fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(Full::default());
    *reply.status_mut() = status;
    reply
}

/// Makes an error of a path other than `/mcp`, in the form that every error of the service has.
pub(crate) fn error(status: StatusCode, code: &str, message: &str, id: RequestId) -> Reply {
    let body = json!({
        "error": {
            "code": code,
            "message": message,
            "charged": false,
            "retryable": false,
            "request_id": id.to_string(),
        }
    });
    json(status, &body)
}
