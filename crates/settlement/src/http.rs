//! The only HTTP client of this crate. The size of answers is limited, redirects are not followed,
//! and no error contains a URL.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Url};

use crate::{Cause, RemoteCall, SettlementError, observe};

/// The longest answer of a facilitator, in bytes. Its messages have some hundred bytes.
pub(crate) const MAX_FACILITATOR_BODY: usize = 256 * 1024;

/// How long an idle connection is kept. This is shorter than common servers keep one, so that no
/// settlement is sent over a connection that the server is closing.
const POOL_IDLE: Duration = Duration::from_secs(15);

#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: Client,
    max_body: usize,
}

/// A complete answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Http {
    pub(crate) fn new(connect_timeout: Duration) -> Result<Self, SettlementError> {
        let tls = outbound_tls::http().map_err(|error| SettlementError::Client {
            detail: error.to_string(),
        })?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(concat!(
                env!("CARGO_PKG_NAME"),
                "/",
                env!("CARGO_PKG_VERSION")
            ))
            .redirect(Policy::none())
            .connect_timeout(connect_timeout)
            .pool_idle_timeout(POOL_IDLE)
            .build()
            .map_err(|error| SettlementError::Client {
                detail: error.without_url().to_string(),
            })?;
        Ok(Self {
            client,
            max_body: MAX_FACILITATOR_BODY,
        })
    }

    /// Returns a client with the same connections and another limit for answers.
    pub(crate) fn with_max_body(&self, max_body: usize) -> Self {
        Self {
            client: self.client.clone(),
            max_body,
        }
    }

    pub(crate) async fn get(
        &self,
        call: RemoteCall,
        url: Url,
        headers: HeaderMap,
        timeout: Duration,
    ) -> Result<Reply, Cause> {
        self.send(call, self.client.get(url).headers(headers), timeout)
            .await
    }

    pub(crate) async fn post(
        &self,
        call: RemoteCall,
        url: Url,
        mut headers: HeaderMap,
        body: impl Into<Bytes>,
        timeout: Duration,
    ) -> Result<Reply, Cause> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let request = self.client.post(url).headers(headers).body(body.into());
        self.send(call, request, timeout).await
    }

    async fn send(
        &self,
        call: RemoteCall,
        request: RequestBuilder,
        timeout: Duration,
    ) -> Result<Reply, Cause> {
        let began = Instant::now();
        let reply = self.exchange(call, request, timeout).await;
        let status = reply.as_ref().ok().map(|reply| reply.status);
        observe::answered(call, status, began.elapsed());
        reply
    }

    async fn exchange(
        &self,
        call: RemoteCall,
        request: RequestBuilder,
        timeout: Duration,
    ) -> Result<Reply, Cause> {
        let cause = |error| transport_cause(call, timeout, &error);
        let mut response = request.timeout(timeout).send().await.map_err(cause)?;
        let oversize = Cause::Oversize {
            call,
            limit: self.max_body,
        };
        let announced = response.content_length().map(usize::try_from);
        if announced.is_some_and(|length| length.map_or(true, |length| length > self.max_body)) {
            return Err(oversize);
        }
        let status = response.status().as_u16();
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(cause)? {
            if chunk.len() > self.max_body.saturating_sub(body.len()) {
                return Err(oversize);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Reply {
            status,
            body: body.freeze(),
        })
    }
}

/// Parses a base URL. If it has a path, every request begins with it.
pub(crate) fn base_url(key: &'static str, text: &str) -> Result<Url, SettlementError> {
    let url = Url::parse(text).map_err(|_| SettlementError::Url { key })?;
    let usable = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.query().is_none()
        && url.fragment().is_none();
    if usable {
        Ok(url)
    } else {
        Err(SettlementError::Url { key })
    }
}

/// Appends `path`, which begins with a slash, to the path of `base`.
pub(crate) fn join(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let joined = format!("{}{path}", base.path().trim_end_matches('/'));
    url.set_path(&joined);
    url
}

fn transport_cause(call: RemoteCall, after: Duration, error: &reqwest::Error) -> Cause {
    // This is checked first: a connection that is not made in time matches both, and no request was
    // sent in either case.
    if error.is_connect() {
        Cause::Unreachable { call }
    } else if error.is_timeout() {
        Cause::Timeout { call, after }
    } else {
        Cause::Interrupted { call }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_the_base_is_a_prefix() {
        for (base, expected) in [
            ("https://f.example", "https://f.example/verify"),
            ("https://f.example/", "https://f.example/verify"),
            ("https://f.example/x402", "https://f.example/x402/verify"),
            ("https://f.example/x402/", "https://f.example/x402/verify"),
        ] {
            let base = base_url("settlement.facilitator_url", base).unwrap();
            assert_eq!(join(&base, "/verify").as_str(), expected);
        }
    }

    #[test]
    fn an_unusable_base_is_refused_without_repeating_it() {
        for text in [
            "",
            "f.example",
            "ftp://f.example",
            "https://",
            "https://f.example/?key=s3cret",
        ] {
            let error = base_url("settlement.facilitator_url", text).unwrap_err();
            assert_eq!(error.code(), "settlement_url_invalid");
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }
}
