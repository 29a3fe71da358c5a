//! The earnings of an amount in one product after every cost, and the order of the products.
//!
//! An unknown cost does not count as zero. The figures that depend on it are `None`, and the
//! product comes after those with known figures.

use std::cmp::Reverse;

use alloy_primitives::{Address, U256};
use rust_decimal::Decimal;

use super::{
    cut,
    gas::GasPrice,
    grade::Appetite,
    idle::has_room,
    market::{Market, weighted},
    recommend::{by_grade, days_to_earn},
    up,
};
use crate::Figure;

/// The digits after the point of a loss in basis points.
const BPS_DIGITS: u32 = 4;

/// How the figures are computed, for an answer.
pub const METHOD: &str = "net_apy_pct is apy_pct less gas (one approval, one deposit, one withdrawal) and the loss of the deposit, both spread over one year; breakeven_days are the days in which the yield earns them; the yield is that of the source, and no promise";

/// An amount, and the costs of placing it. `None` means unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The amount, in dollars.
    pub amount_usd: Option<Decimal>,
    /// The price of gas on the chain.
    pub gas: Option<GasPrice>,
    /// The loss of the deposit, in basis points.
    pub slippage_bps: Figure,
}

/// The earnings of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Earnings {
    /// The yield of a year after every cost, in percent.
    pub net_apy_pct: Option<Figure>,
    /// The gas of the deposit and the withdrawal, in dollars.
    pub est_gas_usd: Option<Figure>,
    /// How many days it takes until the yield has paid for the costs.
    pub breakeven_days: Option<Figure>,
}

/// Why a product does not fit the amount or the risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Its grade is worse than the risk that is accepted.
    RiskAbove,
    /// The amount would be more than a tenth of the market.
    NoRoom,
    /// The yield of a year does not pay for the costs.
    CostsExceedYield,
}

impl Unfit {
    /// The stable name of the reason.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RiskAbove => "risk_above",
            Self::NoRoom => "no_room",
            Self::CostsExceedYield => "costs_exceed_yield",
        }
    }
}

/// Finds the market of a reviewed product: by the market's id, or, for Aave v3, by the chain and
/// the asset. `None` when two markets match, because choosing one would be a guess.
#[must_use]
pub fn market_of<'a>(
    markets: &'a [Market],
    chain_id: u64,
    protocol: &str,
    product_id: &str,
    asset: Address,
) -> Option<&'a Market> {
    let here = || {
        let markets = markets.iter();
        markets.filter(move |market| market.chain_id == Some(chain_id))
    };
    let is_named = |market: &&Market| market.pool == product_id;
    let is_asset = |market: &&Market| {
        let [one] = market.underlying.as_slice() else {
            return false;
        };
        let is_single = market.single_asset == Some(true);
        is_single && market.is_of(protocol) && one.parse() == Ok(asset)
    };
    here().find(is_named).or_else(|| {
        // One asset can have many vaults, and the markets do not state the addresses of the vaults.
        let mut fitting = here().filter(|market| protocol == "aave-v3" && is_asset(market));
        fitting.next().filter(|_| fitting.next().is_none())
    })
}

/// Returns how far `worth` is below `paid`, in basis points, rounded up. Zero when it is not below.
/// `None` when nothing was paid.
#[must_use]
pub fn slippage_bps(paid: U256, worth: U256) -> Option<Figure> {
    // Basis points with four digits are parts of 10^8.
    let scaled = paid
        .saturating_sub(worth)
        .checked_mul(U256::from(100_000_000_u64))?;
    if paid.is_zero() {
        return None;
    }
    let parts = i128::try_from(scaled.div_ceil(paid)).ok()?;
    let bps = Decimal::try_from_i128_with_scale(parts, BPS_DIGITS).ok()?;
    Some(Figure(bps.normalize()))
}

