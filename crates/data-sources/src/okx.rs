//! OKX's DEX interface, version 6, for chain 196: prices, tokens, approvals and swaps.
//!
//! Peculiarities, all handled here: failures arrive inside HTTP 200. Codes are strings or integers,
//! and numbers are strings. An unknown token is an empty list. Slippage is in percent (version 5
//! took a fraction). The approval's spender is not the swap's target. The router changes.

mod approve;
mod auth;
mod balances;
pub mod defi;
mod envelope;
mod market;
mod price;
mod reviewed;
mod security;
mod social;
mod swap;
mod tokens;

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use calldata_checks::okx::ReviewedContracts;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use self::envelope::{answers_the_caller, open};
pub use self::{auth::Credentials, reviewed::ReviewedDocument};
use crate::{
    budget::{Families, Family, Rate},
    cached::{Ages, Cached},
    error::{SourceError, SourceErrorKind},
    json::{Json, read_json},
    provenance::{Clock, Mode, Provenance, Sourced},
    source::{Ask, Fault, KeyRule, Source, SourceConfig, UpstreamSpec},
    tokens::TokenSnapshot,
    transport::{Limits, Transport, TransportError},
};

/// OKX's public host.
pub const DEFAULT_BASE_URL: &str = "https://web3.okx.com";

/// How OKX is reached, and which limits it has.
pub static SPEC: UpstreamSpec = UpstreamSpec {
    name: "okx",
    urls: &[("base_url", DEFAULT_BASE_URL)],
    key: KeyRule::Required,
    sources: &[
        price::SOURCE,
        tokens::SOURCE,
        approve::SOURCE,
        swap::SOURCE,
        "okx.price-info",
        "okx.token-search",
        "okx.hot-tokens",
        "okx.top-liquidity",
        "okx.advanced-info",
        "okx.token-scan",
        "okx.token-holders",
        "okx.news",
        "okx.sentiment",
        "okx.vibe",
        "okx.balances",
        balances::CHAINS,
        "okx.defi",
        "okx.quote",
    ],
    families: Families::Groups(&[
        Family {
            name: "market",
            sources: &[
                price::SOURCE,
                "okx.price-info",
                "okx.token-search",
                "okx.hot-tokens",
                "okx.top-liquidity",
                "okx.advanced-info",
                "okx.token-holders",
            ],
            rate: Rate::per_minute(240),
        },
        Family {
            name: "aggregator",
            sources: &[tokens::SOURCE, approve::SOURCE, swap::SOURCE, "okx.quote"],
            rate: Rate::per_minute(120),
        },
        Family {
            name: "security",
            sources: &["okx.token-scan"],
            rate: Rate::per_minute(60),
        },
        Family {
            name: "social",
            sources: &["okx.news", "okx.sentiment", "okx.vibe"],
            rate: Rate::per_minute(60),
        },
        Family {
            name: "balances",
            sources: &["okx.balances", balances::CHAINS],
            rate: Rate::per_minute(60),
        },
        Family {
            name: "defi",
            sources: &["okx.defi"],
            rate: Rate::per_minute(60),
        },
    ]),
    ..UpstreamSpec::DATA
};

/// The path of the data in an envelope.
const DATA: &str = "$.data";
/// How OKX is reached, and which contracts are accepted from it.
#[derive(Clone, Debug)]
pub struct OkxConfig {
    /// Its base URL. A path is a prefix of every request and is not part of the signed text.
    pub base_url: String,
    /// Keys. Without them the source is disabled unless `mode` is [`Mode::Replay`].
    pub credentials: Option<Credentials>,
    /// Whether it may be asked at all.
    pub enabled: bool,
    /// Whether `base_url` is the upstream or a recording of it.
    pub mode: Mode,
    /// Time, size and retries of a call.
    pub limits: Limits,
    /// The reviewed contracts.
    pub reviewed: ReviewedContracts,
    /// How long a token list counts as fresh.
    pub tokens_ttl: Duration,
    /// How old a token list may become when it cannot be refreshed.
    pub tokens_stale_ttl: Duration,
    /// Calls in a month. 0 or `None` means no quota.
    pub monthly_quota: Option<u64>,
    /// Calls in a day. 0 or `None` means no quota.
    pub daily_quota: Option<u64>,
    /// How many servers use the same key: each takes its share of every budget and quota.
    pub servers: NonZeroU32,
    /// As [`SourceConfig::quotas_are_shared`].
    pub quotas_are_shared: bool,
    /// As [`SourceConfig::reserved_percent`].
    pub reserved_percent: u8,
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
            monthly_quota: None,
            daily_quota: None,
            servers: NonZeroU32::MIN,
            quotas_are_shared: false,
            reserved_percent: 0,
        }
    }
}

