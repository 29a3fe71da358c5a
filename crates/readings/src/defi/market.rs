//! Yields that can be shown. It brings all sources into one form, and filters, merges, sorts and
//! pages them.

mod page;

use std::cmp::Reverse;

use rust_decimal::Decimal;
use serde::Serialize;

pub use self::page::{Cursor, CursorError, Page, Sort, page};
use super::{
    assets, cut, folded,
    grade::{Facts, Grade, grade},
    pool::{MAX_APY_PCT, MIN_TVL_USD, Pool},
};
use crate::{Extent, Figure, symbol::SymbolKey};

/// The most rows of a ranking.
const MAX_RANKED: usize = 25;
/// The digits after the point of a percentage.
const PCT_DIGITS: u32 = 4;
/// Two sources disagree when their yields differ by more than this share of the higher one.
const DISAGREEMENT_PCT: i64 = 25;

/// A yield that can be shown: a row of `pools` and `markets`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Market {
    /// Its id. It is DefiLlama's, or one of ours for a market that DefiLlama does not list.
    pub pool: String,
    /// Its chain's name.
    pub chain: String,
    /// Its chain's EIP-155 id, if the chain is supported.
    pub chain_id: Option<u64>,
    /// The protocol.
    pub project: String,
    /// Its assets.
    pub symbol: String,
    /// The yield that counts, in percent a year. It includes a reward only when the token of the
    /// reward can be sold.
    pub apy_pct: Figure,
    /// The base yield by the source. `None` when the source states only one yield.
    pub apy_base_pct: Option<Figure>,
    /// The reward yield by the source, whether it counts or not. [`Self::reward_known`] says
    /// whether `None` means no reward or an unknown one.
    pub apy_reward_pct: Option<Figure>,
    /// The value locked in it, in dollars.
    pub tvl_usd: Figure,
    /// `yes` or `no`. `None` when the source does not state it.
    pub il_risk: Option<&'static str>,
    /// Whether all of its assets are stablecoins.
    pub stablecoin: Option<bool>,
    /// The grade of risk.
    pub risk_grade: Grade,
    /// The reasons of the grade.
    pub why: Vec<String>,
    /// The source of the row.
    pub source: &'static str,
    /// The yields that other sources state for the same market.
    pub also_reported: Vec<Other>,
    /// Addresses of its assets.
    #[serde(skip)]
    pub underlying: Vec<String>,
    /// Whether it holds one asset.
    #[serde(skip)]
    pub single_asset: Option<bool>,
    /// Whether the source separates rewards from the base yield. If it does, a missing reward means
    /// that there is none.
    #[serde(skip)]
    pub reward_known: bool,
}

/// The yield that another source states for a market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Other {
    /// The source.
    pub source: &'static str,
    /// Its id at that source.
    pub pool: String,
    /// Its yield at that source, in percent a year.
    pub apy_pct: Figure,
}

/// A yield from another source than DefiLlama: one asset, without a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Our own id: letters, digits, `-`, `_` and `.`.
    pub pool: String,
    /// The chain.
    pub chain_id: u64,
    /// The chain's name.
    pub chain: String,
    /// The protocol.
    pub project: String,
    /// The asset.
    pub symbol: String,
    /// The asset's address.
    pub underlying: Option<String>,
    /// The yield, in percent a year.
    pub apy_pct: Decimal,
    /// Whether the yield is only the base, without rewards. Otherwise it may include rewards.
    pub is_base: bool,
    /// The value locked in it, in dollars. For a lending market, the part that is not lent out.
    pub tvl_usd: Decimal,
    /// Whether it loses value when the prices of its assets diverge. `None` when the source does
    /// not state it and nothing excludes it.
    pub il_risk: Option<bool>,
    /// The source.
    pub source: &'static str,
}

/// A caller's filter. `None` accepts everything.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The chain.
    pub chain_id: Option<u64>,
    /// One of the assets.
    pub asset: Option<SymbolKey>,
    /// The slug or the name of the protocol.
    pub protocol: Option<String>,
    /// `true` for only stablecoin markets, `false` for only the others.
    pub stable: Option<bool>,
    /// The least value locked, in dollars.
    pub min_tvl: Option<Decimal>,
}

