//! Hyperliquid, the venue of the perpetuals rail: `POST /info`.
//!
//! Universes and dexes are kept for a short while, because the venue allows one address few
//! requests. The mark price is read for every plan, together with the universe that its index
//! belongs to.

pub(crate) mod info;
mod universe;
pub(crate) mod wire;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use alloy_primitives::Address;
use calldata_checks::perp_order::Collateral;
use plan_builder::ports::{PerpAsset, PerpVenue, PortError, PortErrorReason};
use serde_json::{Value, json};

pub use self::info::DEFAULT_BASE_URL;
use self::{
    info::USUAL,
    universe::{Dexes, Tokens, Universe},
};
use crate::{
    cached::{Ages, Cached},
    error::SourceErrorKind,
    json::Json,
    provenance::{Clock, Sourced},
    rail::{Fault, VenueConfig},
    source::{Conduct, Source, SourceConfig, UpstreamSpec},
    text::clean,
    transport::{Limits, Reply, Transport, TransportError},
};

/// Ids of the sources that this adapter provides, as they appear in `/status`.
pub const SOURCES: [&str; 5] = [META, DEXES, CONTEXTS, BUILDER_FEE, TOKENS];

const META: &str = "hyperliquid.meta";
const DEXES: &str = "hyperliquid.perp-dexs";
const CONTEXTS: &str = "hyperliquid.meta-and-asset-ctxs";
const BUILDER_FEE: &str = "hyperliquid.max-builder-fee";
const TOKENS: &str = "hyperliquid.spot-meta";

/// Longest name of a coin. A longer name is not asked for.
const MAX_COIN_CHARS: usize = 32;
/// Assets of one dex; the ids of the next dex follow.
const DEX_SIZE: u32 = 10_000;
/// First asset id of the dexes of other deployers.
const DEPLOYED: u32 = 100_000;
/// First id above those of perpetuals.
const BEYOND_PERPETUALS: u32 = 100_000_000;
/// An upper bound of the number of dexes.
const MAX_DEXES: usize = 512;
/// How long a failure to read a universe is kept.
const FAILURE_KEPT: Duration = Duration::from_secs(1);

/// How Hyperliquid is reached. Reading takes no key.
#[derive(Clone, Debug)]
pub struct HyperliquidConfig {
    /// Its base URL; a path is a prefix of every request.
    pub base_url: String,
    /// How long the kept list of dexes and a kept universe decide whether a coin exists.
    pub universe_ttl: Duration,
    /// Settings that every venue has.
    pub common: VenueConfig,
}

impl Default for HyperliquidConfig {
    fn default() -> Self {
        Self {
            base_url: DEFAULT_BASE_URL.to_owned(),
            universe_ttl: Duration::from_secs(60),
            common: VenueConfig::default(),
        }
    }
}

/// Hyperliquid as a [`PerpVenue`]. Clones share everything.
#[derive(Clone, Debug)]
pub struct Hyperliquid {
    source: Source,
    dexes: Cached<(), Arc<Dexes>, PortErrorReason>,
    /// Universes by dex; only those of dexes in the list.
    universes: Cached<String, Arc<Universe>, PortErrorReason>,
    tokens: Cached<(), Arc<Tokens>, PortErrorReason>,
}

impl Hyperliquid {
    /// The addresses, limits and quotas of the upstream.
    pub const SPEC: &'static UpstreamSpec = &info::spec(&SOURCES, Limits::USUAL, Conduct::PLANS);

    /// Builds the adapter. It makes no connection yet.
    ///
    /// # Errors
    ///
    /// [`TransportError::BaseUrl`] when the base URL cannot be used.
    pub fn new(
        transport: &Transport,
        config: HyperliquidConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let said = SourceConfig {
            urls: BTreeMap::from([("base_url".to_owned(), config.base_url)]),
            ..config.common.source()
        };
        // A universe whose age is exactly the time to live is read again.
        let young = config.universe_ttl.saturating_sub(Duration::from_nanos(1));
        let ages = Ages {
            failure: FAILURE_KEPT,
            ..Ages::floor(young)
        };
        Ok(Self {
            source: Source::limited(
                transport,
                Self::SPEC,
                said,
                config.common.limits,
                clock.clone(),
            )?,
            dexes: Cached::new(1, ages, clock.clone()),
            universes: Cached::new(MAX_DEXES, ages, clock.clone()),
            tokens: Cached::new(1, ages, clock),
        })
    }

