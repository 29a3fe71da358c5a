//! The cost of a deposit and its later withdrawal, in gas and in dollars.

use alloy_primitives::U256;
use rust_decimal::{Decimal, prelude::FromPrimitive};

/// Gas of an approval, a deposit and a withdrawal of one asset at a lending market, rounded up.
pub const ONE_ASSET_UNITS: u64 = 650_000;
/// Gas of an approval, a deposit and a withdrawal at a pool of several assets.
pub const SEVERAL_ASSETS_UNITS: u64 = 1_200_000;
/// How the gas is estimated, for the member `gas_method` of an answer.
pub const METHOD: &str = "gas of one approval, one deposit and one withdrawal (650000 units for one asset, 1200000 for several) at the present gas price; a rollup's fee for posting data comes on top";

/// The price of gas on a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GasPrice {
    /// The price of a million units of gas, in dollars.
    pub usd_per_million: Decimal,
}

impl GasPrice {
    /// Makes a price from that of a unit in wei and that of the coin in dollars. `None` when it
    /// overflows, or when a price is not positive.
    #[must_use]
    pub fn new(wei: U256, coin_usd: Decimal) -> Option<Self> {
        if coin_usd <= Decimal::ZERO {
            return None;
        }
        let wei = Decimal::from_u128(u128::try_from(wei).ok()?)?;
        // A million units at one wei are 10^-12 coins.
        let coins = wei.checked_div(Decimal::from(1_000_000_000_000_u64))?;
        let usd_per_million = coins.checked_mul(coin_usd)?;
        Some(Self { usd_per_million })
    }

    /// Returns what a deposit and its withdrawal cost, in dollars.
    #[must_use]
    pub fn round_trip(self, single_asset: bool) -> Option<Decimal> {
        let units = if single_asset {
            ONE_ASSET_UNITS
        } else {
            SEVERAL_ASSETS_UNITS
        };
        self.usd_per_million
            .checked_mul(Decimal::from(units))?
            .checked_div(Decimal::from(1_000_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_costs_units_times_price() {
        // Gas costs 20 gwei and the coin 3,000 dollars: 0.65 M × 20e-9 × 3000.
        let gas = GasPrice::new(U256::from(20_000_000_000_u64), Decimal::from(3_000)).unwrap();
        assert_eq!(gas.round_trip(true).unwrap().normalize().to_string(), "39");
        assert_eq!(gas.round_trip(false).unwrap().normalize().to_string(), "72");
    }

    #[test]
    fn impossible_prices_give_no_gas_price() {
        assert_eq!(GasPrice::new(U256::MAX, Decimal::ONE), None);
        assert_eq!(GasPrice::new(U256::from(1), Decimal::ZERO), None);
        assert_eq!(GasPrice::new(U256::from(1), Decimal::NEGATIVE_ONE), None);
        assert_eq!(GasPrice::new(U256::from(u64::MAX), Decimal::MAX), None);
    }
}
