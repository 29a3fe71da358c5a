//! Value locked and yields: which protocols and pools count, how a yield is graded, what an amount
//! would earn after gas, and which balances earn nothing.
//!
//! The limits and the rules of the grades are constants here, and the answers state them, so that a
//! reader can check a grade by hand.

pub mod apy;
pub mod assets;
pub mod chains;
pub mod gas;
pub mod grade;
pub mod history;
pub mod idle;
pub mod market;
pub mod placement;
pub mod pool;
pub mod position;
pub mod realised;
pub mod recommend;
pub mod tvl;

use rust_decimal::{Decimal, RoundingStrategy};

use crate::Figure;

/// Rounds `value` to at most `digits` digits after the point, towards zero. So rounding never
/// raises a yield.
fn cut(value: Decimal, digits: u32) -> Figure {
    Figure(
        value
            .round_dp_with_strategy(digits, RoundingStrategy::ToZero)
            .normalize(),
    )
}

/// Rounds `value` to at most `digits` digits after the point, away from zero. So rounding never
/// lowers a cost.
fn up(value: Decimal, digits: u32) -> Figure {
    let strategy = RoundingStrategy::AwayFromZero;
    Figure(value.round_dp_with_strategy(digits, strategy).normalize())
}

/// Returns the sum. `None` when it overflows.
fn sum(values: impl IntoIterator<Item = Decimal>) -> Option<Decimal> {
    let mut values = values.into_iter();
    values.try_fold(Decimal::ZERO, Decimal::checked_add)
}

/// Returns the letters and digits of a name, in lower case. Names of protocols and chains are
/// compared in this form, because one source writes `Aave V3` and another `aave-v3`.
fn folded(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_never_rounds_up() {
        let cut_text = |text: &str| cut(text.parse().unwrap(), 2).to_string();
        assert_eq!(cut_text("4.129"), "4.12");
        assert_eq!(cut_text("-4.129"), "-4.12");
        assert_eq!(cut_text("4"), "4");
    }

    #[test]
    fn names_of_one_thing_at_two_sources_are_equal() {
        assert_eq!(folded("Aave V3"), folded("aave-v3"));
        assert_ne!(folded("Aave V3"), folded("Aave V2"));
        assert_eq!(folded("X Layer"), "xlayer");
    }
}
