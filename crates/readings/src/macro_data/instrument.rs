//! The instruments: their symbols, units and markets, and which values of them are credible.

use serde::Serialize;

use super::Market;
use crate::{Decimal, symbol::SymbolKey};

/// The unit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Points of an index.
    Points,
    /// Percent per year.
    Percent,
    /// Dollars for a barrel.
    UsdPerBarrel,
    /// Dollars for a troy ounce.
    UsdPerTroyOunce,
    /// Dollars for a pound of 453.6 grams.
    UsdPerPound,
    /// Dollars for a million British thermal units.
    UsdPerMmbtu,
    /// The amount of the symbol's second currency for one unit of the first.
    Rate,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// An index that its provider computes.
    Index,
    /// A par yield of the treasury's curve.
    ParYield,
    /// A central bank's reference rate.
    ReferenceRate,
    /// A price of the goods themselves.
    Spot,
    /// The price of the future that expires next.
    FuturesFrontMonth,
    /// The reference price of a perpetual contract, which follows futures.
    PerpetualOracle,
}

/// An instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instrument {
    /// Its symbol in answers.
    pub symbol: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// The market that determines its value.
    pub market: Market,
    /// Other symbols for it.
    aliases: &'static [&'static str],
    /// The lowest and the highest credible value, in thousandths.
    bounds: (i64, i64),
}

macro_rules! instruments {
    ($($id:ident: $symbol:literal, $name:literal, $unit:ident, $market:ident, $low:literal..$high:literal, [$($alias:literal),*];)*) => {
        impl Instrument {
            $(
                #[doc = $name]
                pub const $id: Self = Self {
                    symbol: $symbol,
                    name: $name,
                    unit: Unit::$unit,
                    market: Market::$market,
                    aliases: &[$($alias),*],
                    bounds: ($low, $high),
                };
            )*
        }

        static ALL: &[Instrument] = &[$(Instrument::$id),*];
    };
}

// The bounds are in thousandths and wide. They detect a wrong unit or a broken answer, and not a
// crash of a market.
instruments! {
    SP500: "SP500", "S&P 500", Points, UsEquities, 100_000..100_000_000, ["SPX", "^GSPC", "GSPC"];
    NASDAQ: "NASDAQ", "Nasdaq Composite", Points, UsEquities, 100_000..500_000_000, ["NASDAQCOM", "^IXIC", "IXIC"];
    DJIA: "DJIA", "Dow Jones Industrial Average", Points, UsEquities, 1_000_000..1_000_000_000, ["DJI", "^DJI", "DOW"];
    VIX: "VIX", "Cboe Volatility Index", Points, UsVolatility, 1_000..500_000, ["^VIX", "VIXCLS"];
    DOLLAR_DERIVED: "DXY_DERIVED", "Dollar index derived from reference rates of the ECB; not ICE DXY", Points, Currencies, 20_000..300_000, ["DXY", "USDX"];
    DOLLAR_BROAD: "USD_BROAD", "Nominal broad dollar index of the Federal Reserve", Points, Currencies, 20_000..500_000, ["DTWEXBGS"];
    US3M: "US3M", "US treasury par yield, 3 months", Percent, UsTreasuries, -5_000..50_000, ["3M", "DGS3MO", "^IRX"];
    US2Y: "US2Y", "US treasury par yield, 2 years", Percent, UsTreasuries, -5_000..50_000, ["2Y", "DGS2"];
    US10Y: "US10Y", "US treasury par yield, 10 years", Percent, UsTreasuries, -5_000..50_000, ["10Y", "DGS10", "TNX", "^TNX"];
    US30Y: "US30Y", "US treasury par yield, 30 years", Percent, UsTreasuries, -5_000..50_000, ["30Y", "DGS30", "TYX", "^TYX"];
    WTI: "WTI", "Crude oil, West Texas Intermediate, spot at Cushing", UsdPerBarrel, Oil, -100_000..1_000_000, ["DCOILWTICO", "USOIL"];
    GOLD: "GOLD", "Gold", UsdPerTroyOunce, CommodityFutures, 200_000..100_000_000, ["XAU", "XAUUSD", "GC", "GC=F"];
    SILVER: "SILVER", "Silver", UsdPerTroyOunce, CommodityFutures, 2_000..5_000_000, ["XAG", "XAGUSD", "SI", "SI=F"];
    COPPER: "COPPER", "Copper", UsdPerPound, CommodityFutures, 500..100_000, ["HG", "HG=F"];
    NATGAS: "NATGAS", "Natural gas, Henry Hub", UsdPerMmbtu, CommodityFutures, 200..200_000, ["GAS", "NG", "NG=F"];
    WTI_FUTURE: "WTI_FUTURE", "Crude oil, West Texas Intermediate", UsdPerBarrel, CommodityFutures, -100_000..1_000_000, ["CL", "CL=F"];
    BRENT: "BRENT", "Crude oil, Brent, spot in Europe", UsdPerBarrel, Oil, 1_000..1_000_000, ["DCOILBRENTEU", "UKOIL"];
    EURUSD: "EURUSD", "Dollars for a euro", Rate, Currencies, 200..5_000, ["EUR", "EURUSD=X"];
    GBPUSD: "GBPUSD", "Dollars for a pound", Rate, Currencies, 200..5_000, ["GBP", "GBPUSD=X"];
    USDJPY: "USDJPY", "Yen for a dollar", Rate, Currencies, 20_000..1_000_000, ["JPY", "JPY=X"];
    USDCAD: "USDCAD", "Canadian dollars for a dollar", Rate, Currencies, 200..5_000, ["CAD", "CAD=X"];
    USDSEK: "USDSEK", "Swedish kronor for a dollar", Rate, Currencies, 1_000..100_000, ["SEK", "SEK=X"];
    USDCHF: "USDCHF", "Swiss francs for a dollar", Rate, Currencies, 100..5_000, ["CHF", "CHF=X"];
}

