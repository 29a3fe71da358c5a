//! Builds HTTP answers. Every error has the same form.
//!
//! An [`ErrorReply`] promises that nothing was charged. It says whether the same call can succeed
//! later, and what to do with the payment.
//!
//! An [`ErrorReply`] says whether the same call can succeed later and what to do with the payment.
//! Its sender knows that nothing was charged.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use http_edge::{BodyError, RequestId};
use route_catalog::{ErrorCode, Next};
use serde_json::{Map, Value, json};

pub(crate) type Reply = Response<Full<Bytes>>;

pub(crate) const APPLICATION_JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
pub(crate) const PAYMENT_REQUIRED: HeaderName =
    HeaderName::from_static(x402_wire::header::PAYMENT_REQUIRED);
pub(crate) const PAYMENT_RESPONSE: HeaderName =
    HeaderName::from_static(x402_wire::header::PAYMENT_RESPONSE);
pub(crate) const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");

/// The usual number of headers. A header table of this size fits the small blocks that the
/// allocator keeps for each thread; one header more would not.
const USUAL_HEADERS: usize = 6;

/// Seconds after which a retry makes sense when a store failed.
const AGAIN_SECONDS: u64 = 5;

/// Makes an answer from a body and its media type.
pub(crate) fn with_body(status: StatusCode, media_type: HeaderValue, body: Bytes) -> Reply {
    let mut headers = HeaderMap::with_capacity(USUAL_HEADERS);
    headers.insert(header::CONTENT_TYPE, media_type);
    let mut reply = Response::new(Full::new(body));
    *reply.status_mut() = status;
    *reply.headers_mut() = headers;
    reply
}

/// Makes a JSON answer.
pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Reply {
    with_body(status, APPLICATION_JSON, body.into())
}

/// An error answer. It promises that nothing was charged.
#[derive(Debug, Clone)]
pub(crate) struct ErrorReply {
    code: ErrorCode,
    message: String,
    details: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
    retryable: bool,
}

impl ErrorReply {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: Map::new(),
            headers: Vec::new(),
            retryable: code.retryable(),
        }
    }

    /// The error for a payer without a sub-wallet, where one is needed.
    pub(crate) fn no_sub_wallet() -> Self {
        let message = "the payer has no sub-wallet: GET /sub-wallet makes it, and no other route does; the payment was not used";
        Self::new(ErrorCode::NoSubWallet, message).detail("made_by", "GET /sub-wallet")
    }

    /// Replaces the message.
    pub(crate) fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Adds a member beside `code` and `message`.
    pub(crate) fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// Sets whether the same call may succeed later, when the code alone does not decide that.
    pub(crate) fn retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    /// Sets after how many seconds the same call may succeed.
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        self.header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Sets what the caller should do with the payment that was sent, and when. A caller that reads
    /// only the message finds the URL there, too.
    pub(crate) fn next(mut self, next: &Next) -> Self {
        if let Some(url) = next.url() {
            self = self.naming(url);
        }
        let error = match next.after_seconds() {
            Some(after) if self.retry_after_seconds().is_none() => self.retry_after(after),
            _ => self,
        };
        error.detail("next", next.to_json())
    }

    /// Names in the message the URL at which the caller can look the payment up.
    pub(crate) fn naming(mut self, url: &str) -> Self {
        self.message = format!(
            "{}; GET {url} says free of charge what became of the payment",
            self.message
        );
        self
    }

    /// Seconds after which the same call may succeed, if set.
    pub(crate) fn retry_after_seconds(&self) -> Option<u64> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(name, _)| *name == header::RETRY_AFTER)?;
        value.to_str().ok()?.parse().ok()
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn code(&self) -> ErrorCode {
        self.code
    }

    /// The detail `reason` if there is one, otherwise the code.
    pub(crate) fn reason(&self) -> &str {
        let reason = self.details.get("reason").and_then(Value::as_str);
        reason.unwrap_or_else(|| self.code.code())
    }

    pub(crate) fn into_reply(self, id: RequestId) -> Reply {
        let status =
            StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let named = (self.code.code(), self.message.as_str());
        let mut reply = error(status, named, self.retryable, self.details, id);
        reply.headers_mut().extend(self.headers);
        reply
    }
}

/// The answer to a request whose body cannot be read.
pub(crate) fn body_refused(error: &BodyError) -> ErrorReply {
    match error {
        BodyError::TooLarge { .. } => {
            ErrorReply::new(ErrorCode::PayloadTooLarge, error.to_string())
        }
        BodyError::Encoded => ErrorReply::new(ErrorCode::UnsupportedMediaType, error.to_string()),
        BodyError::TooSlow { .. } | BodyError::Broken => {
            ErrorReply::new(ErrorCode::InvalidParams, error.to_string()).retryable(true)
        }
    }
}

/// An error answer whose code names a rule of the fence. A retryable one carries `Retry-After`.
pub(crate) fn named_error(
    status: StatusCode,
    code: &str,
    message: &str,
    details: Map<String, Value>,
    id: RequestId,
) -> Reply {
    let is_temporary = status == StatusCode::SERVICE_UNAVAILABLE;
    let mut reply = error(status, (code, message), is_temporary, details, id);
    if is_temporary {
        let again = HeaderValue::from(AGAIN_SECONDS);
        reply.headers_mut().insert(header::RETRY_AFTER, again);
    }
    reply
}

fn error(
    status: StatusCode,
    (code, message): (&str, &str),
    retryable: bool,
    details: Map<String, Value>,
    id: RequestId,
) -> Reply {
    let mut error = json!({
        "code": code,
        "message": message,
        "charged": false,
        "retryable": retryable,
        "request_id": id.to_string(),
    });
    if let Value::Object(members) = &mut error {
        members.extend(details);
    }
    let mut reply = json(status, json!({ "error": error }).to_string());
    reply.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    reply
}

/// Makes a header value of text that this program made from valid characters.
pub(crate) fn own_header_value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

/// Makes a header value of text that may come from elsewhere. Drops characters that a header cannot
/// carry.
pub(crate) fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or_else(|_| {
        let printable: String = text.chars().filter(|c| (' '..='~').contains(c)).collect();
        HeaderValue::from_str(&printable).unwrap_or(HeaderValue::from_static(""))
    })
}
