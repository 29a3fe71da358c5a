//! The upstreams that the routes draw on, connected from a configuration.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::B256;
use data_sources::alternative_me::AlternativeMe;
use data_sources::anthropic::Anthropic;
use data_sources::binance::Binance;
use data_sources::blockscout::Blockscout;
use data_sources::bybit::Bybit;
use data_sources::cboe::Cboe;
use data_sources::coindesk::Coindesk;
use data_sources::coingecko::Coingecko;
use data_sources::coinpaprika::Coinpaprika;
use data_sources::cryptopanic::Cryptopanic;
use data_sources::defillama::Defillama;
use data_sources::dexscreener::Dexscreener;
use data_sources::evm::{EvmReader, PUBLIC_ENDPOINTS};
use data_sources::fal::Fal;
use data_sources::fourbyte::Fourbyte;
use data_sources::frankfurter::Frankfurter;
use data_sources::fred::Fred;
use data_sources::gemini::Gemini;
use data_sources::goplus::Goplus;
use data_sources::hyperliquid_info::HyperliquidInfo;
use data_sources::lunarcrush::Lunarcrush;
use data_sources::news::{NewsDesk, NewsSources};
use data_sources::okx::{Credentials, Okx, OkxConfig};
use data_sources::okx_futures::OkxFutures;
use data_sources::openai::Openai;
use data_sources::perplexity::Perplexity;
use data_sources::rpc::RpcConfig;
use data_sources::rss::Rss;
use data_sources::sourcify::Sourcify;
use data_sources::transport::{Transport, TransportError};
use data_sources::treasury::Treasury;
use data_sources::x_api::XApi;
use data_sources::yahoo::Yahoo;
use data_sources::{Clock, Mode, Source, SourceConfig, Token, UpstreamSpec};
use jiff::Timestamp;
use ledger::SqliteShelf;
use readings::news::Digest;
use secrecy::SecretString;

use crate::answer::{Begun, LastTold};
use crate::config::{Chains, Config, DatasetsSection, UpstreamMode, UpstreamTable, Upstreams};
use crate::operations::yields::Yields;
use crate::operations::yields::dataset::YieldPools;
use crate::serve::ServeError;
use crate::snapshots::{Current, News, Running, Snapshot, Snapshots, holder};

/// One adapter for each upstream, and the clock by which data ages.
#[derive(Debug)]
#[expect(missing_docs, reason = "each adapter says what it is")]
pub struct Sources {
    pub alternative_me: AlternativeMe,
    pub anthropic: Anthropic,
    pub binance: Binance,
    pub blockscout: Blockscout,
    pub bybit: Bybit,
    pub cboe: Cboe,
    pub coindesk: Coindesk,
    pub coingecko: Coingecko,
    pub coinpaprika: Coinpaprika,
    pub cryptopanic: Cryptopanic,
    pub defillama: Defillama,
    pub dexscreener: Dexscreener,
    pub fal: Fal,
    pub fourbyte: Fourbyte,
    pub frankfurter: Frankfurter,
    pub fred: Fred,
    pub gemini: Gemini,
    pub goplus: Goplus,
    pub hyperliquid: HyperliquidInfo,
    pub lunarcrush: Lunarcrush,
    pub news: NewsDesk,
    pub okx: Okx,
    pub okx_futures: OkxFutures,
    pub openai: Openai,
    pub perplexity: Perplexity,
    pub rss: Rss,
    pub sourcify: Sourcify,
    pub treasury: Treasury,
    pub x_api: XApi,
    pub yahoo: Yahoo,
    pub evm: EvmReader,
    /// What is gathered on a schedule.
    pub(crate) snapshots: Snapshots,
    pub(crate) yields: Yields,
    pub(crate) told: Told,
    running: Running,
    gathers: DatasetsSection,
    shelf: Option<Arc<SqliteShelf>>,
    clock: DataClock,
}

/// Requests whose answers are known to have begun in some way; others take their place.
const BEGUN: usize = 64;

/// What routes told last of data that changes rarely, and how answers began.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) news: LastTold<Snapshot<Digest>>,
    /// By the first row and the row after the last.
    pub(crate) tokens: LastTold<[Token], (usize, usize)>,
    /// By digests of requests.
    begun: [Begun; BEGUN],
}

impl Told {
    fn nothing() -> Self {
        Self {
            news: LastTold::default(),
            tokens: LastTold::default(),
            begun: std::array::from_fn(|_| Begun::default()),
        }
    }

    /// How the last answer to a request began.
    pub(crate) fn begun(&self, request: B256) -> Option<&Begun> {
        self.begun.get(usize::from(request.0[0]) % BEGUN)
    }
}

#[derive(Clone)]
struct DataClock(Arc<dyn Clock>);

impl std::fmt::Debug for DataClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DataClock")
    }
}

