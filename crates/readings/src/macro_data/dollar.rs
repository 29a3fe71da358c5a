//! A dollar index from six exchange rates.

use rust_decimal::MathematicalOps;

use crate::Decimal;

/// The exchange rates of one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DollarRates {
    /// Dollars for a euro.
    pub eurusd: Decimal,
    /// Yen for a dollar.
    pub usdjpy: Decimal,
    /// Dollars for a pound.
    pub gbpusd: Decimal,
    /// Canadian dollars for a dollar.
    pub usdcad: Decimal,
    /// Swedish kronor for a dollar.
    pub usdsek: Decimal,
    /// Swiss francs for a dollar.
    pub usdchf: Decimal,
}

/// The decimal places of the index.
const PLACES: u32 = 4;

/// Computes the index by the published formula of the dollar index, a weighted geometric mean:
/// `50.14348112 × EURUSD^-0.576 × USDJPY^0.136 × GBPUSD^-0.119 × USDCAD^0.091 × USDSEK^0.042 ×
/// USDCHF^0.036`. With reference rates it is close to ICE DXY at one moment of the day, but it is
/// not ICE DXY. `None` when a rate is not positive.
#[must_use]
pub fn derived_index(rates: &DollarRates) -> Option<Decimal> {
    let thousandths = |weight: i64| Decimal::new(weight, 3);
    let weighted = [
        (rates.eurusd, thousandths(-576)),
        (rates.usdjpy, thousandths(136)),
        (rates.gbpusd, thousandths(-119)),
        (rates.usdcad, thousandths(91)),
        (rates.usdsek, thousandths(42)),
        (rates.usdchf, thousandths(36)),
    ];
    // One exponential of a sum of logarithms is more precise than six powers.
    let mut exponent = Decimal::new(5_014_348_112, 8).checked_ln()?;
    for (rate, weight) in weighted {
        exponent = exponent.checked_add(rate.checked_ln()?.checked_mul(weight)?)?;
    }
    let tolerance = Decimal::new(1, 15);
    Some(
        exponent
            .checked_exp_with_tolerance(tolerance)?
            .round_dp(PLACES),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Figure;

    fn index(rates: [&str; 6]) -> Option<String> {
        let [eurusd, usdjpy, gbpusd, usdcad, usdsek, usdchf] =
            rates.map(|rate| rate.parse::<Figure>().unwrap().0);
        let rates = DollarRates {
            eurusd,
            usdjpy,
            gbpusd,
            usdcad,
            usdsek,
            usdchf,
        };
        derived_index(&rates).map(|index| Figure(index).to_string())
    }

    #[test]
    fn known_rates_give_known_indices() {
        assert_eq!(index(["1"; 6]).as_deref(), Some("50.1435"));
        // Another program computed these with 50 digits.
        let of_2026 = [
            "1.159904424",
            "156.21",
            "1.310427068",
            "1.4021",
            "9.4712",
            "0.8071",
        ];
        assert_eq!(index(of_2026).as_deref(), Some("99.654"));
        let of_2008 = ["1.5988", "100.00", "1.9800", "1.0050", "5.8700", "1.0100"];
        assert_eq!(index(of_2008).as_deref(), Some("71.1478"));
    }

    #[test]
    fn a_dearer_dollar_gives_a_higher_index() {
        let base = ["1.16", "156", "1.31", "1.40", "9.47", "0.81"];
        let mut dearer = base;
        dearer[1] = "157";
        let parsed = |rates| index(rates).unwrap().parse::<Figure>().unwrap();
        assert!(parsed(dearer) > parsed(base));
        dearer = base;
        dearer[0] = "1.15";
        assert!(parsed(dearer) > parsed(base));
    }

    #[test]
    fn an_invalid_rate_gives_no_index() {
        for wrong in ["0", "-1"] {
            assert_eq!(index([wrong, "1", "1", "1", "1", "1"]), None);
        }
    }
}
