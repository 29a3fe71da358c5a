//! The venues and chains that plans are built from, as a configuration names them.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256};
use data_sources::circle::{Circle, CircleConfig};
use data_sources::defillama::Defillama;
use data_sources::hyperliquid::{Hyperliquid, HyperliquidConfig};
use data_sources::lifi::{Lifi, LifiConfig};
use data_sources::polymarket::{Polymarket, PolymarketConfig};
use data_sources::rpc::{RpcConfig, RpcReader};
use data_sources::transport::{Limits, SourceHealth, Transport, TransportError};
use data_sources::{Clock, Mode, QuotaSpec, QuotaStore, Source, SourceConfig};
use plan_builder::ports::{
    Accounts, BridgeFeeReading, BridgeFees, IndependentPrice, PerpAsset, PerpVenue, PmBuilderFee,
    PmMarket, PmVenue, PortError, SimulatedCall, Simulator, SwapAsk, SwapQuote, SwapQuotes,
};
use plan_builder::swap::whitelist;
use plan_checks::{FeePolicy, Step};
use server_config::{UpstreamMode, UpstreamTable};
use thiserror::Error;

use crate::check::online::off_the_whitelist;
use crate::config::{Config, PriceSource};
use crate::http::{Health, Limits as Left, Observed};

/// An upstream that cannot be set up.
#[derive(Debug, Error)]
#[error("{key}: {error}")]
pub struct UpstreamError {
    /// The table.
    pub key: &'static str,
    /// What is wrong.
    pub error: TransportError,
}

/// Every upstream, shared by the tools and the operational endpoints.
#[derive(Debug, Clone)]
pub struct Upstreams(Arc<Adapters>);

#[derive(Debug)]
struct Adapters {
    lifi: Lifi,
    circle: Circle,
    polymarket: Polymarket,
    hyperliquid: Hyperliquid,
    rpc: RpcReader,
    /// Prices that are not the aggregator's, where they are configured.
    prices: Option<Defillama>,
    /// What is reviewed, once it is known.
    fees: OnceLock<FeePolicy>,
    /// Reviewed legs that the routers did not accept when they were last asked.
    refused_legs: Mutex<Vec<(String, String)>>,
}

/// How long what the routers said of the reviewed legs stands.
const NEXT_LOOK: Duration = Duration::from_secs(6 * 3600);
/// The same where a node failed.
const NEXT_TRY: Duration = Duration::from_secs(600);

impl Upstreams {
    /// The upstreams of a configuration. None of them is asked anything yet.
    ///
    /// # Errors
    /// An upstream whose URL or key cannot be used.
    pub fn new(config: &Config, clock: &Arc<dyn Clock>) -> Result<Self, UpstreamError> {
        let at = |key| move |error| UpstreamError { key, error };
        let agent = config
            .server
            .user_agent("mcp-server", env!("CARGO_PKG_VERSION"));
        let transport = Transport::named(&agent).map_err(at("upstreams"))?;
        let table = |name| config.upstreams.table(name);
        let lifi = Lifi::new(&transport, lifi(table("lifi")), clock.clone());
        let circle = Circle::new(&transport, circle(table("circle")), clock.clone());
        let polymarket =
            Polymarket::new(&transport, polymarket(table("polymarket")), clock.clone());
        let hyperliquid =
            Hyperliquid::new(&transport, hyperliquid(table("hyperliquid")), clock.clone());
        let prices = config
            .plans
            .price_source
            .map(|PriceSource::Defillama| {
                Defillama::new(&transport, source(&table("defillama")), clock.clone())
            })
            .transpose();
        let rpc = RpcReader::new(&transport, rpc(config), clock.clone());
        Ok(Self(Arc::new(Adapters {
            lifi: lifi.map_err(at("upstreams.lifi"))?,
            circle: circle.map_err(at("upstreams.circle"))?,
            polymarket: polymarket.map_err(at("upstreams.polymarket"))?,
            hyperliquid: hyperliquid.map_err(at("upstreams.hyperliquid"))?,
            rpc: rpc.map_err(at("chains"))?,
            prices: prices.map_err(at("upstreams.defillama"))?,
            fees: OnceLock::new(),
            refused_legs: Mutex::default(),
        })))
    }

    /// With the configuration whose legs are held against the routers' own whitelists.
    pub(crate) fn reviewed_by(self, fees: &FeePolicy) -> Self {
        // Set once, where the server is composed.
        let _ = self.0.fees.set(fees.clone());
        self
    }

    /// Asks the routers of all chains with a node; whether every node answered.
    pub(crate) async fn look_at_legs(&self) -> bool {
        let Some(fees) = self.0.fees.get() else {
            return true;
        };
        let mut refused = Vec::new();
        let mut answered = true;
        for chain in &fees.chains {
            if !self.0.rpc.simulates(chain.chain_id) {
                continue;
            }
            for listing in whitelist::of_chain(self, fees, chain).await {
                answered &= listing.listed.is_ok();
                refused.extend(off_the_whitelist(&listing));
            }
        }
        for (key, reason) in &refused {
            tracing::warn!(key, "{reason}");
        }
        let mut known = self
            .0
            .refused_legs
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // What a node that fails now had said before is not unsaid.
        if answered || !refused.is_empty() {
            *known = refused;
        }
        answered
    }
}

