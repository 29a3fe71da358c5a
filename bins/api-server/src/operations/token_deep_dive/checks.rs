//! Compares the parts of a deep dive with each other. No single route can do that, because each has
//! only its own data.

use readings::{Decimal, Figure, median, percent_change};
use serde_json::{Value, json};

/// The difference in percent beyond which two prices of one coin disagree.
const SAME_PRICE_PCT: Decimal = Decimal::from_parts(2, 0, 0, false, 0);
const PLACES: u32 = 4;

/// The available data of the parts.
pub(super) struct Parts<'a> {
    pub(super) details: Option<&'a Value>,
    pub(super) dex_price: Option<&'a Value>,
    pub(super) derivatives: Option<&'a Value>,
    pub(super) candles: Option<&'a Value>,
    pub(super) pools: Option<&'a Value>,
}

/// Compares prices, and computes shares of one part's figure in another's.
pub(super) fn cross_checks(parts: &Parts<'_>, marks: &[Decimal]) -> Value {
    let catalogue = figure(parts.details, "/price_usd");
    let dex = figure(parts.dex_price, "/price_usd");
    let mark = median(marks);
    let last = figure(parts.candles, "/levels/last");
    let prices = [
        ("catalogue_against_dex", catalogue, dex),
        ("catalogue_against_perpetuals", catalogue, mark),
        ("dex_against_perpetuals", dex, mark),
        ("perpetuals_against_last_candle", mark, last),
    ];
    let prices = prices.into_iter().filter_map(|(name, one, other)| {
        let (one, other) = (one?, other?);
        let apart = percent_change(one, other)?;
        Some(json!({
            "check": name,
            "values_usd": [Figure(one), Figure(other)],
            "difference_pct": Figure(apart.round_dp(PLACES)),
            "verdict": if apart.abs() <= SAME_PRICE_PCT { "agree" } else { "differ" },
        }))
    });
    let cap = figure(parts.details, "/market_cap_usd");
    let volume = figure(parts.details, "/volume_24h_usd");
    let interest = figure(parts.derivatives, "/markets/0/aggregate/oi_usd");
    let liquidity = figure(parts.pools, "/liquidity_usd");
    let pool_volume = figure(parts.pools, "/volume_24h_usd");
    let shares = [
        ("volume_of_market_cap_pct", volume, cap),
        ("open_interest_of_market_cap_pct", interest, cap),
        ("pool_liquidity_of_market_cap_pct", liquidity, cap),
        ("pool_volume_of_all_volume_pct", pool_volume, volume),
    ];
    let shares = shares.into_iter().filter_map(|(name, part, whole)| {
        let share = part?
            .checked_mul(Decimal::ONE_HUNDRED)?
            .checked_div(whole?)?;
        Some(json!({ "ratio": name, "value_pct": Figure(share.round_dp(PLACES)) }))
    });
    json!({
        "prices": prices.collect::<Vec<_>>(),
        "ratios": shares.collect::<Vec<_>>(),
        "tolerance_pct": Figure(SAME_PRICE_PCT),
    })
}

fn figure(part: Option<&Value>, pointer: &str) -> Option<Decimal> {
    let text = part?.pointer(pointer)?.as_str()?;
    text.parse::<Figure>().ok().map(Figure::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_compared_with_each_other() {
        let details =
            json!({"price_usd": "100", "market_cap_usd": "1000000", "volume_24h_usd": "50000"});
        let dex = json!({"price_usd": "101"});
        let derivatives = json!({"markets": [{"aggregate": {"oi_usd": "20000"}}]});
        let parts = Parts {
            details: Some(&details),
            dex_price: Some(&dex),
            derivatives: Some(&derivatives),
            candles: None,
            pools: None,
        };
        let marks = ["110".parse::<Figure>().unwrap().get()];
        let checks = cross_checks(&parts, &marks);
        let verdicts: Vec<_> = checks["prices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                (
                    row["check"].as_str().unwrap(),
                    row["verdict"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            verdicts,
            [
                ("catalogue_against_dex", "agree"),
                ("catalogue_against_perpetuals", "differ"),
                ("dex_against_perpetuals", "differ"),
            ]
        );
        assert_eq!(
            checks["ratios"],
            json!([
                {"ratio": "volume_of_market_cap_pct", "value_pct": "5"},
                {"ratio": "open_interest_of_market_cap_pct", "value_pct": "2"},
            ])
        );
    }

    #[test]
    fn missing_parts_are_not_checked() {
        let none = Parts {
            details: None,
            dex_price: None,
            derivatives: None,
            candles: None,
            pools: None,
        };
        let checks = cross_checks(&none, &[]);
        assert_eq!(
            (&checks["prices"], &checks["ratios"]),
            (&json!([]), &json!([]))
        );
    }
}
