//! The checks of price, size, amounts and the caller's limits.

use alloy_primitives::U256;

use crate::pm_order::{MAX_READING_AGE_SECONDS, PmOrderFacts, PmOrderRequest, Side, TICKS};
use crate::{Decimal, Observed, Verdict, Violation, commitment::CLOCK_TOLERANCE_SECONDS};

/// Decimals of a size.
const SIZE_DECIMALS: u8 = 2;
/// Decimals of the finest price.
const PRICE_DECIMALS: u8 = 4;
/// Decimals of the collateral and of every outcome token.
const TOKEN_DECIMALS: u8 = 6;

impl PmOrderFacts {
    pub(in crate::pm_order) fn judge_price(&self) -> Verdict {
        let (price, tick) = (self.request.price, self.market.tick_size);
        if !TICKS.contains(&tick) {
            let known = TICKS.map(|tick| tick.to_string()).join(", ");
            return Err(Violation::new(
                "the market's tick is not a known one",
                known,
                tick,
            ));
        }
        if !price.is_multiple_of(tick) {
            let expected = format_args!("a multiple of {tick}");
            return Err(Violation::new("the price is off the tick", expected, price));
        }
        // Every tick has at most four decimals, and so has every multiple.
        let units = |value: Decimal| value.atoms(PRICE_DECIMALS).unwrap_or(U256::MAX);
        let (low, one) = (units(tick), U256::from(10_000));
        if units(price) < low || units(price).saturating_add(low) > one {
            let expected = format_args!("{tick} to 1 - {tick}");
            return Err(Violation::new("the price is out of range", expected, price));
        }
        self.judge_reading()?;
        Ok(Observed::from(format!(
            "{price} at tick {tick}, read {}",
            self.market.read_at
        ))
        .by_readings("the market's tick"))
    }

    /// Checks the age of the reading. The tick can change while a market trades, so an old reading
    /// does not count, and a reading from the future is wrong.
    fn judge_reading(&self) -> Result<(), Violation> {
        let (read_at, commitment) = (self.market.read_at, &self.commitment);
        let latest = commitment.now.saturating_add(CLOCK_TOLERANCE_SECONDS);
        if read_at > latest {
            let expected = format_args!("at most {latest}");
            return Err(Violation::new(
                "the market was read in the future",
                expected,
                read_at,
            ));
        }
        let oldest = read_at.saturating_add(MAX_READING_AGE_SECONDS);
        if commitment.valid_until > oldest {
            return Err(Violation::new(
                "the plan outlives the reading of the market",
                format_args!("valid until {oldest} at most"),
                commitment.valid_until,
            ));
        }
        Ok(())
    }

    pub(in crate::pm_order) fn judge_size(&self) -> Verdict {
        let (size, least) = (self.request.size, self.market.min_order_size);
        if size.scale() > SIZE_DECIMALS {
            let message = "the size is finer than the venue's lot";
            return Err(Violation::new(message, "at most 2 decimals", size));
        }
        if size.is_zero() || size < least {
            let message = "the size is below the market's minimum";
            return Err(Violation::new(
                message,
                format_args!("at least {least}"),
                size,
            ));
        }
        Ok(Observed::from(format!("{size}, minimum {least}")).by_readings("the market's minimum"))
    }

    pub(in crate::pm_order) fn judge_amounts(&self) -> Verdict {
        let (request, order) = (&self.request, &self.decoded.order);
        // Hundredths of a share times ten-thousandths of the collateral are the collateral's
        // millionths.
        let product = |size: Decimal, price: Decimal| {
            let shares = size.atoms(TOKEN_DECIMALS)?;
            let atoms = size
                .atoms(SIZE_DECIMALS)?
                .checked_mul(price.atoms(PRICE_DECIMALS)?)?;
            let cost = Decimal::new(u128::try_from(atoms).ok()?, TOKEN_DECIMALS).ok()?;
            Some((shares, atoms, cost))
        };
        let Some((shares, atoms, cost)) = product(request.size, request.price) else {
            let message = "size times price is no amount of the collateral";
            let observed = format!("{} times {}", request.size, request.price);
            return Err(Violation::new(
                message,
                "6 decimals, at most 36 digits",
                observed,
            ));
        };
        let (gives, gets) = match request.side {
            Side::Buy => (atoms, shares),
            Side::Sell => (shares, atoms),
        };
        for (message, expected, observed) in [
            (
                "makerAmount is not the exact product",
                gives,
                order.maker_amount,
            ),
            (
                "takerAmount is not the exact product",
                gets,
                order.taker_amount,
            ),
            (
                "the approval is of another amount",
                gives,
                self.decoded.approval.amount,
            ),
        ] {
            if observed != expected {
                return Err(Violation::new(message, expected, observed));
            }
        }
        self.judge_limits(cost)?;
        Ok(Observed::from(format!("maker {gives}, taker {gets}")))
    }

    /// Checks the caller's own limits against the order's cost or proceeds before the venue's fee.
    fn judge_limits(&self, cost: Decimal) -> Result<(), Violation> {
        let PmOrderRequest {
            side,
            max_cost,
            min_proceeds,
            ..
        } = &self.request;
        match (side, max_cost, min_proceeds) {
            (Side::Buy, _, Some(_)) => Err(Violation::new(
                "a purchase has no proceeds",
                "no minProceeds",
                "minProceeds",
            )),
            (Side::Sell, Some(_), _) => Err(Violation::new(
                "a sale has no cost",
                "no maxCost",
                "maxCost",
            )),
            (Side::Buy, Some(most), None) if cost > *most => {
                let expected = format_args!("at most {most}");
                Err(Violation::new(
                    "the purchase costs more than maxCost",
                    expected,
                    cost,
                ))
            }
            (Side::Sell, None, Some(least)) if cost < *least => {
                let expected = format_args!("at least {least}");
                Err(Violation::new(
                    "the sale brings less than minProceeds",
                    expected,
                    cost,
                ))
            }
            _ => Ok(()),
        }
    }
}