impl Upstreams {
    /// Keeps what is used of quotas and long budgets in `store` from now on, and goes on where they stand there.
    pub(crate) async fn keep_limits(&self, store: &Arc<dyn QuotaStore>) {
        for source in self.0.limited() {
            if let Err(error) = source.keep_limits(store.clone()).await {
                let upstream = source.spec().name;
                // A call that needs the counter of a quota tries again, and is refused without it.
                tracing::error!(upstream, %error, "what was used of an upstream is not known");
            }
        }
    }
}

impl Adapters {
    /// Those whose limits are known. Nodes have none, and prices are asked for without a quota.
    fn limited(&self) -> [&Source; 4] {
        let Self {
            lifi,
            circle,
            polymarket,
            hyperliquid,
            rpc: _,
            prices: _,
            fees: _,
            refused_legs: _,
        } = self;
        [
            lifi.source(),
            circle.source(),
            polymarket.source(),
            hyperliquid.source(),
        ]
    }
}

fn lifi(table: UpstreamTable) -> LifiConfig {
    let mut config = LifiConfig::default();
    common(
        &table,
        &mut config.enabled,
        &mut config.mode,
        &mut config.limits,
    );
    config.servers = table.shared_by();
    config.quota = quota(&table);
    set(&mut config.base_url, table.base_url);
    config.api_key = table.api_key;
    config
}

fn circle(table: UpstreamTable) -> CircleConfig {
    let mut config = CircleConfig::default();
    common(
        &table,
        &mut config.enabled,
        &mut config.mode,
        &mut config.limits,
    );
    config.servers = table.shared_by();
    config.quota = quota(&table);
    set(&mut config.base_url, table.base_url);
    config
}

fn polymarket(table: UpstreamTable) -> PolymarketConfig {
    let mut config = PolymarketConfig::default();
    common(
        &table,
        &mut config.enabled,
        &mut config.mode,
        &mut config.limits,
    );
    config.servers = table.shared_by();
    config.quota = quota(&table);
    set(&mut config.clob_url, table.clob_url);
    set(&mut config.gamma_url, table.gamma_url);
    config
}

fn hyperliquid(table: UpstreamTable) -> HyperliquidConfig {
    let mut config = HyperliquidConfig::default();
    common(
        &table,
        &mut config.enabled,
        &mut config.mode,
        &mut config.limits,
    );
    config.servers = table.shared_by();
    config.quota = quota(&table);
    set(&mut config.base_url, table.base_url);
    config
}

/// The quotas that the table gives; none where it says nothing.
fn quota(table: &UpstreamTable) -> QuotaSpec {
    QuotaSpec {
        daily: table.daily_quota.unwrap_or(0),
        monthly: table.monthly_quota.unwrap_or(0),
    }
}

/// What an operator says of an upstream of the data routes.
fn source(table: &UpstreamTable) -> SourceConfig {
    let owned = |(key, text): (&str, &str)| (key.to_owned(), text.to_owned());
    SourceConfig {
        urls: table.urls().map(owned).collect(),
        options: table.options().map(owned).collect(),
        api_key: table.api_key.clone(),
        secret_key: table.secret_key.clone(),
        passphrase: table.passphrase.clone(),
        enabled: table.enabled.unwrap_or(true),
        mode: match table.mode {
            Some(UpstreamMode::Replay) => Mode::Replay,
            _ => Mode::Live,
        },
        timeout: table.timeout_ms.map(Duration::from_millis),
        monthly_quota: table.monthly_quota,
        daily_quota: table.daily_quota,
        servers: table.shared_by(),
    }
}

fn rpc(config: &Config) -> RpcConfig {
    let chains = config.chains.0.iter().filter_map(|(id, table)| {
        let urls = table.rpc_urls.iter().map(|url| url.clone().into());
        Some((id.parse().ok()?, urls.collect()))
    });
    RpcConfig {
        chains: chains.collect::<BTreeMap<_, _>>(),
        ..RpcConfig::default()
    }
}

fn common(table: &UpstreamTable, enabled: &mut bool, mode: &mut Mode, limits: &mut Limits) {
    if let Some(wanted) = table.enabled {
        *enabled = wanted;
    }
    if table.mode == Some(UpstreamMode::Replay) {
        *mode = Mode::Replay;
    }
    if let Some(milliseconds) = table.timeout_ms {
        limits.timeout = Duration::from_millis(milliseconds);
    }
}

fn set(value: &mut String, wanted: Option<String>) {
    if let Some(wanted) = wanted {
        *value = wanted;
    }
}

