//! The venue's rules for prices and sizes, and their checks.
//!
//! The rules are those of Hyperliquid: a plan that breaks one would be refused there after it was
//! signed.

use alloy_primitives::U256;

use super::{PerpOrderFacts, Side};
use crate::{BasisPoints, Decimal, Observed, Verdict, Violation};

/// The least value of an order in USD, by its own limit price.
pub const MIN_NOTIONAL_USD: u16 = 10;
/// Most significant figures of a price that is not an integer.
const PRICE_FIGURES: u32 = 5;
/// Decimals of a perpetual's price and size together.
const PRICE_DECIMALS: u8 = 6;

/// The reading of the checks that compare with the mark price.
pub(super) const MARK: &str = "the venue's mark price";

/// Returns whether the venue accepts a price: positive, and an integer, or of at most 5 significant
/// figures and at most `6 - size_decimals` decimals.
///
/// # Example
/// ```
/// use calldata_checks::perp_order::price_on_tick;
///
/// assert!(price_on_tick("3000.5".parse()?, 4));
/// assert!(!price_on_tick("3000.55".parse()?, 4)); // six figures
/// assert!(price_on_tick("123456".parse()?, 4)); // an integer may have more
/// # Ok::<(), calldata_checks::DecimalError>(())
/// ```
#[must_use]
pub fn price_on_tick(price: Decimal, size_decimals: u8) -> bool {
    let fraction = price.significant_figures() <= PRICE_FIGURES
        && price.scale() <= PRICE_DECIMALS.saturating_sub(size_decimals);
    !price.is_zero() && (price.is_integer() || fraction)
}

/// Returns whether the venue accepts a size: positive, of at most `size_decimals` decimals.
///
/// # Example
/// ```
/// use calldata_checks::perp_order::size_on_lot;
///
/// assert!(size_on_lot("0.00123".parse()?, 5));
/// assert!(!size_on_lot("0.00123".parse()?, 4));
/// # Ok::<(), calldata_checks::DecimalError>(())
/// ```
#[must_use]
pub const fn size_on_lot(size: Decimal, size_decimals: u8) -> bool {
    !size.is_zero() && size.scale() <= size_decimals
}

/// Computes the worst price that a market trigger accepts: the furthest from the trigger price that
/// is on the tick and within `tolerance`, below it for a sale and above it for a purchase. A nearer
/// price may not fill when the market jumps. `None` when the result has more digits than a decimal
/// can hold.
///
/// # Example
/// ```
/// use calldata_checks::{BasisPoints, perp_order::{Side, worst_price}};
///
/// let tolerance = BasisPoints::new(1_000).unwrap(); // 10 %
/// let worst = worst_price(Side::Sell, "95000".parse()?, tolerance, 5);
/// assert_eq!(worst, Some("85500".parse()?));
/// # Ok::<(), calldata_checks::DecimalError>(())
/// ```
#[must_use]
pub fn worst_price(
    side: Side,
    trigger: Decimal,
    tolerance: BasisPoints,
    size_decimals: u8,
) -> Option<Decimal> {
    let whole = BasisPoints::MAX.get();
    let share = match side {
        Side::Sell => whole.checked_sub(tolerance.get())?,
        Side::Buy => whole.checked_add(tolerance.get())?,
    };
    // The bound is digits / 10^scale: basis points are four decimals.
    let digits = U256::from(trigger.mantissa()).checked_mul(U256::from(share))?;
    let unit = U256::from(10).checked_pow(U256::from(trigger.scale().checked_add(4)?))?;
    // The price is rounded toward the trigger. A finer grid rounds less, so the finest grid that is
    // on the tick gives the furthest price.
    (0..=PRICE_DECIMALS.saturating_sub(size_decimals))
        .rev()
        .find_map(|decimals| {
            let scaled = digits.checked_mul(U256::from(10).checked_pow(U256::from(decimals))?)?;
            let rounded = match side {
                // Zero is no price.
                Side::Sell => scaled.div_ceil(unit).max(U256::from(1)),
                Side::Buy => scaled.checked_div(unit)?,
            };
            let price = Decimal::new(u128::try_from(rounded).ok()?, decimals).ok()?;
            price_on_tick(price, size_decimals).then_some(price)
        })
}

pub(super) fn tick(facts: &PerpOrderFacts) -> Verdict {
    let decimals = facts.plan.venue.size_decimals;
    let triggers = facts
        .action
        .orders()
        .filter_map(|order| Some(order.trigger()?.price));
    for (what, price) in facts
        .action
        .orders()
        .map(|order| ("a price is off the tick", order.price))
        .chain(triggers.map(|price| ("a trigger price is off the tick", price)))
    {
        if !price_on_tick(price, decimals) {
            let places = PRICE_DECIMALS.saturating_sub(decimals);
            return Err(Violation::new(
                what,
                format_args!(
                    "a positive integer, or at most {PRICE_FIGURES} significant figures and {places} decimals"
                ),
                price,
            ));
        }
    }
    let observed = Observed::from(format!("on the tick for szDecimals {decimals}"));
    Ok(facts.by_asset(observed))
}

