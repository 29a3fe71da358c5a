//! Hyperliquid, the venue of the perpetuals rail: `POST /info`.
//!
//! Universes and dexes are kept for a short while, because one address may ask little; the mark price
//! is read for every plan, together with the universe that its position belongs to.

mod universe;

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use alloy_primitives::Address;
use plan_builder::ports::{PerpAsset, PerpVenue, PortError, PortErrorReason};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use self::universe::{Dexes, Universe};
use crate::{
    adapter::{Adapter, Fault, Setting, USUAL_HOLD},
    budget::{BudgetState, Rate},
    json::Json,
    kept::Kept,
    provenance::{Clock, Mode},
    text::clean,
    transport::{Call, Limits, Reply, SourceHealth, Transport, TransportError},
};

/// Hyperliquid's public host.
pub const DEFAULT_BASE_URL: &str = "https://api.hyperliquid.xyz";

/// Ids of the sources this adapter provides, as they appear in `/status`.
pub const SOURCES: [&str; 4] = [META, DEXES, CONTEXTS, BUILDER_FEE];

const NAME: &str = "hyperliquid";
const META: &str = "hyperliquid.meta";
const DEXES: &str = "hyperliquid.perp-dexs";
const CONTEXTS: &str = "hyperliquid.meta-and-asset-ctxs";
const BUILDER_FEE: &str = "hyperliquid.max-builder-fee";

/// Weight in a minute of one address, of which the venue allows 1,200.
pub(crate) const RATE: Rate = Rate::per_minute(1_100);
/// Weight of every request that is made here.
const WEIGHT: u32 = 20;

/// Longest name of a coin; what is longer is not asked for.
const MAX_COIN_CHARS: usize = 32;
/// Assets of one dex; the ids of the next one follow.
const DEX_SIZE: u32 = 10_000;
/// First asset id of the dexes that others deployed.
const DEPLOYED: u32 = 100_000;
/// First id that is not a perpetual's any more.
const BEYOND_PERPETUALS: u32 = 100_000_000;

/// How Hyperliquid is reached; reading takes no key.
#[derive(Clone, Debug)]
pub struct HyperliquidConfig {
    /// Where it is; a path is a prefix of every request.
    pub base_url: String,
    /// Whether it may be asked at all.
    pub enabled: bool,
    /// Whether `base_url` is the upstream or a recording of it.
    pub mode: Mode,
    /// Time, size and tries of a call. A rate limit is never waited for.
    pub limits: Limits,
    /// How long the list of dexes and a universe decide whether a coin is known at all.
    pub universe_ttl: Duration,
    /// How many servers ask from the same address: each takes its share of the budget.
    pub servers: NonZeroU32,
}

impl Default for HyperliquidConfig {
    fn default() -> Self {
        Self {
            base_url: DEFAULT_BASE_URL.to_owned(),
            enabled: true,
            mode: Mode::Live,
            limits: Limits::default(),
            universe_ttl: Duration::from_secs(60),
            servers: NonZeroU32::MIN,
        }
    }
}

/// Hyperliquid as a [`PerpVenue`].
#[derive(Debug)]
pub struct Hyperliquid {
    adapter: Adapter,
    universe_ttl: Duration,
    dexes: Kept<Dexes>,
    /// By dex; only those that the list of dexes names.
    universes: Mutex<BTreeMap<String, Arc<Kept<Universe>>>>,
}

