//! CORS: which browser pages may read which answers.

use http::StatusCode;
use http::header::{self, HeaderMap, HeaderValue};
use http_edge::Origins;
use route_catalog::Allow;

use crate::config::ServerSection;
use crate::reply::Reply;

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
pub(crate) struct Readers(Origins);

impl Readers {
    /// Allows every origin unless the configuration names some. That is safe because no answer
    /// depends on cookies.
    pub(crate) fn new(server: &ServerSection) -> Self {
        let listed = server.origins();
        Self(listed.map_or_else(Origins::any, |origins| {
            Origins::listed(origins.iter().map(String::as_str))
        }))
    }

    /// Lets a page from `origin` read the answer if that origin is allowed.
    pub(crate) fn allow(&self, origin: Option<HeaderValue>, headers: &mut HeaderMap) {
        let Some(origin) = origin else { return };
        let allowed = match origin.to_str() {
            _ if self.0.are_any() => HeaderValue::from_static("*"),
            Ok(text) if self.0.serve(text) => origin,
            _ => return,
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