impl Market {
    /// Makes the row of a pool. `None` when [`Pool::admit`] excludes it.
    #[must_use]
    pub fn of_pool(pool: &Pool, source: &'static str) -> Option<Self> {
        let counted = pool.admit().ok()?;
        let (risk_grade, why) = grade(&Facts {
            project: &pool.project,
            tvl_usd: pool.tvl_usd.0,
            apy_pct: counted.apy_pct,
            reward_pct: Some(counted.reward_pct),
            left_out: counted.left_out,
            il_risk: pool.il_risk,
            days: pool.days,
            mean_30d_pct: pool.mean_30d_pct.map(|mean| mean.0),
        });
        Some(Self {
            pool: pool.id.clone(),
            chain: pool.chain.clone(),
            chain_id: pool.chain_id,
            project: pool.project.clone(),
            symbol: pool.symbol.clone(),
            apy_pct: cut(counted.apy_pct, PCT_DIGITS),
            apy_base_pct: pool.apy_base_pct,
            apy_reward_pct: pool.apy_reward_pct,
            tvl_usd: pool.tvl_usd,
            il_risk: yes_or_no(pool.il_risk),
            stablecoin: pool.stablecoin,
            risk_grade,
            why: why.iter().map(|rule| rule.says.to_owned()).collect(),
            source,
            also_reported: Vec::new(),
            underlying: pool.underlying.clone(),
            single_asset: pool.single_asset,
            reward_known: true,
        })
    }

    /// Makes the row of another source's yield. `None` when it is excluded.
    #[must_use]
    pub fn of_quoted(quoted: &Quoted) -> Option<Self> {
        let shown = quoted.tvl_usd >= Decimal::from(MIN_TVL_USD)
            && quoted.apy_pct > Decimal::ZERO
            && quoted.apy_pct <= Decimal::from(MAX_APY_PCT);
        if !shown {
            return None;
        }
        let (risk_grade, why) = grade(&Facts {
            project: &quoted.project,
            tvl_usd: quoted.tvl_usd,
            apy_pct: quoted.apy_pct,
            reward_pct: None,
            left_out: false,
            il_risk: quoted.il_risk,
            days: None,
            mean_30d_pct: None,
        });
        let asset = quoted
            .underlying
            .as_deref()
            .and_then(|address| assets::find(quoted.chain_id, address));
        let apy_pct = cut(quoted.apy_pct, PCT_DIGITS);
        Some(Self {
            pool: quoted.pool.clone(),
            chain: quoted.chain.clone(),
            chain_id: Some(quoted.chain_id),
            project: quoted.project.clone(),
            symbol: quoted.symbol.clone(),
            apy_pct,
            apy_base_pct: quoted.is_base.then_some(apy_pct),
            apy_reward_pct: None,
            tvl_usd: cut(quoted.tvl_usd, 2),
            il_risk: yes_or_no(quoted.il_risk),
            stablecoin: asset.map(|asset| asset.class == assets::Class::Stable),
            risk_grade,
            why: why.iter().map(|rule| rule.says.to_owned()).collect(),
            source: quoted.source,
            also_reported: Vec::new(),
            underlying: quoted.underlying.iter().cloned().collect(),
            single_asset: Some(true),
            reward_known: false,
        })
    }

    /// Whether it is known to have no impermanent loss.
    #[must_use]
    pub fn without_impermanent_loss(&self) -> bool {
        self.il_risk == Some("no")
    }

    /// Whether one of its assets is `asset`.
    #[must_use]
    pub fn holds(&self, asset: &SymbolKey) -> bool {
        self.components().any(|component| component == *asset) || asset.names(&self.symbol)
    }

    /// Whether its protocol is called `name`.
    #[must_use]
    pub fn is_of(&self, name: &str) -> bool {
        let name = folded(name);
        !name.is_empty() && folded(&self.project) == name
    }

