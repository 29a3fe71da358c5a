//! The proxy: sends a request on to its upstream, stores the answer, and returns it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
    request::Parts,
};
use http_body_util::Full;
use http_edge::{ClientAddress, Handler, RequestBody, RequestId, read_body};
use jiff::Timestamp;
use serde_json::json;
use url::Url;

use crate::{Library, exchange::Exchange};

const MAX_SENT: usize = 1024 * 1024;
const MAX_ANSWER: usize = 64 * 1024 * 1024;
const SENDING: Duration = Duration::from_secs(10);
const ANSWERING: Duration = Duration::from_secs(180);
/// Headers that concern one connection only, or this proxy. They are not sent on.
const NOT_PASSED_ON: [&str; 10] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// The scheme of the requests to upstreams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// For real upstreams: encrypted, and only to host names.
    Https,
    /// For upstreams on this machine, in tests.
    Http,
}

/// Why the proxy has no HTTP client.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The certificates of the system cannot be read.
    #[error("cannot read the system's certificates: {0}")]
    Certificates(#[from] outbound_tls::Error),
    /// The client cannot be built.
    #[error("cannot build the HTTP client: {0}")]
    Client(#[from] reqwest::Error),
}

/// Passes requests on and records the answers.
#[derive(Debug)]
pub struct Proxy {
    library: Mutex<Library>,
    client: reqwest::Client,
    scheme: Scheme,
}

impl Proxy {
    /// Makes a proxy that stores answers in `library`.
    ///
    /// # Errors
    ///
    /// When the HTTP client cannot be built.
    pub fn new(library: Library, scheme: Scheme) -> Result<Self, ProxyError> {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(outbound_tls::http()?)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .timeout(ANSWERING)
            .build()?;
        Ok(Self {
            library: Mutex::new(library),
            client,
            scheme,
        })
    }

    /// Returns the host and the address of the upstream for a request. The host is the first
    /// segment of the request's path.
    fn target(&self, parts: &Parts) -> Option<(String, Url)> {
        let (host, path) = parts.uri.path().strip_prefix('/')?.split_once('/')?;
        let named = host.contains('.')
            && host.bytes().any(|byte| byte.is_ascii_alphabetic())
            && host
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
        let scheme = match self.scheme {
            Scheme::Https if named => "https",
            Scheme::Http => "http",
            Scheme::Https => return None,
        };
        let query = parts.uri.query().map(|query| format!("?{query}"));
        let url = format!("{scheme}://{host}/{path}{}", query.unwrap_or_default());
        Some((host.to_owned(), Url::parse(&url).ok()?))
    }

    async fn pass_on(&self, parts: &Parts, sent: Bytes) -> Result<Exchange, Response<Full<Bytes>>> {
        let Some((host, url)) = self.target(parts) else {
            return Err(refused(
                StatusCode::BAD_REQUEST,
                "expected /HOST/PATH with the name of a host",
            ));
        };
        let mut headers = parts.headers.clone();
        for name in NOT_PASSED_ON {
            headers.remove(name);
        }
        let request = self
            .client
            .request(parts.method.clone(), url.clone())
            .headers(headers)
            .body(sent.clone());
        let down = |error: reqwest::Error| {
            let message = format!("the upstream did not answer: {}", error.without_url());
            refused(StatusCode::BAD_GATEWAY, &message)
        };
        let mut response = request.send().await.map_err(down)?;
        let text = |name| {
            let value: Option<&HeaderValue> = response.headers().get(name);
            value
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned)
        };
        let (content_type, retry_after) = (text(CONTENT_TYPE), text(RETRY_AFTER));
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(down)? {
            if body.len().saturating_add(chunk.len()) > MAX_ANSWER {
                return Err(refused(StatusCode::BAD_GATEWAY, "the answer is too large"));
            }
            body.extend_from_slice(&chunk);
        }
        let Ok(body) = String::from_utf8(body) else {
            return Err(refused(StatusCode::BAD_GATEWAY, "the answer is no text"));
        };
        let decoded = |(name, value): (_, _)| (String::from(name), String::from(value));
        Ok(Exchange {
            method: parts.method.to_string(),
            host,
            path: url.path().to_owned(),
            query: url.query_pairs().map(decoded).collect(),
            sent_headers: parts.headers.clone(),
            sent,
            status,
            content_type: content_type.unwrap_or_default(),
            retry_after,
            body,
        })
    }

    #[expect(
        clippy::print_stderr,
        reason = "what was recorded is the tool's output"
    )]
    fn keep(&self, exchange: &Exchange) {
        let what = format!("{} {}{}", exchange.method, exchange.host, exchange.path);
        if exchange.repeats_a_key() {
            eprintln!("not recorded, the answer repeats a key: {what}");
            return;
        }
        let date = Timestamp::now().strftime("%Y-%m-%d").to_string();
        let mut library = self.library.lock().unwrap_or_else(PoisonError::into_inner);
        match library.keep(exchange, &date) {
            Ok(file) => eprintln!("{file}  {} {what}", exchange.status),
            Err(error) => eprintln!("not recorded: {what}: {error}"),
        }
    }
}

impl Handler for Proxy {
    async fn handle(
        self: Arc<Self>,
        request: Request<RequestBody>,
        _id: RequestId,
        _client: ClientAddress,
    ) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        if !matches!(parts.method, Method::GET | Method::POST) {
            return refused(StatusCode::METHOD_NOT_ALLOWED, "expected GET or POST");
        }
        let Ok(sent) = read_body(body, MAX_SENT, SENDING).await else {
            return refused(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large");
        };
        let exchange = match self.pass_on(&parts, sent).await {
            Ok(exchange) => exchange,
            Err(refusal) => return refusal,
        };
        self.keep(&exchange);
        let mut headers = HeaderMap::new();
        for (name, text) in [
            (CONTENT_TYPE, Some(&exchange.content_type)),
            (RETRY_AFTER, exchange.retry_after.as_ref()),
        ] {
            let value = text.and_then(|text| HeaderValue::from_str(text).ok());
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
        let mut response = Response::new(Full::new(Bytes::from(exchange.body)));
        *response.status_mut() = StatusCode::from_u16(exchange.status).unwrap_or_default();
        *response.headers_mut() = headers;
        response
    }
}

fn refused(status: StatusCode, message: &str) -> Response<Full<Bytes>> {
    let body = json!({ "error": message }).to_string();
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