/// Every instrument, in the order of answers.
#[must_use]
pub fn instruments() -> &'static [Instrument] {
    ALL
}

impl Instrument {
    /// Finds the instrument with this symbol or alias.
    #[must_use]
    pub fn find(symbol: &str) -> Option<&'static Self> {
        let key = SymbolKey::new(symbol)?;
        let means = |known: &&'static str| *known == key.as_str();
        ALL.iter()
            .find(|instrument| means(&instrument.symbol) || instrument.aliases.iter().any(&means))
    }

    /// Where its values usually come from.
    #[must_use]
    pub fn basis(&self) -> Basis {
        match (self.market, self.unit) {
            (Market::CommodityFutures, _) => Basis::FuturesFrontMonth,
            (_, Unit::Points) => Basis::Index,
            (_, Unit::Percent) => Basis::ParYield,
            (_, Unit::Rate) => Basis::ReferenceRate,
            _ => Basis::Spot,
        }
    }

    /// Whether `value` is credible for this instrument and its unit.
    #[must_use]
    pub fn believes(&self, value: Decimal) -> bool {
        let (low, high) = self.bounds;
        Decimal::new(low, 3) <= value && value <= Decimal::new(high, 3)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_symbol_means_one_instrument() {
        let mut seen = BTreeSet::new();
        for instrument in instruments() {
            for symbol in std::iter::once(&instrument.symbol).chain(instrument.aliases) {
                assert!(seen.insert(*symbol), "{symbol} twice");
                assert_eq!(Instrument::find(symbol), Some(instrument), "{symbol}");
                assert_eq!(
                    Instrument::find(&symbol.to_lowercase()),
                    Some(instrument),
                    "{symbol}"
                );
            }
        }
        for unknown in ["", "BTC", "VІX", "SP500 "] {
            let known = Instrument::find(unknown).map(|instrument| instrument.symbol);
            assert_eq!(known, (unknown == "SP500 ").then_some("SP500"), "{unknown}");
        }
    }

    #[test]
    fn values_in_another_unit_are_not_credible() {
        let of = |text: &str| text.parse::<crate::Figure>().unwrap().0;
        assert!(Instrument::US10Y.believes(of("4.08")) && Instrument::US10Y.believes(of("-0.5")));
        assert!(!Instrument::US10Y.believes(of("408")));
        assert!(!Instrument::VIX.believes(of("0")) && !Instrument::VIX.believes(of("1742")));
        assert!(!Instrument::USDJPY.believes(of("0.0064")));
        // Oil once had a negative price.
        assert!(Instrument::WTI.believes(of("-37.63")));
    }
}
