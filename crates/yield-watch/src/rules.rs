//! The rules of a mandate, and the bounds of each rule.

use readings::{Decimal, Figure};
use serde::{Deserialize, Serialize};

/// The fewest seconds between checks.
const MIN_INTERVAL_SECONDS: u64 = 3_600;
/// The most seconds between checks: 180 days.
const MAX_INTERVAL_SECONDS: u64 = 180 * 86_400;
/// The largest minimum gain in APY, in basis points.
const MAX_DELTA_BPS: u32 = 100_000;
/// The largest allowed slippage, in basis points.
const MAX_SLIPPAGE_BPS: u32 = 5_000;
/// The most moves in a day.
pub const MAX_MOVES: u32 = 24;
/// The most protocols of one mandate.
const MAX_PROTOCOLS: usize = 32;
/// The most bytes of a protocol's slug.
const MAX_SLUG: usize = 64;

/// The rules of a mandate, as a caller states them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The smallest gain in APY that counts, in basis points.
    pub min_apy_delta_bps: u32,
    /// The most slippage of a move, in basis points. A mandate that only notifies records it, and
    /// does not use it.
    pub max_slippage_bps: u32,
    /// The most dollars of one move. A mandate that only notifies records it, and does not use it.
    pub max_move_usd: Figure,
    /// The slugs that DefiLlama gives to the allowed protocols.
    pub allowed_protocols: Vec<String>,
    /// The seconds between checks.
    pub check_interval: u64,
    /// The most moves in any 24 hours. A mandate that only notifies records it, and does not use
    /// it.
    #[serde(default = "one_move")]
    pub max_moves_per_day: u32,
    /// The fewest dollars that a move must gain until the mandate's end, at present yields and
    /// after its cost. A mandate that only notifies records it, and does not use it.
    #[serde(default = "one_dollar")]
    pub min_gain_usd: Figure,
}

/// The default of [`Rules::max_moves_per_day`].
const fn one_move() -> u32 {
    1
}

/// The default of [`Rules::min_gain_usd`].
const fn one_dollar() -> Figure {
    Figure(Decimal::ONE)
}

/// A rule that is out of bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The member, as a path in the request.
    pub path: &'static str,
    /// The required value.
    pub expected: &'static str,
}

impl Rules {
    /// Returns the rules that are out of bounds. Empty when all are valid.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let slug = |text: &String| {
            let of_slug = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
            (1..=MAX_SLUG).contains(&text.len()) && text.bytes().all(of_slug)
        };
        let rules = [
            (
                (1..=MAX_DELTA_BPS).contains(&self.min_apy_delta_bps),
                "rules.min_apy_delta_bps",
                "1 to 100000",
            ),
            (
                (1..=MAX_SLIPPAGE_BPS).contains(&self.max_slippage_bps),
                "rules.max_slippage_bps",
                "1 to 5000",
            ),
            (
                self.max_move_usd.0 > Decimal::ZERO,
                "rules.max_move_usd",
                "more than 0",
            ),
            (
                (1..=MAX_PROTOCOLS).contains(&self.allowed_protocols.len())
                    && self.allowed_protocols.iter().all(slug),
                "rules.allowed_protocols",
                "1 to 32 slugs of lower-case letters, digits, `-` and `.`",
            ),
            (
                (MIN_INTERVAL_SECONDS..=MAX_INTERVAL_SECONDS).contains(&self.check_interval),
                "rules.check_interval",
                "3600 to 15552000 seconds",
            ),
            (
                (1..=MAX_MOVES).contains(&self.max_moves_per_day),
                "rules.max_moves_per_day",
                "1 to 24",
            ),
            (
                !self.min_gain_usd.0.is_sign_negative() || self.min_gain_usd.0.is_zero(),
                "rules.min_gain_usd",
                "0 or more",
            ),
        ];
        let broken = rules.into_iter().filter(|(holds, ..)| !holds);
        broken
            .map(|(_, path, expected)| Problem { path, expected })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules {
            min_apy_delta_bps: 50,
            max_slippage_bps: 50,
            max_move_usd: Figure(Decimal::from(1_000)),
            allowed_protocols: vec!["aave-v3".to_owned()],
            check_interval: 3_600,
            max_moves_per_day: 1,
            min_gain_usd: Figure(Decimal::ONE),
        }
    }

    #[test]
    fn rules_at_their_bounds_are_valid() {
        assert_eq!(rules().problems(), []);
        let widest = Rules {
            min_apy_delta_bps: 100_000,
            max_slippage_bps: 5_000,
            allowed_protocols: vec!["a".repeat(64); 32],
            check_interval: 15_552_000,
            max_moves_per_day: 24,
            min_gain_usd: Figure(Decimal::ZERO),
            ..rules()
        };
        assert_eq!(widest.problems(), []);
    }

    /// Mandates that were stored before these rules existed are bounded by their defaults.
    #[test]
    fn missing_bounds_of_moves_have_defaults() {
        let mut stored = serde_json::to_value(rules()).unwrap();
        let members = stored.as_object_mut().unwrap();
        members.remove("max_moves_per_day").unwrap();
        members.remove("min_gain_usd").unwrap();
        assert_eq!(serde_json::from_value::<Rules>(stored).unwrap(), rules());
    }

    #[test]
    fn all_problems_are_returned_together() {
        let none_holds = Rules {
            min_apy_delta_bps: 0,
            max_slippage_bps: 5_001,
            max_move_usd: Figure(Decimal::ZERO),
            allowed_protocols: vec!["Aave V3".to_owned()],
            check_interval: 3_599,
            max_moves_per_day: 0,
            min_gain_usd: Figure(Decimal::NEGATIVE_ONE),
        };
        let paths: Vec<_> = none_holds.problems().iter().map(|one| one.path).collect();
        assert_eq!(
            paths,
            [
                "rules.min_apy_delta_bps",
                "rules.max_slippage_bps",
                "rules.max_move_usd",
                "rules.allowed_protocols",
                "rules.check_interval",
                "rules.max_moves_per_day",
                "rules.min_gain_usd",
            ]
        );
    }
}
