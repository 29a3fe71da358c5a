//! The rows of tokenized assets, and the macro readings that are shown with them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::{AssetClass, Classification, classify};
use crate::{
    Decimal, Figure,
    derivatives::PerpContext,
    macro_data::{MarketState, Reading},
};

/// The decimal places of basis points.
const BPS_PLACES: u32 = 2;

/// Whether the market behind an oracle is open, by the calendar of the asset's class. The oracle
/// itself is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OracleState {
    /// Its market is open.
    Open,
    /// Its market is closed and the oracle does not move. So a perpetual's distance from it is not
    /// a premium.
    MarketClosed,
}

/// A real-world asset as a perpetual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RwaRow {
    /// The coin, with its dex as a prefix.
    pub coin: String,
    /// The dex.
    pub dex: String,
    /// Mark price in dollars.
    pub mark: Figure,
    /// Price of the oracle.
    pub oracle: Figure,
    /// How far the mark is above the oracle. `null` while the market behind the oracle is closed,
    /// and when there is no trading.
    pub premium_bps: Option<Figure>,
    /// The funding for a year without compounding, in percent.
    pub funding_apr_pct: Option<Figure>,
    /// Open interest at the mark price.
    pub oi_usd: Option<Figure>,
    /// The turnover of 24 hours, in dollars.
    pub volume_24h_usd: Option<Figure>,
    /// Change of the mark price in 24 hours.
    pub change_24h_pct: Option<Figure>,
    /// Whether the market behind the oracle is open.
    pub oracle_state: OracleState,
    /// How that state is known. It is always `calendar`: the trading hours and holidays of the
    /// class.
    pub oracle_state_basis: &'static str,
    /// The facts that weaken the mark: `no_volume`, `volume_unknown`, `one_sided_book`.
    pub labels: Vec<&'static str>,
}

/// The rows by class, those with the most open interest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tokenized {
    /// Shares.
    pub equities: Vec<RwaRow>,
    /// Indices of shares.
    pub indices: Vec<RwaRow>,
    /// Metals, energy and crops.
    pub commodities: Vec<RwaRow>,
    /// Currencies.
    pub fx: Vec<RwaRow>,
}

/// A reading that is left out, because it could only be invented.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Omitted {
    /// Its place below `data`.
    pub field: String,
    /// The reason.
    pub reason: String,
}

impl Omitted {
    /// A left-out reading with its reason.
    #[must_use]
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            reason: reason.into(),
        }
    }
}

/// The macro readings without which there is no pulse.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MacroCore {
    /// The yield for ten years.
    pub us10y: Option<Reading>,
    /// The yield for two years.
    pub us2y: Option<Reading>,
    /// The yield for ten years less that for two years, in basis points.
    pub spread_2s10s_bp: Option<Figure>,
    /// The VIX index.
    pub vix: Option<Reading>,
}

impl MacroCore {
    /// Whether two of the three readings are present. These are the yield for ten years, the yield
    /// for two years or the slope, and the VIX.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        let curve = self.us2y.is_some() || self.spread_2s10s_bp.is_some();
        let there = [self.us10y.is_some(), curve, self.vix.is_some()];
        there.into_iter().filter(|there| *there).count() >= 2
    }
}

impl Tokenized {
    /// The rows of a class.
    pub fn of(&mut self, class: AssetClass) -> &mut Vec<RwaRow> {
        match class {
            AssetClass::Equities => &mut self.equities,
            AssetClass::Indices => &mut self.indices,
            AssetClass::Commodities => &mut self.commodities,
            AssetClass::Fx => &mut self.fx,
        }
    }

    /// Every class with its rows.
    pub fn classes(&self) -> [(AssetClass, &[RwaRow]); 4] {
        [
            (AssetClass::Equities, &self.equities),
            (AssetClass::Indices, &self.indices),
            (AssetClass::Commodities, &self.commodities),
            (AssetClass::Fx, &self.fx),
        ]
    }
}

