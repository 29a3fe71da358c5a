//! Decides an HTTP request in a fixed order, and hands messages to the dispatcher.
//!
//! The path decides whether the request is for the protocol or for an operator. Then come the
//! guard, the method, the headers, and last the body. The dispatcher judges the message.

use std::sync::Arc;
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Request, StatusCode};
use http_edge::{
    BodyError, ClientAddress, Handler, Limits, PROBES, RequestBody, RequestId, read_body,
};
use server_process::count_answer;

use super::guard::{Guard, Intruder};
use super::media;
use super::operations::Operations;
use super::reply::{self, Reply};
use crate::mcp::{Declared, Dispatcher, Field, Toolbox};
use crate::rpc::{Fault, without_mark};

/// The path of the protocol, in both usual spellings.
const PATHS: [&str; 2] = ["/mcp", "/mcp/"];
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
const MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The handler of the agent rail.
pub(crate) struct Endpoint<T> {
    dispatcher: Dispatcher<T>,
    guard: Guard,
    operations: Operations,
    max_body_bytes: usize,
    body_timeout: Duration,
}

impl<T: Toolbox> Endpoint<T> {
    pub(crate) fn new(
        dispatcher: Dispatcher<T>,
        guard: Guard,
        operations: Operations,
        limits: &Limits,
    ) -> Self {
        Self {
            dispatcher,
            guard,
            operations,
            max_body_bytes: limits.max_body_bytes,
            body_timeout: limits.body_timeout,
        }
    }

    /// Answers the operational endpoints. The guard also protects them, except the probes of load
    /// balancers: a page that reached this server under a foreign name must not read them.
    fn operation(&self, parts: &Parts, id: RequestId) -> Reply {
        let path = parts.uri.path();
        if !PROBES.contains(&path)
            && let Err(intruder) = self.guard.admit(parts)
        {
            let status = StatusCode::FORBIDDEN;
            return reply::error(status, intruder.code(), &intruder.to_string(), id);
        }
        self.operations.answer(&parts.method, path, id)
    }

    async fn mcp(&self, parts: &Parts, body: RequestBody, client: ClientAddress) -> Reply {
        if let Err(intruder) = self.guard.admit(parts) {
            return refused(intruder);
        }
        match parts.method {
            Method::POST => {}
            Method::OPTIONS if parts.headers.contains_key(header::ORIGIN) => return preflight(),
            _ => return method_not_allowed(),
        }
        if !media::is_json(&parts.headers) {
            let fault = Fault::invalid_request("expected Content-Type: application/json");
            return fail(fault, StatusCode::UNSUPPORTED_MEDIA_TYPE);
        }
        if !media::takes_json(&parts.headers) {
            let fault = Fault::invalid_request(
                "answers are JSON: send Accept: application/json, text/event-stream",
            );
            return fail(fault, StatusCode::NOT_ACCEPTABLE);
        }
        let body = match read_body(body, self.max_body_bytes, self.body_timeout).await {
            Ok(body) => body,
            Err(error) => return unread(&error),
        };
        let declared = Declared {
            version: field(&parts.headers, PROTOCOL_VERSION),
            method: field(&parts.headers, MCP_METHOD),
            name: field(&parts.headers, MCP_NAME),
            client: Some(client.ip()),
        };
        reply::message(
            self.dispatcher
                .answer(without_mark(&body), Some(&declared))
                .await,
        )
    }
}

impl<T: Toolbox> Handler for Endpoint<T> {
    async fn handle(
        self: Arc<Self>,
        request: Request<RequestBody>,
        id: RequestId,
        client: ClientAddress,
    ) -> Reply {
        let (parts, body) = request.into_parts();
        let is_mcp = PATHS.contains(&parts.uri.path());
        let mut reply = if is_mcp {
            self.mcp(&parts, body, client).await
        } else {
            self.operation(&parts, id)
        };
        count_answer(reply.status().as_u16());
        let admitted = is_mcp && reply.status() != StatusCode::FORBIDDEN;
        let headers = reply.headers_mut();
        if admitted && let Some(origin) = parts.headers.get(header::ORIGIN) {
            // The guard has accepted this origin.
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(
                header::ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static("X-Request-Id"),
            );
        }
        if is_mcp {
            headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        }
        reply
    }
}

fn field(headers: &HeaderMap, name: HeaderName) -> Field<'_> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Field::Absent,
        (Some(value), None) => Field::Once(value.as_bytes()),
        (Some(_), Some(_)) => Field::Repeated,
    }
}

fn fail(fault: Fault, status: StatusCode) -> Reply {
    reply::message(fault.with_status(status).answer(None))
}

fn refused(intruder: Intruder) -> Reply {
    fail(
        Fault::invalid_request(intruder.to_string()),
        StatusCode::FORBIDDEN,
    )
}

fn unread(error: &BodyError) -> Reply {
    let status = match error {
        BodyError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        BodyError::Encoded => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        BodyError::TooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
        BodyError::Broken => StatusCode::BAD_REQUEST,
    };
    fail(Fault::invalid_request(error.to_string()), status)
}

fn method_not_allowed() -> Reply {
    let fault = Fault::invalid_request("expected POST: there are no streams and no sessions here");
    let mut reply = fail(fault, StatusCode::METHOD_NOT_ALLOWED);
    reply
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static("POST"));
    reply
}

/// Answers a browser's preflight request for a page of an accepted origin.
fn preflight() -> Reply {
    let mut reply = reply::empty(StatusCode::NO_CONTENT);
    let headers = reply.headers_mut();
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("POST"),
    );
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID",
        ),
    );
    headers.insert(
        header::ACCESS_CONTROL_MAX_AGE,
        HeaderValue::from_static("7200"),
    );
    reply
}
