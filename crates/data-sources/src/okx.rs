//! OKX's DEX interface, version 6, for chain 196: prices, tokens, approvals and swaps.
//!
//! Its habits, all of them handled here: failures arrive inside HTTP 200, codes are strings or
//! integers, numbers are strings, an unknown token is an empty list, slippage is in percent
//! (version 5 took a fraction), the approval's spender is not the swap's target, and the router
//! changes.

mod approve;
mod auth;
mod price;
mod swap;
mod tokens;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::Value;

pub use self::auth::Credentials;
use self::tokens::TokenCache;
use crate::{
    error::{SourceError, SourceErrorKind},
    node::Node,
    provenance::{Clock, Mode, Provenance, SourceStatus},
    reviewed::ReviewedContracts,
    text::clean,
    transport::{
        Call, HealthState, Limits, QUOTED_CHARS, SourceHealth, Transport, TransportError, Upstream,
    },
};

/// OKX's public host.
pub const DEFAULT_BASE_URL: &str = "https://web3.okx.com";

/// Ids of the sources this adapter provides, as they appear in `meta.sources` and `/status`.
pub const SOURCES: [&str; 4] = [price::SOURCE, tokens::SOURCE, approve::SOURCE, swap::SOURCE];

/// Code of a success.
const SUCCESS: &str = "0";

/// How OKX is reached and what is accepted from it.
#[derive(Clone, Debug)]
pub struct OkxConfig {
    /// Where it is. A path is a prefix of every request and is not part of what is signed.
    pub base_url: String,
    /// Keys; without them the source is disabled unless `mode` is [`Mode::Replay`].
    pub credentials: Option<Credentials>,
    /// Whether it may be asked at all.
    pub enabled: bool,
    /// Whether `base_url` is the upstream or a recording of it.
    pub mode: Mode,
    /// Time, size and retries of a call.
    pub limits: Limits,
    /// What was reviewed.
    pub reviewed: ReviewedContracts,
    /// How long a token list counts as fresh.
    pub tokens_ttl: Duration,
    /// How old a token list may become when it cannot be refreshed.
    pub tokens_stale_ttl: Duration,
}

impl Default for OkxConfig {
    fn default() -> Self {
        Self {
            base_url: DEFAULT_BASE_URL.to_owned(),
            credentials: None,
            enabled: true,
            mode: Mode::Live,
            limits: Limits::default(),
            reviewed: ReviewedContracts::default(),
            tokens_ttl: Duration::from_secs(6 * 3600),
            tokens_stale_ttl: Duration::from_secs(24 * 3600),
        }
    }
}

/// OKX as a provider of [`TokenPrices`](crate::TokenPrices), [`TokenList`](crate::TokenList),
/// [`Approvals`](crate::Approvals) and [`Swaps`](crate::Swaps).
pub struct Okx {
    upstream: Upstream,
    config: OkxConfig,
    clock: Arc<dyn Clock>,
    tokens: TokenCache,
}

impl Okx {
    /// Connects nothing yet: reads the configuration and keeps the client.
    ///
    /// # Errors
    ///
    /// [`TransportError::BaseUrl`] when the base URL cannot be used.
    pub fn new(
        transport: &Transport,
        config: OkxConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let upstream = transport.upstream(&config.base_url, config.limits, config.mode)?;
        Ok(Self {
            upstream,
            config,
            clock,
            tokens: TokenCache::default(),
        })
    }

    /// What was reviewed.
    pub fn reviewed(&self) -> &ReviewedContracts {
        &self.config.reviewed
    }

    /// Whether calls are made to the upstream or to a recording.
    pub fn mode(&self) -> Mode {
        self.config.mode
    }

    /// How each of [`SOURCES`] has been doing.
    pub fn health(&self) -> Vec<SourceHealth> {
        let now = self.clock.now();
        let disabled = self.disabled();
        SOURCES
            .iter()
            .map(|source| {
                let mut health = self.upstream.health().of(source, now);
                if let Some(reason) = disabled {
                    health.state = HealthState::Disabled;
                    health.reason = Some(reason.to_owned());
                }
                health
            })
            .collect()
    }