impl Sources {
    /// Every upstream of a configuration. Nothing is asked yet.
    ///
    /// # Errors
    /// An upstream whose address cannot be used.
    pub fn connect(config: &Config, clock: Arc<dyn Clock>) -> Result<Self, ServeError> {
        let client = |error| ServeError::Upstream {
            name: "http",
            error,
        };
        let connect = Connect {
            transport: Transport::new().map_err(client)?,
            upstreams: &config.upstreams,
            clock: clock.clone(),
        };
        // Who tells the news; the adapters are the same ones that other routes ask.
        let told = NewsSources {
            okx: connect.okx()?,
            coindesk: connect.one("coindesk", Coindesk::new)?,
            rss: connect.one("rss", Rss::new)?,
            alternative_me: connect.one("alternative_me", AlternativeMe::new)?,
            cryptopanic: connect.one("cryptopanic", Cryptopanic::new)?,
            x_api: connect.one("x_api", XApi::new)?,
        };
        let evm = EvmReader::new(&connect.transport, rpc(&config.chains), clock.clone())
            .map_err(|error| ServeError::Upstream { name: "rpc", error })?;
        let told_okx = told.okx.clone();
        Ok(Self {
            news: NewsDesk::new(told.clone(), clock.clone()),
            alternative_me: told.alternative_me,
            anthropic: connect.one("anthropic", Anthropic::new)?,
            binance: connect.one("binance", Binance::new)?,
            blockscout: connect.one("blockscout", Blockscout::new)?,
            bybit: connect.one("bybit", Bybit::new)?,
            cboe: connect.one("cboe", Cboe::new)?,
            coindesk: told.coindesk,
            coingecko: connect.one("coingecko", Coingecko::new)?,
            coinpaprika: connect.one("coinpaprika", Coinpaprika::new)?,
            cryptopanic: told.cryptopanic,
            defillama: connect.one("defillama", Defillama::new)?,
            dexscreener: connect.one("dexscreener", Dexscreener::new)?,
            fal: connect.one("fal", Fal::new)?,
            fourbyte: connect.one("fourbyte", Fourbyte::new)?,
            frankfurter: connect.one("frankfurter", Frankfurter::new)?,
            fred: connect.one("fred", Fred::new)?,
            gemini: connect.one("gemini", Gemini::new)?,
            goplus: connect.one("goplus", Goplus::new)?,
            hyperliquid: connect.one("hyperliquid", HyperliquidInfo::new)?,
            lunarcrush: connect.one("lunarcrush", Lunarcrush::new)?,
            okx: told.okx,
            okx_futures: connect.one("okx_futures", OkxFutures::new)?,
            openai: connect.one("openai", Openai::new)?,
            perplexity: connect.one("perplexity", Perplexity::new)?,
            rss: told.rss,
            sourcify: connect.one("sourcify", Sourcify::new)?,
            treasury: connect.one("treasury", Treasury::new)?,
            x_api: told.x_api,
            yahoo: connect.one("yahoo", Yahoo::new)?,
            yields: Yields::new(told_okx, evm.clone(), clock.clone(), Current::nothing()),
            evm,
            told: Told::nothing(),
            snapshots: Snapshots::default(),
            running: Running::default(),
            gathers: config.datasets,
            shelf: None,
            clock: DataClock(clock),
        })
    }

    /// With a place for what is kept beside payments. Without one, what needs it is refused.
    #[must_use]
    pub fn with_shelf(mut self, shelf: Arc<SqliteShelf>) -> Self {
        let clock = self.clock.0.clone();
        self.running.tidy(shelf.clone(), self.clock.0.clone());
        if self.gathers.news {
            let news = News {
                desk: self.news.clone(),
            };
            self.snapshots.news = self.running.start(news, shelf.clone(), clock, holder());
        }
        if self.gathers.yields {
            let pools = YieldPools::new(self.defillama.clone());
            let clock = self.clock.0.clone();
            self.snapshots.yields = self.running.start(pools, shelf.clone(), clock, holder());
        }
        let (okx, evm) = (self.okx.clone(), self.evm.clone());
        let pools = self.snapshots.yields.clone();
        self.yields = Yields::new(okx, evm, self.clock.0.clone(), pools);
        self.shelf = Some(shelf);
        self
    }

    /// What is kept beside payments: datasets and artifacts.
    pub(crate) fn shelf(&self) -> Option<&Arc<SqliteShelf>> {
        self.shelf.as_ref()
    }

    /// What is known of every upstream before it is asked.
    #[must_use]
    pub fn specs() -> [&'static UpstreamSpec; 29] {
        [
            &data_sources::okx::SPEC,
            Goplus::SPEC,
            Coingecko::SPEC,
            Coinpaprika::SPEC,
            Dexscreener::SPEC,
            Defillama::SPEC,
            HyperliquidInfo::SPEC,
            Binance::SPEC,
            OkxFutures::SPEC,
            Bybit::SPEC,
            Fred::SPEC,
            Treasury::SPEC,
            Cboe::SPEC,
            Frankfurter::SPEC,
            Yahoo::SPEC,
            AlternativeMe::SPEC,
            Coindesk::SPEC,
            Rss::SPEC,
            Cryptopanic::SPEC,
            Lunarcrush::SPEC,
            XApi::SPEC,
            Openai::SPEC,
            Anthropic::SPEC,
            Gemini::SPEC,
            Fal::SPEC,
            Perplexity::SPEC,
            Sourcify::SPEC,
            Fourbyte::SPEC,
            Blockscout::SPEC,
        ]
    }

