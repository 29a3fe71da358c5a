//! Finds the markets in which an amount would earn most, after gas and within a risk.

use std::{cmp::Reverse, collections::BTreeMap};

use rust_decimal::Decimal;
use serde::Serialize;

use super::{
    cut, folded,
    gas::GasPrice,
    grade::{Appetite, Grade},
    idle::{Earner, Holding, has_room},
    market::{Market, weighted},
    up,
};
use crate::{Figure, symbol::SymbolKey};

/// Over how many days a net yield is computed. Gas is paid once, and the yield counts for this
/// long.
pub const HORIZON_DAYS: u64 = 365;
/// The most rows of an answer.
pub const MAX_ROWS: usize = 10;
/// Protocols whose stated value locked can be withdrawn at once, by folded name. Lending markets
/// state the part that is not lent out.
const TVL_IS_LIQUID: [&str; 12] = [
    "aavev2",
    "aavev3",
    "benqilending",
    "compoundv2",
    "compoundv3",
    "fluidlending",
    "moonwelllending",
    "morphoblue",
    "morphov1",
    "skylending",
    "sparklend",
    "venuscorepool",
];

/// An amount to place, and its conditions.
#[derive(Clone, Debug)]
pub struct Wish<'a> {
    /// The amount, in dollars.
    pub amount_usd: Decimal,
    /// An asset that the market must have.
    pub asset: Option<&'a SymbolKey>,
    /// The exact token that the market must take, for an account that owns it.
    pub token: Option<(u64, Earner)>,
    /// The accepted risk.
    pub appetite: Appetite,
    /// The chains. `None` means all supported chains.
    pub chains: Option<&'a [u64]>,
}

/// A recommendation: a row of `recommendations`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recommendation {
    /// The market.
    pub pool: String,
    /// Its chain.
    pub chain_id: u64,
    /// Its protocol.
    pub protocol: String,
    /// Its assets.
    pub asset: String,
    /// The amount of the row, in dollars.
    pub amount_usd: Figure,
    /// The yield before gas, in percent a year.
    pub apy_pct: Figure,
    /// The yield of a year less gas, in percent. `None` when the price of gas is unknown. The costs
    /// in [`Self::not_counted`] are not subtracted.
    pub apy_after_gas_pct: Option<Figure>,
    /// The yield of a year less every cost of placing the amount, in percent. `None` when a cost is
    /// unknown.
    pub net_apy_pct: Option<Figure>,
    /// The costs that are unknown: gas, the swap into the other assets, impermanent loss.
    pub not_counted: Vec<&'static str>,
    /// The gas of the deposit and the withdrawal, in dollars.
    pub est_gas_usd: Option<Figure>,
    /// How many days it takes until the yield has paid for the gas. `None` when gas is not the only
    /// cost.
    pub breakeven_days: Option<Figure>,
    /// The value that can be withdrawn at once, in dollars. `None` when it is not stated, for
    /// example where withdrawals queue.
    pub exit_liquidity_usd: Option<Figure>,
    /// The grade of risk.
    pub risk_grade: Grade,
    /// The reasons for and against it.
    pub why: Vec<String>,
}

