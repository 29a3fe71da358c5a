//! The venues and chains of a configuration, from which plans are built.
//!
//! An [`Upstreams`] implements the ports of `plan-builder`. It reads only; it has no key that could
//! sign.

mod configs;
mod health;
mod ports;
mod probe;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use calldata_checks::FeePolicy;
use data_sources::circle::Circle;
use data_sources::defillama::Defillama;
use data_sources::dexscreener::Dexscreener;
use data_sources::fence_status::FenceReader;
use data_sources::hyperliquid::Hyperliquid;
use data_sources::lifi::Lifi;
use data_sources::polymarket::Polymarket;
use data_sources::probe::Board;
use data_sources::rpc::RpcReader;
use data_sources::transport::{Transport, TransportError};
use data_sources::worth::WorthJudge;
use data_sources::{Clock, QuotaStore, Source};
use plan_builder::ports::Simulator as _;
use plan_builder::swap::whitelist;
use thiserror::Error;

use crate::check::online::off_the_whitelist;
use crate::config::Config;
use crate::tools::Pinned;

/// An upstream that cannot be set up.
#[derive(Debug, Error)]
#[error("{key}: {error}")]
pub struct UpstreamError {
    /// The upstream's table in the configuration.
    pub key: &'static str,
    /// The reason why its client cannot be set up.
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
    /// The sources of prices that are independent of the aggregator.
    defillama: Defillama,
    dexscreener: Dexscreener,
    /// The judge of what swaps are worth, by these sources.
    worth: WorthJudge,
    /// The reviewed fee configuration, set once.
    fees: OnceLock<FeePolicy>,
    /// Reviewed legs that the routers refused at the last comparison.
    refused_legs: Mutex<Vec<(String, String)>>,
    /// The results of the last probes.
    probed: Board,
}

/// What the tools read of the sources of prices.
const PRICES: [&str; 2] = ["defillama.coins", "dexscreener.pairs"];
/// The time between two comparisons with the routers' whitelists.
const NEXT_LOOK: Duration = Duration::from_secs(6 * 3600);
/// The time until the next comparison after one in which a node failed.
const NEXT_TRY: Duration = Duration::from_secs(600);

impl Upstreams {
    /// Sets up the upstreams of a configuration. It sends no request.
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
        let source = |name| configs::source(&table(name));
        let lifi = Lifi::new(&transport, source("lifi").into(), clock.clone());
        let circle = Circle::new(&transport, source("circle").into(), clock.clone());
        let polymarket = Polymarket::new(
            &transport,
            configs::polymarket(table("polymarket")),
            clock.clone(),
        );
        let hyperliquid = Hyperliquid::new(
            &transport,
            configs::hyperliquid(table("hyperliquid")),
            clock.clone(),
        );
        let defillama = Defillama::new(&transport, source("defillama"), clock.clone())
            .map_err(at("upstreams.defillama"))?;
        let dexscreener = Dexscreener::new(&transport, source("dexscreener"), clock.clone())
            .map_err(at("upstreams.dexscreener"))?;
        let worth = WorthJudge::new(
            config.worth.rules(),
            defillama.clone(),
            dexscreener.clone(),
            clock.clone(),
        );
        let rpc = RpcReader::new(&transport, configs::rpc(config), clock.clone());
        Ok(Self(Arc::new(Adapters {
            lifi: lifi.map_err(at("upstreams.lifi"))?,
            circle: circle.map_err(at("upstreams.circle"))?,
            polymarket: polymarket.map_err(at("upstreams.polymarket"))?,
            hyperliquid: hyperliquid.map_err(at("upstreams.hyperliquid"))?,
            rpc: rpc.map_err(at("chains"))?,
            defillama,
            dexscreener,
            worth,
            fees: OnceLock::new(),
            refused_legs: Mutex::default(),
            probed: Board::default(),
        })))
    }

    /// The fence that a configuration pins; `None` without `[delegation]`. It sends no request.
    ///
    /// # Errors
    /// An address that cannot be used.
    pub(crate) fn fence(
        config: &Config,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<Pinned>, UpstreamError> {
        let Some(section) = &config.delegation else {
            return Ok(None);
        };
        let key = "delegation.status_url";
        let at = |error| UpstreamError { key, error };
        let agent = config
            .server
            .user_agent("mcp-server", env!("CARGO_PKG_VERSION"));
        let transport = Transport::named(&agent).map_err(at)?;
        let reader =
            FenceReader::new(&transport, &section.status_url, clock.clone()).map_err(at)?;
        Ok(Some(Pinned::new(reader, section)))
    }

    /// Sets the fee configuration whose legs are compared with the routers' own whitelists.
    pub(crate) fn reviewed_by(self, fees: &FeePolicy) -> Self {
        // The composition of the server sets it, once.
        let _ = self.0.fees.set(fees.clone());
        self
    }

    /// Compares the reviewed legs with the routers' whitelists on every chain that has a node.
    /// Returns whether every node answered.
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
        // When a node fails, its last statement remains valid.
        if answered || !refused.is_empty() {
            *known = refused;
        }
        answered
    }
}

impl Upstreams {
    /// Records the use of quotas and long budgets in `store` from now on, and continues from the
    /// values that it holds.
    pub(crate) async fn keep_limits(&self, store: &Arc<dyn QuotaStore>) {
        for source in self.0.limited() {
            if let Err(error) = source.keep_limits(store.clone()).await {
                let upstream = source.spec().name;
                // A call that needs a quota's counter reads it again, and is refused without it.
                tracing::error!(upstream, %error, "cannot read the recorded use of this upstream's limits");
            }
        }
    }
}

impl Adapters {
    /// The upstreams with known limits. Nodes have none.
    fn limited(&self) -> [&Source; 6] {
        let Self {
            lifi,
            circle,
            polymarket,
            hyperliquid,
            rpc: _,
            defillama,
            dexscreener,
            worth: _,
            fees: _,
            refused_legs: _,
            probed: _,
        } = self;
        [
            lifi.source(),
            circle.source(),
            polymarket.source(),
            hyperliquid.source(),
            defillama.source(),
            dexscreener.source(),
        ]
    }
}
