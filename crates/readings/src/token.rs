//! Tokens and coins: what markets, lists and rankings say about them, and which of several tokens
//! with one name is meant.
//!
//! Names and symbols are texts of strangers: anybody can call a token `USDT`. Only an address
//! identifies a token.

pub mod board;
pub mod coin;
pub mod consensus;
pub mod curated;
pub mod impact;
pub mod market;
pub mod pools;
pub mod search;
pub mod trending;

use std::collections::BTreeMap;

use alloy_primitives::Address;
use serde::Serializer;
use url::Url;

use crate::Figure;

/// The longest address of a picture or a page.
const MAX_URL_LEN: usize = 512;

/// Writes an address with its checksum. For `#[serde(serialize_with = "…")]`.
pub(crate) fn checksummed<S: Serializer>(
    address: &Address,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(address)
}

/// Writes a time or a day as text, or `null`. For `#[serde(serialize_with = "…")]`.
pub(crate) fn written<T: std::fmt::Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

/// Reads a figure that counts things. `None` unless it is whole and not negative.
#[must_use]
pub fn count(figure: Figure) -> Option<u64> {
    let decimal = figure.get();
    decimal
        .is_integer()
        .then(|| u64::try_from(decimal).ok())
        .flatten()
}

/// Reads a figure that cannot be negative, such as a volume. `None` when it is negative.
#[must_use]
pub fn measure(figure: Option<Figure>) -> Option<Figure> {
    figure.filter(|figure| !figure.get().is_sign_negative() || figure.get().is_zero())
}

/// Returns `rows` by their keys, in order and each once. When rows contradict each other about one
/// key, all of them are left out, because nothing says which is right.
#[must_use]
pub fn undisputed<T, K: Ord>(
    rows: Vec<T>,
    key: impl Fn(&T) -> K,
    agree: impl Fn(&T, &T) -> bool,
) -> Vec<T> {
    let mut kept: Vec<Option<T>> = Vec::with_capacity(rows.len());
    let mut places: BTreeMap<K, usize> = BTreeMap::new();
    for row in rows {
        let place = *places.entry(key(&row)).or_insert(kept.len());
        match kept.get_mut(place) {
            None => kept.push(Some(row)),
            Some(known) if known.as_ref().is_none_or(|known| agree(known, &row)) => {}
            Some(disputed) => *disputed = None,
        }
    }
    kept.into_iter().flatten().collect()
}

/// Returns an `https` address in its normal form. `None` for any other text, because other schemes
/// can run code where they are shown.
#[must_use]
pub fn https(text: &str) -> Option<String> {
    let url = Url::parse(text)
        .ok()
        .filter(|url| url.scheme() == "https" && url.has_host())?;
    (url.as_str().len() <= MAX_URL_LEN).then(|| url.into())
}

/// Orders the larger figure first, and unknown ones last.
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

    #[test]
    fn contradictory_rows_are_left_out_together() {
        let rows = vec![("a", 6), ("b", 18), ("a", 6), ("c", 1), ("b", 6), ("b", 18)];
        let kept = undisputed(rows, |row| row.0, |a, b| a.1 == b.1);
        assert_eq!(kept, [("a", 6), ("c", 1)]);
        assert!(undisputed(Vec::<(u8, u8)>::new(), |row| row.0, |a, b| a == b).is_empty());
    }

    #[test]
    fn addresses_of_pages_are_https_only() {
        let normal = https("https://a.example/usd₮0.png");
        assert_eq!(
            normal.as_deref(),
            Some("https://a.example/usd%E2%82%AE0.png")
        );
        let long = format!("https://a.example/{}", "a".repeat(512));
        for bad in [
            "javascript:alert(1)",
            "http://a/x.png",
            "data:image/png;base64,AA",
            "//a/x.png",
            "https://",
            &long,
        ] {
            assert_eq!(https(bad), None, "{bad}");
        }
    }
}