    fn components(&self) -> impl Iterator<Item = SymbolKey> + '_ {
        self.symbol
            .split(['-', '/', '+', ' ', ','])
            .filter_map(SymbolKey::new)
    }

    /// Whether `other` describes the same market.
    fn is(&self, other: &Self) -> bool {
        let symbols = |market: &Self| {
            let mut keys: Vec<_> = market.components().collect();
            keys.sort_unstable();
            keys
        };
        let same_asset = match (self.underlying.as_slice(), other.underlying.as_slice()) {
            ([one], [another]) => one.eq_ignore_ascii_case(another),
            _ => symbols(self) == symbols(other),
        };
        self.chain_id.is_some()
            && self.chain_id == other.chain_id
            && folded(&self.project) == folded(&other.project)
            && self.single_asset == Some(true)
            && other.single_asset == Some(true)
            && same_asset
    }

    /// Whether another source states a yield for the market that agrees with this one.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.also_reported
            .iter()
            .any(|other| other.source != self.source && !self.differs_from(other.apy_pct.0))
    }

    /// Whether a yield differs much from both the base and the yield that counts. Other sources
    /// state one of the two.
    fn differs_from(&self, apy_pct: Decimal) -> bool {
        let ours = [Some(self.apy_pct), self.apy_base_pct];
        ours.iter().flatten().all(|ours| far_apart(ours.0, apy_pct))
    }
}

impl Filter {
    /// Whether `market` passes the filter.
    #[must_use]
    pub fn wants(&self, market: &Market) -> bool {
        self.chain_id.is_none_or(|id| market.chain_id == Some(id))
            && self.asset.as_ref().is_none_or(|asset| market.holds(asset))
            && self.protocol.as_ref().is_none_or(|name| market.is_of(name))
            && self
                .stable
                .is_none_or(|stable| market.stablecoin == Some(stable))
            && self.min_tvl.is_none_or(|least| market.tvl_usd.0 >= least)
    }
}

/// Makes the rows of all pools that can be shown. Each id occurs once.
#[must_use]
pub fn shown(pools: &[Pool], source: &'static str) -> Vec<Market> {
    let mut seen = std::collections::BTreeSet::new();
    pools
        .iter()
        .filter(|pool| seen.insert(pool.id.as_str()))
        .filter_map(|pool| Market::of_pool(pool, source))
        .collect()
}

/// Adds the markets of another source to `markets`. A known market gets a note, and a new one is
/// added. A note that disagrees becomes a reason in `why`.
#[must_use]
pub fn merged(mut markets: Vec<Market>, others: Vec<Market>) -> Vec<Market> {
    for other in others {
        let Some(known) = markets.iter_mut().find(|market| market.is(&other)) else {
            markets.push(other);
            continue;
        };
        if known.differs_from(other.apy_pct.0) {
            known
                .why
                .push(format!("{} states {} %", other.source, other.apy_pct));
        }
        known.also_reported.push(Other {
            source: other.source,
            pool: other.pool,
            apy_pct: other.apy_pct,
        });
    }
    markets
}

/// Returns the best markets first. The order is by the yield times the weight of the grade, so that
/// a risky yield must be much higher than a safe one. At most 25 rows.
#[must_use]
pub fn ranked(markets: &[Market], extent: Extent) -> Vec<Market> {
    let mut sorted: Vec<_> = markets.iter().collect();
    sorted.sort_by_key(|market| (Reverse(weighted(market)), market.pool.as_str()));
    let most = extent.most(MAX_RANKED);
    sorted.into_iter().take(most).cloned().collect()
}

fn yes_or_no(risk: Option<bool>) -> Option<&'static str> {
    risk.map(|risk| if risk { "yes" } else { "no" })
}

fn far_apart(one: Decimal, other: Decimal) -> bool {
    let (higher, lower) = (one.max(other), one.min(other));
    let apart = higher.checked_sub(lower);
    apart
        .and_then(|apart| crate::share_pct(apart, higher))
        .is_some_and(|share| share > Decimal::from(DISAGREEMENT_PCT))
}

pub(super) fn weighted(market: &Market) -> Decimal {
    let weight = Decimal::from(market.risk_grade.weight_pct());
    market.apy_pct.0.checked_mul(weight).unwrap_or(Decimal::MAX)
}

#[cfg(test)]
pub(super) mod tests;