    fn disabled(&self) -> Option<&'static str> {
        if !self.config.enabled {
            return Some("switched off in the configuration");
        }
        let keyless = self.config.credentials.is_none() && self.config.mode == Mode::Live;
        keyless.then_some("no api key")
    }

    /// Calls the interface and opens its envelope: the value of `data` and who gave it.
    async fn ask(
        &self,
        source: &'static str,
        path_and_query: &str,
        body: Option<&str>,
    ) -> Result<(Value, Provenance), SourceError> {
        if let Some(reason) = self.disabled() {
            return Err(SourceError {
                source,
                kind: SourceErrorKind::Disabled { reason },
            });
        }
        let call = Call {
            source,
            path_and_query,
            body,
        };
        let headers = || match &self.config.credentials {
            Some(credentials) => credentials.headers(
                self.clock.now(),
                call.method(),
                path_and_query,
                body.unwrap_or(""),
            ),
            None => Ok(Default::default()),
        };
        let answer = self
            .upstream
            .call(&call, headers)
            .await
            .map_err(|error| self.failed(error))?;
        let now = self.clock.now();
        match open(answer.json) {
            Ok(data) => {
                self.upstream
                    .health()
                    .succeeded(source, now, answer.latency);
                let provenance = Provenance {
                    source,
                    status: SourceStatus::Ok,
                    as_of: None,
                    fetched_at: now,
                    latency_ms: u64::try_from(answer.latency.as_millis()).unwrap_or(u64::MAX),
                    mode: self.config.mode,
                    cached: false,
                };
                Ok((data, provenance))
            }
            Err(kind) => {
                let error = SourceError { source, kind };
                if answers_the_caller(&error.kind) {
                    self.upstream
                        .health()
                        .succeeded(source, now, answer.latency);
                    return Err(error);
                }
                Err(self.failed(error))
            }
        }
    }

    /// Records that an answer whose envelope opened cannot be used.
    fn spoiled(&self, source: &'static str, kind: SourceErrorKind) -> SourceError {
        self.upstream
            .health()
            .spoiled(source, self.clock.now(), &kind);
        tracing::warn!(source, %kind, "upstream answer not usable");
        SourceError { source, kind }
    }

    /// Records a call without a usable envelope.
    fn failed(&self, error: SourceError) -> SourceError {
        self.upstream
            .health()
            .failed(error.source, self.clock.now(), &error.kind);
        tracing::warn!(source = error.source, reason = %error.kind.reason(), "upstream failed");
        error
    }

    fn now_seconds(&self) -> u64 {
        u64::try_from(self.clock.now().as_second()).unwrap_or(0)
    }
}

impl std::fmt::Debug for Okx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Okx")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// `{"code": "0", "data": …, "msg": ""}`: anything but code 0 is a failure, whatever the HTTP
/// status says.
fn open(mut envelope: Value) -> Result<Value, SourceErrorKind> {
    let root = Node::root(&envelope);
    let code = root.member("code")?.code()?;
    if code != SUCCESS {
        let message = root
            .find("msg")
            .and_then(|msg| msg.text().ok())
            .unwrap_or("");
        return Err(match code.as_str() {
            "50011" => SourceErrorKind::RateLimited { retry_after: None },
            _ => SourceErrorKind::Business {
                code: clean(&code, 16),
                message: clean(message, QUOTED_CHARS),
            },
        });
    }
    root.member("data")?;
    Ok(envelope
        .get_mut("data")
        .map(Value::take)
        .unwrap_or_default())
}

/// Whether a business failure is about the request (no liquidity, amount too small, …) rather than
/// about the upstream or our access to it.
fn answers_the_caller(kind: &SourceErrorKind) -> bool {
    match kind {
        SourceErrorKind::Business { code, .. } => code.starts_with("82") && code != "82001",
        _ => false,
    }
}

/// Milliseconds since the epoch as OKX writes them, in a string.
fn timestamp(node: &Node<'_>) -> Result<Timestamp, SourceErrorKind> {
    let millis =
        i64::try_from(node.atoms()?).map_err(|_| node.malformed("a time in milliseconds"))?;
    Timestamp::from_millisecond(millis).map_err(|_| node.malformed("a time in milliseconds"))
}

/// An address as OKX wants it in a request.
fn lower(address: alloy_primitives::Address) -> String {
    format!("{address:#x}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_envelope_is_open_only_with_code_zero() {
        assert_eq!(
            open(json!({"code": "0", "data": [], "msg": ""})),
            Ok(json!([]))
        );
        assert_eq!(
            open(json!({"code": 0, "data": [1], "msg": ""})),
            Ok(json!([1]))
        );
        for code in [json!("82000"), json!(82000)] {
            let refused =
                open(json!({"code": code, "data": [], "msg": "Insufficient\u{202e} liquidity"}));
            assert_eq!(
                refused,
                Err(SourceErrorKind::Business {
                    code: "82000".into(),
                    message: "Insufficient liquidity".into()
                })
            );
        }
        assert_eq!(
            open(json!({"code": "50011", "data": []})),
            Err(SourceErrorKind::RateLimited { retry_after: None })
        );
        for broken in [
            json!({}),
            json!([]),
            json!({"code": "0"}),
            json!({"code": 0.0, "data": []}),
            json!(null),
        ] {
            assert!(matches!(
                open(broken),
                Err(SourceErrorKind::Malformed { .. })
            ));
        }
    }
}