/// Returns the real-world assets among `markets` at `now`, and everything that is left out.
/// Delisted markets and crypto assets are not included.
#[must_use]
pub fn tokenized(
    markets: &[PerpContext],
    categories: &[(String, String)],
    now: Timestamp,
) -> (Tokenized, Vec<Omitted>) {
    let mut rows = Tokenized::default();
    let mut omitted = Vec::new();
    let mut unknown: BTreeMap<&str, usize> = BTreeMap::new();
    for market in markets.iter().filter(|market| !market.delisted) {
        let class = match classify(&market.coin, categories) {
            Classification::Asset(class) => class,
            Classification::Crypto => continue,
            Classification::Private => {
                omitted.push(Omitted::new(
                    format!("tokenized.{}", market.coin),
                    "no_public_market",
                ));
                continue;
            }
            Classification::Unknown => {
                let count = unknown.entry(&market.dex).or_default();
                *count = count.saturating_add(1);
                continue;
            }
        };
        match row(market, class, now) {
            Some(row) => rows.of(class).push(row),
            None => {
                let field = format!("tokenized.{}.{}", class.as_str(), market.coin);
                omitted.push(Omitted::new(field, "no_mark_or_oracle"));
            }
        }
    }
    for (dex, count) in unknown {
        omitted.push(Omitted::new(
            format!("tokenized.{dex}"),
            format!("{count}_not_classified"),
        ));
    }
    for class in [
        AssetClass::Equities,
        AssetClass::Indices,
        AssetClass::Commodities,
        AssetClass::Fx,
    ] {
        let of = rows.of(class);
        of.sort_by(|one, other| {
            other
                .oi_usd
                .cmp(&one.oi_usd)
                .then_with(|| one.coin.cmp(&other.coin))
        });
        if of
            .iter()
            .any(|row| row.oracle_state == OracleState::MarketClosed)
        {
            let field = format!("tokenized.{}[].premium_bps", class.as_str());
            omitted.push(Omitted::new(field, "market_closed"));
        }
    }
    (rows, omitted)
}

/// Makes a row. `None` without a mark and an oracle, because then there is no price to state.
fn row(market: &PerpContext, class: AssetClass, now: Timestamp) -> Option<RwaRow> {
    let (mark, oracle) = (market.mark?, market.oracle?);
    let oracle_state = match class.market().state(now) {
        MarketState::Open => OracleState::Open,
        MarketState::Closed => OracleState::MarketClosed,
    };
    let mut labels = Vec::new();
    if market.volume_24h.is_some_and(|volume| volume.is_zero()) {
        labels.push("no_volume");
    }
    if market.volume_24h.is_none() {
        labels.push("volume_unknown");
    }
    if market.mid.is_none() {
        labels.push("one_sided_book");
    }
    let traded = market.volume_24h.is_some_and(|volume| !volume.is_zero());
    let premium_bps = (oracle_state == OracleState::Open && traded)
        .then(|| premium_bps(mark, oracle))
        .flatten();
    Some(RwaRow {
        coin: market.coin.clone(),
        dex: market.dex.clone(),
        mark: Figure(mark),
        oracle: Figure(oracle),
        premium_bps,
        funding_apr_pct: market.hourly_funding("").map(|funding| funding.apr_pct),
        oi_usd: market.interest().and_then(|interest| interest.usd),
        volume_24h_usd: market.volume_24h.map(Figure),
        change_24h_pct: market.change_24h_pct().map(Figure),
        oracle_state,
        oracle_state_basis: "calendar",
        labels,
    })
}

fn premium_bps(mark: Decimal, oracle: Decimal) -> Option<Figure> {
    let premium = mark.checked_sub(oracle)?.checked_div(oracle)?;
    let bps = premium.checked_mul(Decimal::from(10_000))?;
    Some(Figure(bps.round_dp(BPS_PLACES)))
}

#[cfg(test)]
mod tests;
