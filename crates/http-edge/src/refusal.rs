//! The error answers that the edge itself gives, in the form of all other errors.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::HeaderValue;
use hyper::{Response, StatusCode, header};

use crate::RequestId;

/// Why the edge refuses a request before its handler is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The head is longer than this many bytes.
    HeadTooLong(usize),
    /// The head has more lines, or a longer target, than the HTTP library reads.
    HeadTooLarge,
    /// The HTTP library cannot read the head.
    Malformed,
    /// A request of HTTP/1.1 has no `Host`.
    NoHost,
    /// There are several `Host` lines.
    Hosts,
    /// The value of `Host` is no host.
    BadHost,
}

impl Refusal {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::HeadTooLong(_) | Self::HeadTooLarge => {
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
            }
            Self::Malformed | Self::NoHost | Self::Hosts | Self::BadHost => StatusCode::BAD_REQUEST,
        }
    }

    /// The body of the answer.
    pub(crate) fn body(self, id: &str) -> String {
        let (code, reason) = match self {
            Self::HeadTooLong(_) | Self::HeadTooLarge => ("headers_too_large", None),
            Self::Malformed => ("invalid_params", Some("malformed_request")),
            Self::NoHost => ("invalid_params", Some("host_missing")),
            Self::Hosts => ("invalid_params", Some("host_repeated")),
            Self::BadHost => ("invalid_params", Some("host_invalid")),
        };
        let mut error = serde_json::json!({
            "code": code,
            "message": self.message(),
            "charged": false,
            "retryable": false,
            "request_id": id,
        });
        if let Some(reason) = reason
            && let Some(members) = error.as_object_mut()
        {
            members.insert("reason".to_owned(), reason.into());
        }
        serde_json::json!({ "error": error }).to_string()
    }

    fn message(self) -> String {
        let text = match self {
            Self::HeadTooLong(limit) => {
                return format!("the request's head is longer than {limit} bytes");
            }
            Self::HeadTooLarge => "the request's head has more than 100 lines, or is too long",
            Self::Malformed => {
                "the request's head is not valid HTTP/1.1: a target percent-encodes spaces, quotes, \
                 < and >, and each header line is NAME: VALUE"
            }
            Self::NoHost => "the request has no Host header, which HTTP/1.1 requires",
            Self::Hosts => "the request has more than one Host header",
            Self::BadHost => "the Host header is not a host with an optional port",
        };
        text.to_owned()
    }

    pub(crate) fn answer(self, id: RequestId) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.body(&id.text()))));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}