/// Computes the earnings of an amount in a market.
///
/// # Errors
/// An [`Unfit`] when the market does not fit the amount or the risk.
pub fn earnings(market: &Market, terms: &Terms, appetite: Appetite) -> Result<Earnings, Unfit> {
    if !appetite.takes(market) {
        return Err(Unfit::RiskAbove);
    }
    if terms.amount_usd.is_some_and(|usd| !has_room(market, usd)) {
        return Err(Unfit::NoRoom);
    }
    let gas_usd = terms.gas.and_then(|gas| gas.round_trip(true));
    let known = terms.amount_usd.zip(gas_usd);
    let costs = known.and_then(|(amount, gas)| {
        let lost = amount
            .checked_mul(terms.slippage_bps.0)?
            .checked_div(Decimal::from(10_000))?;
        Some((amount, gas.checked_add(lost)?))
    });
    let net = costs.and_then(|(amount, costs)| {
        let share = crate::share_pct(costs, amount)?;
        market.apy_pct.0.checked_sub(share)
    });
    if net.is_some_and(|net| net <= Decimal::ZERO) {
        return Err(Unfit::CostsExceedYield);
    }
    let days = costs.and_then(|(amount, costs)| days_to_earn(costs, amount, market.apy_pct.0));
    Ok(Earnings {
        net_apy_pct: net.map(|net| cut(net, 4)),
        est_gas_usd: gas_usd.map(|gas| up(gas, 6)),
        breakeven_days: days.map(|days| up(days, 2)),
    })
}

/// Returns a sort key that puts the best first, by the net yield times the weight of the grade.
/// Products without a known net yield come last, by the yield before costs.
#[must_use]
pub fn order(market: &Market, earnings: &Earnings) -> impl Ord + use<> {
    let net = earnings.net_apy_pct;
    (
        net.is_none(),
        Reverse(net.map(|net| by_grade(net.0, market.risk_grade))),
        Reverse(weighted(market)),
    )
}

#[cfg(test)]
mod tests {
    use super::super::market::tests::market;
    use super::*;

    const USDG: &str = "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8";

    fn terms(amount: i64, usd_per_million: &str, bps: &str) -> Terms {
        Terms {
            amount_usd: Some(Decimal::from(amount)),
            gas: Some(GasPrice {
                usd_per_million: usd_per_million.parse().unwrap(),
            }),
            slippage_bps: bps.parse().unwrap(),
        }
    }

    fn shown(figure: Option<Figure>) -> String {
        figure.map(|figure| figure.to_string()).unwrap_or_default()
    }

    #[test]
    fn gas_and_slippage_are_taken_from_the_yield() {
        let market = market("p", "USDG", "5.2", "18400000");
        // Gas of 6.5 dollars on 1000 is 0.65 %, and 10 basis points are 0.1 %. With 52 dollars a
        // year, 7.5 are earned in 52.644 days.
        let earned = earnings(&market, &terms(1_000, "10", "10"), Appetite::Low).unwrap();
        assert_eq!(shown(earned.net_apy_pct), "4.45");
        assert_eq!(shown(earned.est_gas_usd), "6.5");
        assert_eq!(shown(earned.breakeven_days), "52.65");
        let earned = earnings(&market, &terms(1_000, "10", "0"), Appetite::Low).unwrap();
        assert_eq!(shown(earned.net_apy_pct), "4.55");
        assert_eq!(shown(earned.breakeven_days), "45.63");
    }

    #[test]
    fn an_unknown_cost_gives_no_figure() {
        let market = market("p", "USDG", "5.2", "18400000");
        let known = terms(1_000, "10", "0");
        let no_gas = Terms { gas: None, ..known };
        let no_price = Terms {
            amount_usd: None,
            ..known
        };
        for (terms, gas) in [(no_gas, ""), (no_price, "6.5")] {
            let earned = earnings(&market, &terms, Appetite::Low).unwrap();
            assert_eq!((earned.net_apy_pct, earned.breakeven_days), (None, None));
            assert_eq!(shown(earned.est_gas_usd), gas);
        }
    }