/// OKX: prices, tokens, approvals, swaps, balances, scans and markets. Clones share everything.
#[derive(Clone)]
pub struct Okx {
    source: Source,
    config: Arc<OkxConfig>,
    tokens: Cached<(), TokenSnapshot>,
    balance_chains: Cached<(), Arc<BTreeSet<u64>>>,
    markets: market::Markets,
    security: security::Scans,
    balances: balances::Balances,
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
        let keys = config.credentials.as_ref();
        let said = SourceConfig {
            urls: BTreeMap::from([("base_url".to_owned(), config.base_url.clone())]),
            api_key: keys.map(|keys| keys.api_key.clone()),
            enabled: config.enabled,
            mode: config.mode,
            monthly_quota: config.monthly_quota,
            daily_quota: config.daily_quota,
            servers: config.servers,
            quotas_are_shared: config.quotas_are_shared,
            reserved_percent: config.reserved_percent,
            ..SourceConfig::default()
        };
        let source = Source::limited(transport, &SPEC, said, config.limits, clock.clone())?;
        let ages = Ages::new(config.tokens_ttl, config.tokens_stale_ttl).with_floor(300);
        Ok(Self {
            source,
            config: Arc::new(config),
            security: security::Scans::new(&clock),
            balances: balances::kept(clock.clone()),
            tokens: Cached::new(1, ages, clock.clone()),
            balance_chains: Cached::new(1, balances::CHAINS_AGES, clock.clone()),
            markets: market::Markets::new(clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The reviewed contracts.
    pub fn reviewed(&self) -> &ReviewedContracts {
        &self.config.reviewed
    }

    /// Calls the interface and opens its envelope. Returns the value of `data` and its provenance.
    async fn ask(
        &self,
        source: &'static str,
        path_and_query: &str,
        body: Option<&str>,
    ) -> Result<(Box<RawValue>, Provenance), SourceError> {
        let kept = |data: &Json<'_>| data.to_raw();
        let Sourced { value, sources } = self.open(source, path_and_query, body, kept).await?;
        let provenance = sources.into_iter().next();
        Ok((
            value,
            provenance.unwrap_or_else(|| Provenance::local(source, self.now())),
        ))
    }

    /// [`Self::ask`] for a `data` of the form `T`. An error names the place.
    pub(crate) async fn read<T: DeserializeOwned + Send>(
        &self,
        source: &'static str,
        path_and_query: &str,
        body: Option<&str>,
    ) -> Result<Sourced<T>, SourceError> {
        let typed = |data: &Json<'_>| read_json(data.raw().as_bytes());
        self.open(source, path_and_query, body, typed).await
    }

    async fn open<T>(
        &self,
        source: &'static str,
        path_and_query: &str,
        body: Option<&str>,
        read: impl FnOnce(&Json<'_>) -> Result<T, SourceErrorKind> + Send,
    ) -> Result<Sourced<T>, SourceError> {
        let ask = self.signed(source, path_and_query, body);
        self.source
            .ask(ask, |reply| Ok(read(&data(source, &reply.body)?)?))
            .await
    }

    /// A call that carries its signature, when there are credentials.
    fn signed<'a>(
        &'a self,
        source: &'static str,
        path_and_query: &'a str,
        body: Option<&'a str>,
    ) -> Ask<'a> {
        let (ask, method) = match body {
            Some(body) => (self.source.post(source, path_and_query, body), "POST"),
            None => (self.source.get(source, path_and_query), "GET"),
        };
        ask.signed(move || match &self.config.credentials {
            Some(keys) => keys.headers(self.now(), method, path_and_query, body.unwrap_or("")),
            None => Ok(Default::default()),
        })
    }

    /// Records that an answer whose envelope opened cannot be used.
    fn reject_response(&self, source: &'static str, kind: SourceErrorKind) -> SourceError {
        self.source.reject_response(source, kind)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.source.now()
    }

    fn now_seconds(&self) -> u64 {
        u64::try_from(self.now().as_second()).unwrap_or(0)
    }
}

impl std::fmt::Debug for Okx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Okx")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// The value of `data` in an envelope.
fn data<'a>(source: &'static str, body: &'a [u8]) -> Result<Json<'a>, Fault<SourceError>> {
    open(body).map_err(|kind| match answers_the_caller(&kind) {
        true => Fault::Answer(SourceError { source, kind }),
        false => Fault::Upstream(kind),
    })
}

/// Milliseconds since the epoch as OKX writes them, in a string.
fn timestamp(json: &Json<'_>) -> Result<Timestamp, SourceErrorKind> {
    let millis =
        i64::try_from(json.digits()?).map_err(|_| json.malformed("a time in milliseconds"))?;
    Timestamp::from_millisecond(millis).map_err(|_| json.malformed("a time in milliseconds"))
}

/// An address in the form of OKX's requests.
fn lower(address: alloy_primitives::Address) -> String {
    format!("{address:#x}")
}