    /// The present time by which data ages.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.0.now()
    }

    /// Whether the answers of a source are recorded ones.
    pub(crate) fn mode_of(&self, source: &str) -> Mode {
        if source.starts_with("rpc.") {
            return self.evm.mode();
        }
        let of = |upstream: &&Source| upstream.spec().sources.contains(&source);
        self.all()
            .iter()
            .find(|upstream| of(upstream))
            .map_or(Mode::Live, |upstream| upstream.mode())
    }

    /// Every upstream, for `/status`.
    pub(crate) fn all(&self) -> Vec<&Source> {
        let mut all = vec![
            self.okx.source(),
            self.goplus.source(),
            self.coingecko.source(),
            self.coinpaprika.source(),
            self.dexscreener.source(),
            self.defillama.source(),
            self.hyperliquid.source(),
            self.binance.source(),
            self.okx_futures.source(),
            self.bybit.source(),
            self.fred.source(),
            self.treasury.source(),
            self.cboe.source(),
            self.frankfurter.source(),
            self.yahoo.source(),
            self.alternative_me.source(),
            self.coindesk.source(),
            self.cryptopanic.source(),
            self.lunarcrush.source(),
            self.x_api.source(),
            self.openai.source(),
            self.anthropic.source(),
            self.gemini.source(),
            self.fal.source(),
            self.perplexity.source(),
            self.sourcify.source(),
            self.fourbyte.source(),
            self.blockscout.source(),
        ];
        all.extend(self.rss.feeds());
        all
    }
}

/// What connecting needs.
struct Connect<'a> {
    transport: Transport,
    upstreams: &'a Upstreams,
    clock: Arc<dyn Clock>,
}

impl Connect<'_> {
    fn one<T>(
        &self,
        name: &'static str,
        new: impl FnOnce(&Transport, SourceConfig, Arc<dyn Clock>) -> Result<T, TransportError>,
    ) -> Result<T, ServeError> {
        let config = source(&self.upstreams.table(name));
        new(&self.transport, config, self.clock.clone())
            .map_err(|error| ServeError::Upstream { name, error })
    }

    fn okx(&self) -> Result<Okx, ServeError> {
        let config = okx(&self.upstreams.table("okx"));
        Okx::new(&self.transport, config, self.clock.clone())
            .map_err(|error| ServeError::Upstream { name: "okx", error })
    }
}

/// What an operator says of an upstream.
fn source(table: &UpstreamTable) -> SourceConfig {
    let owned = |(key, text): (&str, &str)| (key.to_owned(), text.to_owned());
    SourceConfig {
        urls: table.urls().map(owned).collect(),
        options: table.options().map(owned).collect(),
        api_key: table.api_key.clone(),
        secret_key: table.secret_key.clone(),
        passphrase: table.passphrase.clone(),
        enabled: table.enabled.unwrap_or(true),
        mode: mode(table),
        timeout: table.timeout_ms.map(Duration::from_millis),
    }
}

fn okx(table: &UpstreamTable) -> OkxConfig {
    let credentials = match (&table.api_key, &table.secret_key, &table.passphrase) {
        (Some(api_key), Some(secret_key), Some(passphrase)) => Some(Credentials {
            api_key: api_key.clone(),
            secret_key: secret_key.clone(),
            passphrase: passphrase.clone(),
        }),
        _ => None,
    };
    let mut config = OkxConfig {
        credentials,
        enabled: table.enabled.unwrap_or(true),
        mode: mode(table),
        ..OkxConfig::default()
    };
    if let Some(url) = &table.base_url {
        config.base_url.clone_from(url);
    }
    if let Some(limit) = table.timeout_ms {
        config.limits.timeout = Duration::from_millis(limit);
    }
    config
}

/// The nodes of every chain: those of the configuration, otherwise public ones.
fn rpc(chains: &Chains) -> RpcConfig {
    let mut replayed = false;
    let mut endpoints = BTreeMap::new();
    for (id, public) in PUBLIC_ENDPOINTS {
        let table = chains.0.get(&id.to_string());
        replayed |= table.is_some_and(|table| table.mode == Some(UpstreamMode::Replay));
        let named = chains.rpc_urls(id).iter().cloned().map(SecretString::from);
        let mut urls: Vec<_> = named.collect();
        if urls.is_empty() {
            urls.extend(public.map(SecretString::from));
        }
        endpoints.insert(id, urls);
    }
    RpcConfig {
        chains: endpoints,
        mode: if replayed { Mode::Replay } else { Mode::Live },
        ..RpcConfig::default()
    }
}

fn mode(table: &UpstreamTable) -> Mode {
    match table.mode {
        Some(UpstreamMode::Replay) => Mode::Replay,
        _ => Mode::Live,
    }
}