/// Returns the markets for `wish`, the best first. Markets with a known net yield come first. A
/// market is left out when gas exceeds its yield, or when the amount would be more than a tenth of
/// it.
#[must_use]
pub fn recommend(
    markets: &[Market],
    wish: &Wish<'_>,
    gas: &BTreeMap<u64, GasPrice>,
) -> Vec<Recommendation> {
    if wish.amount_usd <= Decimal::ZERO {
        return Vec::new();
    }
    let mut rows: Vec<_> = markets
        .iter()
        .filter(|market| wish.takes(market))
        .filter_map(|market| {
            let row = row(market, wish.amount_usd, gas)?;
            let known = row.net_apy_pct.or(row.apy_after_gas_pct);
            let order = (
                row.net_apy_pct.is_none(),
                Reverse(known.map(|known| by_grade(known.0, row.risk_grade))),
                Reverse(weighted(market)),
                row.pool.clone(),
            );
            Some((order, row))
        })
        .collect();
    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Returns the recommendations for an account's balances: for each reviewed token the markets on
/// its chain, with the best rows of all tokens first.
#[must_use]
pub fn recommend_for(
    holdings: &[Holding],
    markets: &[Market],
    wish: &Wish<'_>,
    gas: &BTreeMap<u64, GasPrice>,
) -> Vec<Recommendation> {
    let mut rows = Vec::new();
    for holding in holdings {
        let (Some(earner), Some(usd)) = (holding.earner(), holding.usd) else {
            continue;
        };
        if wish.asset.is_some_and(|asset| !asset.names(earner.symbol)) {
            continue;
        }
        let of_token = Wish {
            amount_usd: usd.0,
            asset: None,
            token: Some((holding.chain_id, earner)),
            ..wish.clone()
        };
        rows.extend(recommend(markets, &of_token, gas));
    }
    rows.sort_by_cached_key(|row| {
        let gain = row
            .net_apy_pct
            .and_then(|net| by_grade(net.0, row.risk_grade).checked_mul(row.amount_usd.0));
        (gain.is_none(), Reverse(gain), row.pool.clone())
    });
    rows
}

impl Wish<'_> {
    /// Whether `market` matches the wish, whatever the amount.
    #[must_use]
    pub fn takes_kind(&self, market: &Market) -> bool {
        self.appetite.takes(market)
            && self.asset.is_none_or(|asset| market.holds(asset))
            && self
                .token
                .is_none_or(|(chain, earner)| market.chain_id == Some(chain) && earner.fits(market))
            && market
                .chain_id
                .is_some_and(|id| self.chains.is_none_or(|chains| chains.contains(&id)))
    }

    fn takes(&self, market: &Market) -> bool {
        self.takes_kind(market) && has_room(market, self.amount_usd)
    }
}

/// Makes a row. `None` when gas exceeds the yield.
fn row(
    market: &Market,
    amount_usd: Decimal,
    gas: &BTreeMap<u64, GasPrice>,
) -> Option<Recommendation> {
    let chain_id = market.chain_id?;
    let single = market.single_asset == Some(true);
    let cost = gas
        .get(&chain_id)
        .and_then(|price| price.round_trip(single));
    let mut why = market.why.clone();
    let mut not_counted = Vec::new();
    let after_gas = match cost {
        None => {
            why.push("gas cost not known".to_owned());
            not_counted.push("gas");
            None
        }
        Some(cost) => {
            let loss = crate::share_pct(cost, amount_usd)?;
            Some(market.apy_pct.0.checked_sub(loss)?).filter(|left| *left > Decimal::ZERO)
        }
    };
    if cost.is_some() && after_gas.is_none() {
        return None;
    }
    if !single {
        not_counted.push("swap_into_other_assets");
    }
    if !market.without_impermanent_loss() {
        not_counted.push("impermanent_loss");
    }
    let net = after_gas.filter(|_| not_counted.is_empty());
    let exit = TVL_IS_LIQUID.contains(&folded(&market.project).as_str());
    if !exit && single {
        why.push("the amount that can be withdrawn at once is not stated".to_owned());
    }
    let breakeven = cost
        .filter(|_| not_counted.is_empty())
        .and_then(|cost| days_to_earn(cost, amount_usd, market.apy_pct.0));
    Some(Recommendation {
        pool: market.pool.clone(),
        chain_id,
        protocol: market.project.clone(),
        asset: market.symbol.clone(),
        amount_usd: cut(amount_usd, 2),
        apy_pct: market.apy_pct,
        apy_after_gas_pct: after_gas.map(|left| cut(left, 4)),
        net_apy_pct: net.map(|net| cut(net, 4)),
        not_counted,
        est_gas_usd: cost.map(|cost| up(cost, 6)),
        breakeven_days: breakeven.map(|days| up(days, 2)),
        // Shares of a pool of several assets are redeemed for the pool's content, so all of it can
        // be withdrawn.
        exit_liquidity_usd: (exit || !single).then_some(market.tvl_usd),
        risk_grade: market.risk_grade,
        why,
    })
}

/// Returns in how many days `amount` earns `cost` at `apy_pct`.
pub(super) fn days_to_earn(cost: Decimal, amount: Decimal, apy_pct: Decimal) -> Option<Decimal> {
    let a_year = amount
        .checked_mul(apy_pct)?
        .checked_div(Decimal::ONE_HUNDRED)?;
    cost.checked_mul(Decimal::from(HORIZON_DAYS))?
        .checked_div(a_year)
}

pub(super) fn by_grade(net_pct: Decimal, grade: Grade) -> Decimal {
    net_pct
        .checked_mul(Decimal::from(grade.weight_pct()))
        .unwrap_or(Decimal::MAX)
}

#[cfg(test)]
mod tests;
