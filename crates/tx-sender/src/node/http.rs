//! JSON-RPC over HTTP. The size of answers is limited, redirects are not followed, and no text
//! contains a URL, which may hold a key.

use std::pin::Pin;
use std::time::{Duration, Instant};

use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use super::{NodeFault, Transport};
use crate::observe;

/// The longest answer, in bytes. The longest one that is asked for is a block with all its
/// transactions.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// How long an idle connection is kept. This is shorter than common servers keep one, so that no
/// transaction is sent over a connection that the server is closing.
const POOL_IDLE: Duration = Duration::from_secs(15);

/// The endpoint cannot be used. Its text is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("expected an http or https URL with a host")]
pub struct InvalidUrl;

/// A JSON-RPC endpoint.
#[derive(Clone)]
pub struct HttpTransport {
    client: Client,
    url: Url,
    timeout: Duration,
}

impl HttpTransport {
    /// Makes an endpoint with this time limit for its answers.
    ///
    /// # Errors
    /// [`InvalidUrl`], also when the system has no usable TLS.
    pub fn new(url: &SecretString, timeout: Duration) -> Result<Self, InvalidUrl> {
        let url = Url::parse(url.expose_secret())
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or(InvalidUrl)?;
        let tls = outbound_tls::http().map_err(|_| InvalidUrl)?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(concat!(
                env!("CARGO_PKG_NAME"),
                "/",
                env!("CARGO_PKG_VERSION")
            ))
            .redirect(Policy::none())
            .connect_timeout(timeout)
            .pool_idle_timeout(POOL_IDLE)
            .build()
            .map_err(|_| InvalidUrl)?;
        Ok(Self {
            client,
            url,
            timeout,
        })
    }

    async fn post(&self, method: &'static str, body: Vec<u8>) -> Result<Vec<u8>, NodeFault> {
        let lost = |error: reqwest::Error| {
            // This is checked first, because a connection that is not made in time matches both.
            if error.is_connect() {
                NodeFault::Unreachable
            } else {
                NodeFault::Lost { method }
            }
        };
        let request = self.client.post(self.url.clone());
        let mut response = request
            .header(CONTENT_TYPE, "application/json")
            .timeout(self.timeout)
            .body(body)
            .send()
            .await
            .map_err(lost)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            if chunk.len() > MAX_BODY.saturating_sub(body.len()) {
                return Err(NodeFault::Lost { method });
            }
            body.extend_from_slice(&chunk);
        }
        // Some nodes send errors with an error status and a JSON-RPC body. The body decides.
        Ok(body)
    }
}

impl Transport for HttpTransport {
    fn exchange(
        &self,
        method: &'static str,
        body: Vec<u8>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NodeFault>> + Send + '_>> {
        Box::pin(async move {
            let began = Instant::now();
            let answer = self.post(method, body).await;
            observe::record_call(method, answer.is_ok(), began.elapsed());
            answer
        })
    }
}

impl std::fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpTransport").finish_non_exhaustive()
    }
}
