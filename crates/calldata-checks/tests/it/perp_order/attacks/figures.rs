//! Prices, sizes and values that differ from the request.

use calldata_checks::BasisPoints;
use calldata_checks::perp_order::Side;

use crate::perp_order::draft::{Draft, decimal};

/// Asks for another price and size, and builds exactly that.
fn asked(price: &str, size: &str) -> impl FnOnce(&mut Draft) {
    move |draft| {
        draft.ask.price = decimal(price);
        draft.ask.size = decimal(size);
        draft.plan.action.orders[0].price = price.to_owned();
        draft.plan.action.orders[0].size = size.to_owned();
    }
}

#[test]
fn a_price_off_the_tick() {
    for price in ["12345.6", "100000.5", "1234.56", "0"] {
        assert_eq!(
            Draft::plain().refused_after(asked(price, "1")),
            "perp_price_tick_exact"
        );
    }
    // The rule moves with szDecimals.
    let name = Draft::plain().refused_after(|draft| {
        asked("1234.5", "1")(draft);
        draft.plan.venue.size_decimals = 6;
    });
    assert_eq!(name, "perp_price_tick_exact");
}

#[test]
fn a_size_off_the_lot() {
    for size in ["0.001234", "0"] {
        assert_eq!(
            Draft::plain().refused_after(asked("100000", size)),
            "perp_size_lot_exact"
        );
    }
}

#[test]
fn an_order_worth_too_little_or_too_much_to_count() {
    for (price, size) in [("99999", "0.0001"), ("1", "9.99999"), ("0.1", "99.9")] {
        let name = Draft::plain().refused_after(asked(price, size));
        assert_eq!(name, "perp_min_notional", "{price} {size}");
    }
    let (price, size) = ("9".repeat(36), "9".repeat(31));
    assert_eq!(
        Draft::plain().refused_after(asked(&price, &size)),
        "perp_min_notional"
    );
    let mut exact = Draft::plain();
    asked("100000", "0.0001")(&mut exact);
    exact.commit();
    exact.judge().expect("exactly 10 USD is enough");
}

/// The rest of a position can be closed however little it is worth, as at the venue.
#[test]
fn an_order_that_only_reduces_has_no_least_value() {
    for (price, size) in [("100000", "0.00001"), ("99999", "0.0001")] {
        let mut draft = Draft::plain();
        asked(price, size)(&mut draft);
        draft.ask.reduce_only = true;
        draft.plan.action.orders[0].reduce_only = true;
        draft.commit();
        let report = draft.judge().unwrap();
        let value = report
            .assertions()
            .iter()
            .find(|a| a.name == "perp_min_notional");
        assert_eq!(
            value.unwrap().observed.as_str(),
            "reduce-only: no least value"
        );
    }
}

#[test]
fn a_slip_of_a_digit() {
    // The mark is 100200.5: within 5 % a buyer pays at most 105210.525, and a seller asks at least
    // 95190.475.
    for (is_buy, band, price, holds) in [
        (true, 500, "105210", true),
        (true, 500, "105211", false),
        (true, 500, "1000000", false),
        (true, 500, "1000", true),
        (false, 500, "95191", true),
        (false, 500, "95190", false),
        (false, 500, "1000", false),
        (false, 500, "1000000", true),
        // The operator configures these bands.
        (true, 9500, "195390", true),
        (true, 9500, "195391", false),
        (false, 9500, "5011", true),
        (false, 9500, "5010", false),
        (true, 1, "100210", true),
        (true, 1, "100211", false),
    ] {
        let mut draft = Draft::plain();
        draft.policy.perp_price_band = BasisPoints::new(band).unwrap();
        draft.ask.side = if is_buy { Side::Buy } else { Side::Sell };
        draft.plan.action.orders[0].is_buy = is_buy;
        asked(price, "0.1")(&mut draft);
        draft.commit();
        let judged = draft.judge().map(|_| ()).map_err(|failure| failure.check);
        let expected = if holds {
            Ok(())
        } else {
            Err("perp_price_band")
        };
        assert_eq!(judged, expected, "{is_buy} {price} within {band}");
    }
    let name = Draft::plain().refused_after(|draft| draft.plan.venue.mark_price = None);
    assert_eq!(name, "perp_price_band");
}

#[test]
fn a_refused_price_is_shown_with_its_bound() {
    for (is_buy, price, expected) in [
        (true, "105211", "at most 105210.525: 500 bps of 100200.5"),
        (false, "95190", "at least 95190.475: 500 bps of 100200.5"),
    ] {
        let mut draft = Draft::plain();
        draft.ask.side = if is_buy { Side::Buy } else { Side::Sell };
        draft.plan.action.orders[0].is_buy = is_buy;
        asked(price, "0.1")(&mut draft);
        draft.commit();
        let violation = draft.judge().unwrap_err().violation;
        assert_eq!(
            (violation.expected.as_str(), violation.observed.as_str()),
            (expected, price)
        );
    }
}