impl Health for Upstreams {
    fn observe(&self) -> Vec<Observed> {
        let Adapters {
            lifi,
            circle,
            polymarket,
            hyperliquid,
            rpc,
            prices,
            ..
        } = self.0.as_ref();
        let venues = [
            (lifi.mode(), lifi.health()),
            (circle.mode(), circle.health()),
            (polymarket.mode(), polymarket.health()),
            (hyperliquid.mode(), hyperliquid.health()),
        ];
        let mut observed: Vec<Observed> = venues
            .into_iter()
            .flat_map(|(mode, sources)| {
                sources.into_iter().map(move |seen| observe(mode, seen, ""))
            })
            .collect();
        if let Some(prices) = prices {
            let (mode, health) = (prices.source().mode(), prices.source().health());
            let asked = health
                .into_iter()
                .filter(|seen| seen.source == "defillama.coins");
            observed.extend(asked.map(|seen| observe(mode, seen, "")));
        }
        for endpoint in rpc.health() {
            let of = format!("[{}#{}]", endpoint.chain_id, endpoint.position);
            let sources = endpoint.sources.into_iter();
            observed.extend(sources.map(|seen| observe(rpc.mode(), seen, &of)));
        }
        observed
    }

    fn limits(&self) -> Left {
        let sources = self.0.limited();
        let quota = |source: &Source| Some((source.spec().name, source.quota()?));
        Left {
            budgets: sources.into_iter().flat_map(Source::budget).collect(),
            quotas: sources.into_iter().filter_map(quota).collect(),
        }
    }

    fn concerns(&self) -> Vec<(String, String)> {
        self.0
            .refused_legs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .map(|(key, reason)| (format!("plans.fee_config {key}"), reason.clone()))
            .collect()
    }

    fn keep(self: Arc<Self>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            loop {
                let next = if self.look_at_legs().await {
                    NEXT_LOOK
                } else {
                    NEXT_TRY
                };
                tokio::time::sleep(next).await;
            }
        })
    }
}

fn observe(mode: Mode, seen: SourceHealth, of: &str) -> Observed {
    Observed {
        id: format!("{}{of}", seen.source),
        state: seen.state,
        reason: seen.reason,
        mode: mode.as_str(),
        last_ok: seen.last_ok,
        last_error: seen.last_error,
        p50_ms: seen.p50_ms,
        p95_ms: seen.p95_ms,
        calls: seen.calls,
        failures: seen.failures,
        budget_left: seen.budget_left,
        budget_limit: seen.budget_limit,
        window_seconds: seen.window_seconds,
        quota_left: seen.quota_left,
        quota_resets_at: seen.quota_resets_at,
    }
}

impl SwapQuotes for Upstreams {
    async fn quote(&self, ask: &SwapAsk) -> Result<SwapQuote, PortError> {
        self.0.lifi.quote(ask).await
    }

    async fn independent_price(&self, ask: &SwapAsk) -> Option<IndependentPrice> {
        let prices = self.0.prices.as_ref()?;
        let found = prices.pair_price(ask.chain_id, ask.from_token, ask.to_token);
        match found.await {
            Ok(reading) => reading.map(|reading| IndependentPrice {
                source: "defillama".to_owned(),
                reading,
            }),
            Err(error) => {
                tracing::debug!(%error, "no independent price");
                None
            }
        }
    }
}

impl BridgeFees for Upstreams {
    async fn fees(
        &self,
        source_domain: u32,
        destination_domain: u32,
        forward: bool,
    ) -> Result<BridgeFeeReading, PortError> {
        let circle = &self.0.circle;
        circle
            .fees(source_domain, destination_domain, forward)
            .await
    }

    async fn fast_allowance(&self) -> Result<U256, PortError> {
        self.0.circle.fast_allowance().await
    }
}

impl Accounts for Upstreams {
    async fn code(&self, chain_id: u64, address: Address) -> Result<Bytes, PortError> {
        self.0.rpc.code(chain_id, address).await
    }

    async fn call(
        &self,
        chain_id: u64,
        to: Address,
        data: Bytes,
    ) -> Result<Option<Bytes>, PortError> {
        self.0.rpc.call(chain_id, to, data).await
    }
}

impl PmVenue for Upstreams {
    async fn market(&self, token_id: U256) -> Result<PmMarket, PortError> {
        self.0.polymarket.market(token_id).await
    }

    async fn builder_fee(&self, code: B256) -> Result<PmBuilderFee, PortError> {
        self.0.polymarket.builder_fee(code).await
    }
}

impl PerpVenue for Upstreams {
    async fn asset(&self, coin: &str) -> Result<PerpAsset, PortError> {
        self.0.hyperliquid.asset(coin).await
    }

    async fn max_builder_fee(&self, user: Address, builder: Address) -> Result<u64, PortError> {
        self.0.hyperliquid.max_builder_fee(user, builder).await
    }
}

impl Simulator for Upstreams {
    fn simulates(&self, chain_id: u64) -> bool {
        self.0.rpc.simulates(chain_id)
    }

    async fn simulate(
        &self,
        chain_id: u64,
        account: Address,
        calls: &[Step],
    ) -> Result<Option<Vec<SimulatedCall>>, PortError> {
        self.0.rpc.simulate(chain_id, account, calls).await
    }
}
