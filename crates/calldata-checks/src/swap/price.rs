//! The worth of a swap by the quote's own values, and by the prices of another source.

use alloy_primitives::{U256, Uint};

use crate::{BasisPoints, Decimal, UtcSeconds};

/// The greatest distance of an independent price's time from the quote's, in seconds.
pub const MAX_PRICE_AGE_SECONDS: u64 = 900;

/// An integer with room for an amount, a price and the decimals of both tokens: no product of them
/// overflows.
type Wide = Uint<1024, 16>;

/// The prices of a swap's two tokens from a source that is not the aggregator, each for a whole
/// token.
///
/// # Example
/// ```
/// use alloy_primitives::U256;
/// use calldata_checks::{UtcSeconds, swap::PriceReading};
///
/// // USDC to WETH.
/// let price = PriceReading {
///     from_usd: "1".parse()?,
///     from_decimals: 6,
///     to_usd: "2500".parse()?,
///     to_decimals: 18,
///     as_of: UtcSeconds::from_unix(1_795_000_000),
/// };
/// let (input, output) = (U256::from(1_000_000_000), U256::from(398_000_000_000_000_000_u64));
/// assert_eq!(price.deviation(input, output).map(|bps| bps.get()), Some(50)); // 995 of 1000 dollars
/// # Ok::<(), calldata_checks::DecimalError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceReading {
    /// The price of the input token, in US dollars.
    pub from_usd: Decimal,
    /// The input token's decimals, at most 36.
    pub from_decimals: u8,
    /// The price of the output token, in US dollars.
    pub to_usd: Decimal,
    /// The output token's decimals, at most 36.
    pub to_decimals: u8,
    /// The older of the two times.
    pub as_of: UtcSeconds,
}

impl PriceReading {
    /// Computes by how much `output` is worth less than `input`; `None` when the input is worth
    /// nothing, or a token has more than 36 decimals.
    #[must_use]
    pub fn deviation(&self, input: U256, output: U256) -> Option<BasisPoints> {
        let (from, to) = (self.from_decimals, self.to_decimals);
        if from.max(to) > 36 {
            return None;
        }
        let worth = |amount: U256, price: Decimal, up: u8, scale: u8| {
            // The product has 256 + 120 + 2 * 120 bits.
            let up = Wide::from(10).pow(Wide::from(u32::from(up).saturating_add(scale.into())));
            Wide::from(amount)
                .checked_mul(Wide::from(price.mantissa()))?
                .checked_mul(up)
        };
        let spent = worth(input, self.from_usd, to, self.to_usd.scale())?;
        let received = worth(output, self.to_usd, from, self.from_usd.scale())?;
        lost_of(spent, received)
    }
}

/// Computes by how much `received` is less than `spent`, rounded up; `None` when `spent` is zero.
pub(super) fn lost(spent: Decimal, received: Decimal) -> Option<BasisPoints> {
    let scale = spent.scale().max(received.scale());
    lost_of(
        Wide::from(spent.atoms(scale)?),
        Wide::from(received.atoms(scale)?),
    )
}

fn lost_of(spent: Wide, received: Wide) -> Option<BasisPoints> {
    let whole = Wide::from(BasisPoints::MAX.get());
    let kept = received.checked_mul(whole)?.checked_div(spent)?;
    let lost = u16::try_from(whole.saturating_sub(kept)).ok()?;
    BasisPoints::new(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn a_loss_is_rounded_up() {
        for (spent, received, bps) in [
            ("1000", "1000", Some(0)),
            ("1000", "1001.5", Some(0)),
            ("1000", "994.5", Some(55)),
            ("1000", "994.4999", Some(56)),
            ("1000", "0", Some(10_000)),
            ("0", "1", None),
        ] {
            let found = lost(decimal(spent), decimal(received)).map(BasisPoints::get);
            assert_eq!(found, bps, "{spent} {received}");
        }
    }

    #[test]
    fn amounts_of_tokens_with_other_decimals_are_compared_by_value() {
        let reading = PriceReading {
            from_usd: decimal("0.9998"),
            from_decimals: 6,
            to_usd: decimal("2500.5"),
            to_decimals: 18,
            as_of: UtcSeconds::from_unix(0),
        };
        let of = |input: u128, output: u128| {
            let found = reading.deviation(U256::from(input), U256::from(output));
            found.map(BasisPoints::get)
        };
        // The input is 999.8 USD for 0.4 * 2500.5 = 1000.2 USD, for 990.198 USD, for nothing.
        assert_eq!(of(1_000_000_000, 400_000_000_000_000_000), Some(0));
        assert_eq!(of(1_000_000_000, 396_000_000_000_000_000), Some(97));
        assert_eq!(of(1_000_000_000, 0), Some(10_000));
        assert_eq!(of(0, 1), None);
    }

    #[test]
    fn the_largest_amounts_and_prices_do_not_overflow() {
        let most = decimal(&"9".repeat(36));
        let least = Decimal::new(1, 36).unwrap();
        let mut reading = PriceReading {
            from_usd: most,
            from_decimals: 36,
            to_usd: least,
            to_decimals: 36,
            as_of: UtcSeconds::from_unix(0),
        };
        assert_eq!(
            reading.deviation(U256::MAX, U256::MAX),
            Some(BasisPoints::MAX)
        );
        reading.to_decimals = 37;
        assert_eq!(reading.deviation(U256::MAX, U256::MAX), None);
    }
}
