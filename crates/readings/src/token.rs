//! Tokens and coins: what markets, lists and rankings tell of them, and which of several with the
//! same name is meant.
//!
//! Names and symbols are text of strangers: anybody can call a token `USDT`. An address is an
//! identity, a symbol is a question.

pub mod board;
pub mod coin;
pub mod consensus;
pub mod curated;
pub mod market;
pub mod pools;
pub mod search;
pub mod trending;

use alloy_primitives::Address;
use serde::Serializer;

use crate::Figure;

/// For `#[serde(serialize_with = "…")]`: an address with its checksum.
pub(crate) fn checksummed<S: Serializer>(
    address: &Address,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(address)
}

/// For `#[serde(serialize_with = "…")]`: a time or a day in its text form, or `null`.
pub(crate) fn written<T: std::fmt::Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

/// A figure that counts things: whole and not negative, otherwise nothing.
#[must_use]
pub fn count(figure: Figure) -> Option<u64> {
    let decimal = figure.get();
    decimal.is_integer().then(|| u64::try_from(decimal).ok()).flatten()
}

/// A figure that measures something which cannot be negative, such as a volume.
#[must_use]
pub fn measure(figure: Option<Figure>) -> Option<Figure> {
    figure.filter(|figure| !figure.get().is_sign_negative() || figure.get().is_zero())
}

/// The larger figure first, unknown ones last.
fn larger_first(a: Option<Figure>, b: Option<Figure>) -> std::cmp::Ordering {
    // `None` is below every figure.
    b.cmp(&a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_and_measures_are_not_negative() {
        let of = |text: &str| text.parse::<Figure>().unwrap();
        assert_eq!(count(of("41234")), Some(41234));
        assert_eq!(count(of("3.0")), Some(3));
        for none in ["1.5", "-1", "1e20"] {
            assert_eq!(count(of(none)), None, "{none}");
        }
        assert_eq!(measure(Some(of("-0.01"))), None);
        assert_eq!(measure(Some(of("0"))), Some(of("0")));
        assert_eq!(measure(None), None);
    }
}
