//! What browser pages may read (CORS).

use http::StatusCode;
use http::header::{self, HeaderMap, HeaderValue};
use route_catalog::Allow;

use crate::reply::{Reply, header_value};

/// The answer to an `OPTIONS` request on a paid path.
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
    // Clients send `Access-Control-Expose-Headers` as a request header, so it has to be allowed as
    // one.
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

/// The methods of a path that costs nothing.
pub(crate) const READ: HeaderValue = HeaderValue::from_static("GET, HEAD, OPTIONS");

/// The answer to an `OPTIONS` request on a path that costs nothing.
pub(crate) fn read_options() -> Reply {
    let mut reply = Reply::default();
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let headers = reply.headers_mut();
    headers.insert(header::ALLOW, READ);
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, READ);
    reply
}

/// Which browser pages may read answers.
pub(crate) enum Origins {
    Any,
    These(Vec<HeaderValue>),
}

impl Origins {
    /// All of them unless the configuration says otherwise: no answer depends on cookies.
    pub(crate) fn new(allowed: Option<&[String]>) -> Self {
        let Some(allowed) = allowed else {
            return Self::Any;
        };
        if allowed.iter().any(|origin| origin == "*") {
            return Self::Any;
        }
        Self::These(allowed.iter().map(|origin| header_value(origin)).collect())
    }

    /// Lets the page of `origin` read an answer, if it may.
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
