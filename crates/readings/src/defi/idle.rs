//! Balances that earn nothing, and the markets in which they could.

use rust_decimal::Decimal;
use serde::Serialize;

use super::{
    assets::{self, Class},
    cut,
    grade::Appetite,
    market::Market,
    sum,
};
use crate::{Figure, symbol::SymbolKey};

/// A balance of fewer dollars is dust.
pub const MIN_USD: i64 = 1;
/// The largest share of a market that one deposit may have. A larger one would change the market's
/// yield, and could not be withdrawn at once.
pub const MAX_SHARE_OF_MARKET_PCT: i64 = 10;

/// A balance of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The chain.
    pub chain_id: u64,
    /// The token's contract as hexadecimal text. `None` for the chain's own coin.
    pub token: Option<String>,
    /// The amount, in units of the token.
    pub amount: Figure,
    /// Its value in dollars.
    pub usd: Option<Figure>,
}

/// A balance that earns nothing: a row of `idle`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Idle {
    /// The chain.
    pub chain_id: u64,
    /// The token's symbol, from the reviewed list.
    pub token: &'static str,
    /// The token's contract. `None` for the chain's own coin.
    pub token_address: Option<String>,
    /// The amount.
    pub amount: Figure,
    /// Its value in dollars. `None` when the token has no price.
    pub usd: Option<Figure>,
    /// The best alternative of low risk on the same chain. `None` when there is none.
    pub best: Option<Best>,
}

/// A market where the balance could earn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Best {
    /// The market.
    pub pool: String,
    /// Its protocol.
    pub project: String,
    /// Its yield, in percent a year.
    pub apy_pct: Figure,
    /// The expected earnings of the balance in a year at that yield, in dollars, before gas.
    pub expected_usd_year: Option<Figure>,
}

/// A token that could earn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Earner {
    /// Its symbol, from the reviewed list.
    pub symbol: &'static str,
    /// The currency or coin that its price follows.
    pub class: Class,
    /// The contract that a market for it uses. For ether, this is its wrapped form.
    pub market_token: Option<&'static str>,
}

impl Holding {
    /// Returns the reviewed token of this balance, if it is one that earns nothing by itself.
    #[must_use]
    pub fn earner(&self) -> Option<Earner> {
        let Some(token) = &self.token else {
            let class = assets::native_class(self.chain_id)?;
            return Some(Earner {
                symbol: "ETH",
                class,
                market_token: assets::wrapped_ether(self.chain_id).map(|asset| asset.address),
            });
        };
        let asset = assets::find(self.chain_id, token)?;
        Some(Earner {
            symbol: asset.symbol,
            class: asset.class,
            market_token: Some(asset.address),
        })
    }
}

impl Earner {
    /// Whether `market` takes exactly this token. The contract decides if the market states one,
    /// otherwise the symbol.
    #[must_use]
    pub fn fits(&self, market: &Market) -> bool {
        let same = |address: &str| {
            self.market_token
                .is_some_and(|token| token.eq_ignore_ascii_case(address))
        };
        let ours = SymbolKey::new(self.symbol);
        let named = || {
            ours.as_ref().is_some_and(|key| key.names(&market.symbol))
                || (self.symbol == "ETH" && market.symbol.eq_ignore_ascii_case("WETH"))
        };
        market.single_asset == Some(true)
            && match market.underlying.as_slice() {
                [] => named(),
                // Lists write the zero address for a chain's own coin.
                [one] => same(one) || (self.symbol == "ETH" && is_zero(one) && named()),
                _ => false,
            }
    }
}

/// Returns the balances of at least a dollar (or without a price) that earn nothing, the largest
/// first. Each one has the best market of `markets` that is of low risk and at least ten times as
/// large as the balance.
#[must_use]
pub fn idle(holdings: &[Holding], markets: &[Market]) -> Vec<Idle> {
    let dust = |usd: &Figure| usd.0 < Decimal::from(MIN_USD);
    let mut rows: Vec<_> = holdings
        .iter()
        .filter(|holding| {
            holding.amount.0 > Decimal::ZERO && !holding.usd.as_ref().is_some_and(dust)
        })
        .filter_map(|holding| {
            let earner = holding.earner()?;
            Some(Idle {
                chain_id: holding.chain_id,
                token: earner.symbol,
                token_address: holding.token.clone(),
                amount: holding.amount,
                usd: holding.usd.map(|usd| cut(usd.0, 2)),
                best: best(&earner, holding, markets),
            })
        })
        .collect();
    rows.sort_by(|a, b| {
        b.usd
            .cmp(&a.usd)
            .then_with(|| (a.chain_id, a.token).cmp(&(b.chain_id, b.token)))
    });
    rows
}

/// Returns the sum of the balances that have a price, in dollars. `None` when there are balances
/// and none has a price.
#[must_use]
pub fn total_usd(rows: &[Idle]) -> Option<Figure> {
    if !rows.is_empty() && rows.iter().all(|row| row.usd.is_none()) {
        return None;
    }
    sum(rows.iter().filter_map(|row| row.usd).map(|usd| usd.0)).map(|total| cut(total, 2))
}

fn best(earner: &Earner, holding: &Holding, markets: &[Market]) -> Option<Best> {
    let usd = holding.usd.map(|usd| usd.0);
    let fitting = markets.iter().filter(|market| {
        market.chain_id == Some(holding.chain_id)
            && Appetite::Low.takes(market)
            && earner.fits(market)
            && usd.is_none_or(|usd| has_room(market, usd))
    });
    let market =
        fitting.max_by(|a, b| a.apy_pct.cmp(&b.apy_pct).then_with(|| b.pool.cmp(&a.pool)))?;
    let a_year = |usd: Decimal| {
        usd.checked_mul(market.apy_pct.0)?
            .checked_div(Decimal::ONE_HUNDRED)
    };
    Some(Best {
        pool: market.pool.clone(),
        project: market.project.clone(),
        apy_pct: market.apy_pct,
        expected_usd_year: usd.and_then(a_year).map(|usd| cut(usd, 2)),
    })
}

/// Whether `usd` is at most a tenth of `market`.
pub(super) fn has_room(market: &Market, usd: Decimal) -> bool {
    let share = crate::share_pct(usd, market.tvl_usd.0);
    share.is_some_and(|share| share <= Decimal::from(MAX_SHARE_OF_MARKET_PCT))
}

fn is_zero(address: &str) -> bool {
    exact::parse_hex_array(address) == Some([0; 20])
}

#[cfg(test)]
mod tests;
