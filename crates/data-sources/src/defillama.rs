//! DefiLlama: value locked, yields and prices. Free, without a key, on four hosts.
//!
//! Peculiarities: yields are in percent. A total counts exchanges and chains as protocols. Lent and
//! staked value is beside the chains under separate keys. `/pools` is over 10 MB of rows, few
//! of which can be shown.

mod chains;
mod chart;
pub(crate) mod coins;
mod pools;
mod protocols;

use std::sync::{Arc, Mutex};

use alloy_primitives::Address;
use readings::defi::{
    history::Point,
    tvl::{ChainTvl, Protocol},
};

pub use self::pools::PoolList;
use self::pools::Tagged;
use crate::{
    budget::{Families, Rate},
    cached::{Ages, Cached},
    provenance::Clock,
    source::{KeyRule, Source, SourceConfig, UpstreamSpec},
    transport::{Limits, Transport, TransportError},
};

const MIB: usize = 1024 * 1024;
/// The largest body of the list of all pools and of the list of all protocols, in bytes.
const MAX_LIST_BYTES: usize = 32 * MIB;
/// How many pools' histories are kept.
const KEPT_CHARTS: usize = 500;

/// DefiLlama. Clones share everything.
#[derive(Clone, Debug)]
pub struct Defillama {
    source: Source,
    protocols: Cached<(), Arc<Vec<Protocol>>>,
    chains: Cached<(), Arc<Vec<ChainTvl>>>,
    charts: Cached<String, Arc<Vec<Point>>>,
    /// Prices, by chain and token.
    coins: Cached<(&'static str, Address), coins::Coin>,
    /// The last list of pools, with the tag that asks whether it has changed.
    last_pools: Arc<Mutex<Option<Tagged>>>,
}

impl Defillama {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &UpstreamSpec {
        name: "defillama",
        urls: &[
            ("base_url", "https://api.llama.fi"),
            ("yields_url", "https://yields.llama.fi"),
            ("coins_url", "https://coins.llama.fi"),
            ("stablecoins_url", "https://stablecoins.llama.fi"),
        ],
        key: KeyRule::Keyless,
        sources: &[
            "defillama.protocols",
            "defillama.chains",
            "defillama.pools",
            "defillama.chart",
            "defillama.coins",
        ],
        families: Families::EachAddress(Rate::per_minute(120)),
        limits: Limits::USUAL.within_seconds(20),
        ..UpstreamSpec::DATA
    };

    /// Builds the adapter. It makes no connection yet.
    ///
    /// # Errors
    ///
    /// A [`TransportError`] when an address cannot be used.
    pub fn new(
        transport: &Transport,
        config: SourceConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        Ok(Self {
            source: Source::new(transport, Self::SPEC, config, clock.clone())?,
            protocols: Cached::new(
                1,
                Ages::seconds(900, 6 * 3600).with_floor(60),
                clock.clone(),
            ),
            chains: Cached::new(
                1,
                Ages::seconds(900, 6 * 3600).with_floor(60),
                clock.clone(),
            ),
            charts: Cached::new(
                KEPT_CHARTS,
                Ages::seconds(1800, 24 * 3600).with_floor(60),
                clock.clone(),
            ),
            coins: Cached::new(2_000, Ages::seconds(30, 300), clock),
            last_pools: Arc::default(),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }
}