    /// The upstream that this adapter asks.
    pub fn source(&self) -> &Source {
        &self.source
    }

    async fn ask<T>(
        &self,
        source: &'static str,
        request: Value,
        read: impl FnOnce(&Json<'_>) -> Result<T, Fault> + Send,
    ) -> Result<Sourced<T>, PortErrorReason> {
        let body = request.to_string();
        let ask = info::ask(&self.source, source, &body, USUAL).accepts_any();
        self.source
            .ask(ask, |reply| {
                refused(reply).map_or(Ok(()), Err)?;
                read(&Json::document(&reply.body)?)
            })
            .await
    }

    /// Index of a dex; the first one has no name.
    async fn dex_index(&self, dex: &str) -> Result<u32, PortError> {
        if dex.is_empty() {
            return Ok(0);
        }
        let this = self.clone();
        let fetch = || async move {
            let request = json!({"type": "perpDexs"});
            this.ask(DEXES, request, |body| Ok(Arc::new(universe::dexes(body)?)))
                .await
        };
        let dexes = self.dexes.get((), None, fetch).await;
        let dexes = dexes.map_err(|reason| self.source.port_error(reason))?;
        dexes
            .value
            .index_of(dex)
            .ok_or_else(|| self.unknown_dex(dex))
    }

    /// The universe of an existing dex, at most as old as configured.
    async fn universe(&self, dex: &str) -> Result<Arc<Universe>, PortError> {
        let (this, of) = (self.clone(), dex.to_owned());
        let fetch = || async move {
            this.ask(META, of_dex("meta", &of), |body| {
                Ok(Arc::new(Universe::read(&body.object()?)?))
            })
            .await
        };
        let universe = self.universes.get(dex.to_owned(), None, fetch).await;
        let universe = universe.map_err(|reason| self.source.port_error(reason))?;
        Ok(universe.value)
    }

    /// The name of the token in which a dex settles.
    async fn collateral(&self, token: u32) -> Result<String, PortError> {
        // The venue's first token, whose name never changes.
        if token == 0 {
            return Ok(Collateral::USDC.to_owned());
        }
        let this = self.clone();
        let fetch = || async move {
            let request = json!({"type": "spotMeta"});
            this.ask(TOKENS, request, |body| {
                Ok(Arc::new(universe::tokens(body)?))
            })
            .await
        };
        let tokens = self.tokens.get((), None, fetch).await;
        let tokens = tokens.map_err(|reason| self.source.port_error(reason))?;
        tokens
            .value
            .name_of(token)
            .map(str::to_owned)
            .ok_or_else(|| {
                let observed = format!("no token {token}");
                self.malformed(TOKENS, "$.tokens", "the collateral of the dex", observed)
            })
    }

    /// Refuses an answer that contradicts another one.
    fn malformed(
        &self,
        source: &'static str,
        path: &str,
        expected: &'static str,
        observed: String,
    ) -> PortError {
        let kind = SourceErrorKind::Malformed {
            path: path.to_owned(),
            expected,
            observed,
        };
        self.source
            .port_error(self.source.reject_response(source, kind))
    }

    fn unknown_dex(&self, dex: &str) -> PortError {
        self.source.port_error(PortErrorReason::Unknown {
            subject: format!("dex {}", clean(dex, MAX_COIN_CHARS)),
        })
    }

    fn unknown_coin(&self, coin: &str) -> PortError {
        self.source.port_error(PortErrorReason::Unknown {
            subject: format!("coin {}", clean(coin, MAX_COIN_CHARS)),
        })
    }
}

impl PerpVenue for Hyperliquid {
    async fn asset(&self, coin: &str) -> Result<PerpAsset, PortError> {
        let plausible = coin.len() <= MAX_COIN_CHARS
            && !coin.is_empty()
            && coin.bytes().all(|byte| byte.is_ascii_graphic());
        if !plausible {
            return Err(self.unknown_coin(coin));
        }
        let dex = coin.split_once(':').map_or("", |(dex, _)| dex);
        if coin.starts_with(':') {
            return Err(self.unknown_coin(coin));
        }
        let dex_index = self.dex_index(dex).await?;
        // An unknown coin costs the venue nothing while the kept universe is young.
        if self.universe(dex).await?.find(coin).is_none() {
            return Err(self.unknown_coin(coin));
        }
        let read_at = self.source.now_utc();
        let told = self
            .ask(CONTEXTS, of_dex("metaAndAssetCtxs", dex), |body| {
                Ok(universe::with_marks(body)?)
            })
            .await;
        let told = told.map_err(|reason| self.source.port_error(reason))?;
        let (universe, marks) = told.value;
        // An earlier universe had the coin. An answer without it, or an index without an id, is the
        // venue's contradiction.
        let contradicts =
            |expected, observed| self.malformed(CONTEXTS, "$[0].universe", expected, observed);
        let (index, entry) = universe
            .find(coin)
            .ok_or_else(|| contradicts("the coin that meta lists", "others".to_owned()))?;
        let asset_id = asset_id(dex_index, index).ok_or_else(|| {
            let observed = format!("asset {index} of dex {dex_index}");
            contradicts("a position that has an asset id", observed)
        })?;
        let collateral = self.collateral(universe.collateral).await?;
        Ok(PerpAsset {
            coin: entry.name.clone(),
            dex: dex.to_owned(),
            dex_index,
            universe_index: index,
            asset_id,
            size_decimals: entry.size_decimals,
            max_leverage: entry.max_leverage,
            delisted: entry.delisted,
            collateral_token: universe.collateral,
            collateral,
            mark_price: usize::try_from(index)
                .ok()
                .and_then(|at| marks.get(at).copied().flatten()),
            read_at,
        })
    }