pub(super) fn lot(facts: &PerpOrderFacts) -> Verdict {
    let decimals = facts.plan.venue.size_decimals;
    match facts
        .action
        .orders()
        .find(|order| !size_on_lot(order.size, decimals))
    {
        Some(order) => Err(Violation::new(
            "a size is off the lot",
            format_args!("a positive size of at most {decimals} decimals"),
            order.size,
        )),
        None => {
            let observed = Observed::from(format!("at most {decimals} decimals"));
            Ok(facts.by_asset(observed))
        }
    }
}

/// Checks the least worth of an order that opens a position. An order that only reduces has no
/// least worth, as at the venue: otherwise the owner of a small position would have to enlarge it
/// before closing it.
pub(super) fn min_notional(facts: &PerpOrderFacts) -> Verdict {
    let entry = &facts.action.entry;
    if entry.reduce_only {
        return Ok(Observed::fixed("reduce-only: no least value"));
    }
    let least = format_args!("at least {MIN_NOTIONAL_USD} USD").to_string();
    match entry.price.checked_mul(entry.size) {
        Ok(value)
            if Decimal::new(u128::from(MIN_NOTIONAL_USD), 0).is_ok_and(|min| value >= min) =>
        {
            Ok(Observed::from(format!("{value} USD")))
        }
        Ok(value) => Err(Violation::new(
            "the order is worth too little",
            least,
            value,
        )),
        Err(error) => Err(Violation::new(
            "the order's value has too many digits",
            least,
            error,
        )),
    }
}

/// Finds a wrong digit: the entry would pay far more, or ask far less, than the mark price. A price
/// that is far off in the other direction harms nobody.
pub(super) fn band(facts: &PerpOrderFacts) -> Verdict {
    let entry = &facts.action.entry;
    let mark = facts.plan.venue.mark_price.ok_or_else(|| {
        Violation::new(
            "without a mark price a slip of a digit goes unseen",
            "a mark price",
            "none",
        )
    })?;
    let (band, whole) = (facts.price_band.get(), BasisPoints::MAX.get());
    let (share, words) = match entry.side {
        Side::Buy => (whole.checked_add(band), "at most"),
        Side::Sell => (whole.checked_sub(band), "at least"),
    };
    // Basis points are four decimals.
    let bound = share
        .and_then(|share| Decimal::new(share.into(), 4).ok())
        .and_then(|share| mark.checked_mul(share).ok());
    let holds = bound.is_some_and(|bound| match entry.side {
        Side::Buy => entry.price <= bound,
        Side::Sell => entry.price >= bound,
    });
    if holds {
        return Ok(Observed::from(format!(
            "{} at a mark of {mark}, within {band} bps",
            entry.price
        ))
        .by_readings(MARK));
    }
    Err(Violation::new(
        "the price is far worse than the mark price",
        bound.map_or_else(
            || "a mark price of fewer digits".to_owned(),
            |bound| format!("{words} {bound}: {band} bps of {mark}"),
        ),
        entry.price,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_price_of_a_market_trigger() {
        for (side, trigger, bps, size_decimals, expected) in [
            (Side::Sell, "95000", 1000, 5, "85500"),
            (Side::Buy, "105000", 1000, 5, "115500"),
            // No tolerance leaves the trigger price itself.
            (Side::Sell, "95000", 0, 5, "95000"),
            (Side::Buy, "1234.5", 0, 1, "1234.5"),
            // 111110.4 and 135801.6: whole prices may have any number of figures.
            (Side::Sell, "123456", 1000, 5, "111111"),
            (Side::Buy, "123456", 1000, 5, "135801"),
            // 1111.05 and 1357.95, to one decimal each: five figures.
            (Side::Sell, "1234.5", 1000, 1, "1111.1"),
            (Side::Buy, "1234.5", 1000, 1, "1357.9"),
            // Over and under a power of ten, where the tick changes.
            (Side::Buy, "9999.5", 100, 1, "10099"),
            (Side::Sell, "10001", 5, 1, "9996"),
            // szDecimals of 6: whole prices only.
            (Side::Sell, "7", 1000, 6, "7"),
            // The whole price as a tolerance still leaves a price.
            (Side::Sell, "7", 10_000, 2, "0.0001"),
        ] {
            let tolerance = BasisPoints::new(bps).unwrap();
            let price = worst_price(side, trigger.parse().unwrap(), tolerance, size_decimals);
            assert_eq!(price.unwrap().to_string(), expected, "{trigger} {bps}");
        }
        let wide = "9".repeat(36).parse().unwrap();
        assert_eq!(worst_price(Side::Buy, wide, BasisPoints::MAX, 0), None);
    }
}