impl Hyperliquid {
    /// Connects nothing yet: reads the configuration and keeps the client.
    ///
    /// # Errors
    ///
    /// [`TransportError::BaseUrl`] when the base URL cannot be used.
    pub fn new(
        transport: &Transport,
        config: HyperliquidConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, TransportError> {
        let setting = Setting {
            name: NAME,
            enabled: config.enabled,
            budget: Some((RATE, config.servers)),
            lockout: Duration::ZERO,
            usual_hold: USUAL_HOLD,
            clock,
        };
        let upstream = transport.upstream(&config.base_url, config.limits, config.mode)?;
        Ok(Self {
            adapter: Adapter::new(upstream, NAME, setting),
            universe_ttl: config.universe_ttl,
            dexes: Kept::default(),
            universes: Mutex::default(),
        })
    }

    /// Whether calls are made to the upstream or to a recording.
    pub fn mode(&self) -> Mode {
        self.adapter.mode()
    }

    /// How each of [`SOURCES`] has been doing.
    pub fn health(&self) -> Vec<SourceHealth> {
        self.adapter.health(&SOURCES)
    }

    /// What is left of what we may ask it: weight in a minute; a call weighs 20, and a plan takes up to four. Nothing for a recording.
    pub fn budget(&self) -> Vec<BudgetState> {
        self.adapter.budget().into_iter().collect()
    }

    async fn ask<T>(
        &self,
        source: &'static str,
        request: Value,
        read: impl FnOnce(&Json<'_>) -> Result<T, Fault>,
    ) -> Result<T, PortError> {
        let body = request.to_string();
        let call = Call::post(source, "/info", &body).weighing(WEIGHT);
        self.adapter
            .ask(&call, &HeaderMap::new(), |reply| {
                refused(reply).map_or(Ok(()), Err)?;
                read(&Json::document(&reply.body)?)
            })
            .await
    }

    /// Position of a dex; the first one has no name.
    async fn dex_index(&self, dex: &str) -> Result<u32, PortError> {
        if dex.is_empty() {
            return Ok(0);
        }
        let fetch = || {
            self.ask(DEXES, json!({"type": "perpDexs"}), |body| {
                Ok(universe::dexes(body)?)
            })
        };
        let dexes = self
            .dexes
            .get(self.universe_ttl, || self.adapter.now(), fetch)
            .await?;
        dexes.index_of(dex).ok_or_else(|| self.unknown_dex(dex))
    }

    /// The universe of a dex that exists, at most as old as configured.
    async fn universe(&self, dex: &str) -> Result<Arc<Universe>, PortError> {
        let kept = {
            let mut universes = self
                .universes
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            universes.entry(dex.to_owned()).or_default().clone()
        };
        let fetch = || {
            self.ask(META, of_dex("meta", dex), |body| {
                known(body, dex)?;
                Ok(Universe::read(body)?)
            })
        };
        kept.get(self.universe_ttl, || self.adapter.now(), fetch)
            .await
    }

    fn unknown_dex(&self, dex: &str) -> PortError {
        self.adapter.error(no_dex(dex))
    }

    fn unknown_coin(&self, coin: &str) -> PortError {
        self.adapter.error(PortErrorReason::Unknown {
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
        // A coin that nobody has heard of within the last minute costs the venue nothing.
        if self.universe(dex).await?.find(coin).is_none() {
            return Err(self.unknown_coin(coin));
        }
        let read_at = self.adapter.now_utc();
        let (universe, marks) = self
            .ask(CONTEXTS, of_dex("metaAndAssetCtxs", dex), |body| {
                known(body, dex)?;
                Ok(universe::with_marks(body)?)
            })
            .await?;
        let (index, entry) = universe.find(coin).ok_or_else(|| self.unknown_coin(coin))?;
        let asset_id = asset_id(dex_index, index).ok_or_else(|| self.unknown_coin(coin))?;
        Ok(PerpAsset {
            coin: entry.name.clone(),
            dex: dex.to_owned(),
            dex_index,
            universe_index: index,
            asset_id,
            size_decimals: entry.size_decimals,
            max_leverage: entry.max_leverage,
            delisted: entry.delisted,
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
        self.ask(BUILDER_FEE, request, |body| Ok(body.integer()?))
            .await
    }
}

/// A request about a dex; the first one goes without saying.
fn of_dex(kind: &str, dex: &str) -> Value {
    if dex.is_empty() {
        return json!({"type": kind});
    }
    json!({"type": kind, "dex": dex})
}

/// An unknown dex is answered with `null` and status 200.
fn known(body: &Json<'_>, dex: &str) -> Result<(), Fault> {
    if body.is_null() {
        return Err(Fault::Answer(no_dex(dex)));
    }
    Ok(())
}

fn no_dex(dex: &str) -> PortErrorReason {
    let subject = if dex.is_empty() {
        "first dex".to_owned()
    } else {
        format!("dex {}", clean(dex, MAX_COIN_CHARS))
    };
    PortErrorReason::Unknown { subject }
}

/// The id on the wire, when it is a perpetual's.
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

/// What a status other than 2xx says about the request or about the venue.
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
        // The next one would be a spot asset's.
        assert_eq!(asset_id(0, 10_000), None);
        assert_eq!(asset_id(1, 0), Some(110_000));
        assert_eq!(asset_id(2, 7), Some(120_007));
        assert_eq!(asset_id(1, 10_000), None);
        assert_eq!(asset_id(9_989, 9_999), Some(99_999_999));
        assert_eq!(asset_id(9_990, 0), None);
        assert_eq!(asset_id(u32::MAX, 0), None);
    }
}