    async fn max_builder_fee(&self, user: Address, builder: Address) -> Result<u64, PortError> {
        let request = json!({
            "type": "maxBuilderFee",
            "user": format!("{user:#x}"),
            "builder": format!("{builder:#x}"),
        });
        let told = self
            .ask(BUILDER_FEE, request, |body| Ok(body.integer()?))
            .await;
        told.map(|told| told.value)
            .map_err(|reason| self.source.port_error(reason))
    }
}

/// A request about a dex. The first dex is the default and is not named.
fn of_dex(kind: &str, dex: &str) -> Value {
    if dex.is_empty() {
        return json!({"type": kind});
    }
    json!({"type": kind, "dex": dex})
}

/// The id on the wire, when it is the id of a perpetual.
fn asset_id(dex_index: u32, universe_index: u32) -> Option<u32> {
    if universe_index >= DEX_SIZE {
        return None;
    }
    if dex_index == 0 {
        return Some(universe_index);
    }
    let first = DEPLOYED.checked_add(dex_index.checked_mul(DEX_SIZE)?)?;
    first
        .checked_add(universe_index)
        .filter(|id| *id < BEYOND_PERPETUALS)
}

/// The meaning of a status other than 2xx for the request or the venue.
fn refused(reply: &Reply) -> Option<Fault> {
    let kind = reply.failure()?;
    Some(match reply.status.as_u16() {
        400 | 422 => Fault::Answer(PortErrorReason::Refused {
            detail: kind.to_string(),
        }),
        _ => Fault::Upstream(kind),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asset_ids_stay_within_the_perpetuals() {
        assert_eq!(asset_id(0, 0), Some(0));
        assert_eq!(asset_id(0, 9_999), Some(9_999));
        // The next id would be the id of a spot asset.
        assert_eq!(asset_id(0, 10_000), None);
        assert_eq!(asset_id(1, 0), Some(110_000));
        assert_eq!(asset_id(2, 7), Some(120_007));
        assert_eq!(asset_id(1, 10_000), None);
        assert_eq!(asset_id(9_989, 9_999), Some(99_999_999));
        assert_eq!(asset_id(9_990, 0), None);
        assert_eq!(asset_id(u32::MAX, 0), None);
    }
}
