//! The venues and chains that plans are built from, as a configuration names them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, Bytes, U256};
use data_sources::circle::{Circle, CircleConfig};
use data_sources::hyperliquid::{Hyperliquid, HyperliquidConfig};
use data_sources::lifi::{Lifi, LifiConfig};
use data_sources::polymarket::{Polymarket, PolymarketConfig};
use data_sources::rpc::{RpcConfig, RpcReader};
use data_sources::transport::{Limits, SourceHealth, Transport, TransportError};
use data_sources::{Clock, Mode};
use plan_builder::ports::{
    Accounts, BridgeFeeReading, BridgeFees, PerpAsset, PerpVenue, PmMarket, PmVenue, PortError,
    SimulatedCall, Simulator, SwapAsk, SwapQuote, SwapQuotes,
};
use plan_checks::Step;
use server_config::{UpstreamMode, UpstreamTable};
use thiserror::Error;

use crate::config::Config;
use crate::http::{Health, Observed};

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
}

impl Upstreams {
    /// The upstreams of a configuration. None of them is asked anything yet.
    ///
    /// # Errors
    /// An upstream whose URL or key cannot be used.
    pub fn new(config: &Config, clock: &Arc<dyn Clock>) -> Result<Self, UpstreamError> {
        let at = |key| move |error| UpstreamError { key, error };
        let transport = Transport::new().map_err(at("upstreams"))?;
        let table = |name| config.upstreams.table(name);
        let lifi = Lifi::new(&transport, lifi(table("lifi")), clock.clone());
        let circle = Circle::new(&transport, circle(table("circle")), clock.clone());
        let polymarket =
            Polymarket::new(&transport, polymarket(table("polymarket")), clock.clone());
        let hyperliquid =
            Hyperliquid::new(&transport, hyperliquid(table("hyperliquid")), clock.clone());
        let rpc = RpcReader::new(&transport, rpc(config), clock.clone());
        Ok(Self(Arc::new(Adapters {
            lifi: lifi.map_err(at("upstreams.lifi"))?,
            circle: circle.map_err(at("upstreams.circle"))?,
            polymarket: polymarket.map_err(at("upstreams.polymarket"))?,
            hyperliquid: hyperliquid.map_err(at("upstreams.hyperliquid"))?,
            rpc: rpc.map_err(at("chains"))?,
        })))
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
    set(&mut config.base_url, table.base_url);
    config
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
        for endpoint in rpc.health() {
            let of = format!("[{}#{}]", endpoint.chain_id, endpoint.position);
            let sources = endpoint.sources.into_iter();
            observed.extend(sources.map(|seen| observe(rpc.mode(), seen, &of)));
        }
        observed
    }
}

fn observe(mode: Mode, seen: SourceHealth, of: &str) -> Observed {
    Observed {
        id: format!("{}{of}", seen.source),
        state: seen.state.as_str(),
        reason: seen.reason,
        mode: mode.as_str(),
        last_ok: seen.last_ok,
        last_error: seen.last_error,
        p50_ms: seen.p50_ms,
        p95_ms: seen.p95_ms,
        calls: seen.calls,
        failures: seen.failures,
    }
}

impl SwapQuotes for Upstreams {
    async fn quote(&self, ask: &SwapAsk) -> Result<SwapQuote, PortError> {
        self.0.lifi.quote(ask).await
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