    #[test]
    fn every_misfit_has_a_name() {
        let calm = market("calm", "USDG", "5", "18400000");
        let wild = market("wild", "USDC", "40", "2000000");
        let of = |market: &Market, terms: &Terms, appetite| {
            let unfit = earnings(market, terms, appetite).err();
            unfit.map(Unfit::as_str)
        };
        let cheap = terms(1_000, "0.01", "0");
        assert_eq!(of(&calm, &cheap, Appetite::Low), None);
        assert_eq!(of(&wild, &cheap, Appetite::Low), Some("risk_above"));
        assert_eq!(of(&wild, &cheap, Appetite::High), None);
        let large = terms(2_000_000, "0.01", "0");
        assert_eq!(of(&calm, &large, Appetite::Low), Some("no_room"));
        // Gas of 65 dollars on 1000 is more than 5 %.
        let dear = terms(1_000, "100", "0");
        assert_eq!(of(&calm, &dear, Appetite::Low), Some("costs_exceed_yield"));
        let lossy = terms(1_000, "0.01", "600");
        assert_eq!(of(&calm, &lossy, Appetite::Low), Some("costs_exceed_yield"));
    }

    #[test]
    fn the_best_net_yield_comes_first_and_the_unknown_last() {
        let high = market("high", "USDG", "9", "18400000");
        let mid = market("mid", "USDG", "6", "18400000");
        let low = market("low", "USDG", "5", "18400000");
        let earned = |market: &Market, gas: bool| {
            let known = terms(1_000, "1", "0");
            let gas = known.gas.filter(|_| gas);
            earnings(market, &Terms { gas, ..known }, Appetite::High).unwrap()
        };
        let mut rows = vec![
            (order(&high, &earned(&high, false)), "high"),
            (order(&low, &earned(&low, true)), "low"),
            (order(&mid, &earned(&mid, true)), "mid"),
        ];
        rows.sort();
        let names: Vec<_> = rows.into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["mid", "low", "high"]);
    }

    #[test]
    fn a_loss_is_rounded_up_and_a_gain_is_none() {
        let bps = |paid: u64, worth: u64| shown(slippage_bps(U256::from(paid), U256::from(worth)));
        assert_eq!(bps(1_000_000, 1_000_000), "0");
        assert_eq!(bps(1_000_000, 1_000_001), "0");
        assert_eq!(bps(1_000_000, 999_000), "10");
        assert_eq!(bps(1_000_000_000, 999_999_999), "0.0001");
        assert_eq!(bps(3, 2), "3333.3334");
        assert_eq!(slippage_bps(U256::ZERO, U256::ZERO), None);
        assert_eq!(slippage_bps(U256::MAX, U256::ZERO), None);
    }

    #[test]
    fn a_product_has_one_market_or_none() {
        let of = |pool: &str, asset: &str| Market {
            underlying: vec![asset.to_owned()],
            single_asset: Some(true),
            ..market(pool, "USDG", "5", "18400000")
        };
        let asset: Address = USDG.parse().unwrap();
        let found = |markets: &[Market], chain_id, protocol: &str, id: &str| {
            let market = market_of(markets, chain_id, protocol, id, asset);
            market.map(|market| market.pool.clone())
        };
        let one = [of("one", &USDG.to_lowercase()), of("other", "0x12")];
        let named = Some("one".to_owned());
        assert_eq!(found(&one, 196, "aave-v3", "mine"), named);
        assert_eq!(found(&one, 8453, "aave-v3", "mine"), None);
        assert_eq!(found(&one, 196, "erc4626", "mine"), None);
        assert_eq!(found(&one, 196, "erc4626", "one"), named);
        let two = [of("one", USDG), of("two", USDG)];
        assert_eq!(found(&two, 196, "aave-v3", "mine"), None);
        assert_eq!(found(&two, 196, "aave-v3", "two"), Some("two".to_owned()));
    }
}
