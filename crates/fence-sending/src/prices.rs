//! Prices, which can only refuse.

use std::pin::Pin;

use alloy_primitives::U256;
use delegation_fence::{Admitted, Rule};
use plan_checks::{BasisPoints, Decimal};
use thiserror::Error;

use crate::Fault;

/// The answer of a source of prices.
pub type PriceFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// A price that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the price of {what} cannot be read: {reason}")]
pub struct PriceFault {
    /// Of what.
    pub what: String,
    /// Why.
    pub reason: String,
}

/// What tokens are worth now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// A whole input token, in US dollars.
    pub input_usd: Decimal,
    /// A whole output token, in US dollars.
    pub output_usd: Decimal,
}

/// What plans are held against.
pub trait Prices: Send + Sync + 'static {
    /// Holds a plan against the prices before its first step.
    fn judge<'a>(&'a self, admitted: &'a Admitted) -> PriceFuture<'a, Result<(), Rule>>;
}

/// The least output that a plan has to promise for an input: what the prices say, less the deviation. `None` for prices that say nothing: zero, or
/// beyond what fits.
#[must_use]
pub fn least_output(
    input: U256,
    input_decimals: u8,
    output_decimals: u8,
    rates: &Rates,
    max_deviation: BasisPoints,
) -> Option<U256> {
    const SCALE: u8 = 18;
    let (gives, takes) = (
        rates.input_usd.atoms(SCALE)?,
        rates.output_usd.atoms(SCALE)?,
    );
    let unit = |decimals: u8| U256::from(10).checked_pow(U256::from(decimals));
    let value = input
        .checked_mul(gives)?
        .checked_mul(unit(output_decimals)?)?;
    let price = takes.checked_mul(unit(input_decimals)?)?;
    let fair = value.checked_div(price)?;
    if fair.is_zero() {
        return None;
    }
    max_deviation.floor_of_rest(fair)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    fn rates(input: &str, output: &str) -> Rates {
        Rates {
            input_usd: decimal(input),
            output_usd: decimal(output),
        }
    }

    #[test]
    fn the_least_output_is_what_the_prices_say_less_the_deviation() {
        let two_percent = BasisPoints::new(200).unwrap();
        let check =
            |input: u64, rates: Rates| least_output(U256::from(input), 6, 18, &rates, two_percent);
        // 1,000 dollars at 2,500 a piece are 0.4; less two percent.
        let least = U256::from(392_000_000_000_000_000_u64);
        assert_eq!(check(1_000_000_000, rates("1", "2500")), Some(least));
        let cheaper = check(1_000_000_000, rates("0.99", "2500"));
        assert_eq!(cheaper, Some(U256::from(388_080_000_000_000_000_u64)));
        for nothing in [rates("0", "2500"), rates("1", "0")] {
            assert_eq!(check(1_000_000_000, nothing), None);
        }
        assert_eq!(
            least_output(U256::MAX, 6, 18, &rates("1", "2500"), two_percent),
            None
        );
    }
}
