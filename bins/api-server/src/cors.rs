//! CORS: which browser pages may read which answers.

use http::StatusCode;
use http::header::{self, HeaderMap, HeaderValue};
use route_catalog::Allow;

use crate::reply::{Reply, header_value};

/// Answers an `OPTIONS` request on a paid path.
pub(crate) fn preflight(allow: Allow) -> Reply {
    let allow = allow.header();
    let mut reply = Reply::default();
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let headers = reply.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static(allow));
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static(allow),
    );
    // Some clients send `Access-Control-Expose-Headers` as a request header, so the preflight must
    // allow it.
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "PAYMENT-SIGNATURE, X-PAYMENT, Content-Type, X-Max-Age, Payment-Retry, Access-Control-Expose-Headers",
        ),
    );
    headers.insert(
        header::ACCESS_CONTROL_MAX_AGE,
        HeaderValue::from_static("86400"),
    );
    reply
}

/// The methods of a free path.
pub(crate) const READ: HeaderValue = HeaderValue::from_static("GET, HEAD, OPTIONS");

/// Answers an `OPTIONS` request on a free path.
pub(crate) fn read_options() -> Reply {
    let mut reply = Reply::default();
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let headers = reply.headers_mut();
    headers.insert(header::ALLOW, READ);
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, READ);
    reply
}

/// The browser origins whose pages may read answers.
pub(crate) enum Origins {
    Any,
    These(Vec<HeaderValue>),
}

impl Origins {
    /// Allows every origin unless the configuration names some. That is safe because no answer
    /// depends on cookies.
    pub(crate) fn new(allowed: Option<&[String]>) -> Self {
        let Some(allowed) = allowed else {
            return Self::Any;
        };
        if allowed.iter().any(|origin| origin == "*") {
            return Self::Any;
        }
        Self::These(allowed.iter().map(|origin| header_value(origin)).collect())
    }

    /// Lets a page from `origin` read the answer if that origin is allowed.
    pub(crate) fn allow(&self, origin: Option<HeaderValue>, headers: &mut HeaderMap) {
        let Some(origin) = origin else { return };
        let allowed = match self {
            Self::Any => HeaderValue::from_static("*"),
            Self::These(origins) if origins.contains(&origin) => origin,
            Self::These(_) => return,
        };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(
                "PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, Content-Digest, X-Request-Id, X-Served-Again, Retry-After",
            ),
        );
    }
}
