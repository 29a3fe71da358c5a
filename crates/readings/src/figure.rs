//! Exact decimal numbers. They are read from text, so none of them was ever a float.

use std::{fmt, str::FromStr};

pub use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::value::RawValue;

use crate::unreadable;

/// A figure as an upstream writes it: a JSON number, or a string with one. It is read from its
/// text, and written as a decimal string without exponent and without trailing zeros.
///
/// Digits beyond the 28th are rounded. A text that is not a number, or a number that is too large,
/// is an error. Many upstreams write an unknown value as an empty string. Read such a value as
/// `Option<Figure>` with [`Figure::or_none`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Figure(pub Decimal);

/// The text is not a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a decimal number of at most 28 digits")]
pub struct FigureError;

impl Figure {
    /// Reads an optional figure, by `#[serde(default, deserialize_with = "Figure::or_none")]`. A
    /// member that is missing, `null` or an empty string is `None`. Any other value that is not a
    /// figure is an error.
    ///
    /// # Errors
    ///
    /// The value is present and is not a figure.
    pub fn or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        let Some(raw) = Option::<Box<RawValue>>::deserialize(deserializer)? else {
            return Ok(None);
        };
        match raw.get() {
            "null" | "\"\"" => Ok(None),
            text => text_of(text).map(Some).map_err(D::Error::custom),
        }
    }

    /// Reads a figure that is an optional detail. A value that is not a figure becomes `None`, and
    /// is counted ([`unreadable::counting`]). A missing member, `null` and an empty string are
    /// `None` as well, and are not counted.
    ///
    /// # Errors
    ///
    /// Only when the text is not JSON.
    pub fn lenient<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        let raw = Option::<Box<RawValue>>::deserialize(deserializer)?;
        let Some(raw) = raw.filter(|raw| !matches!(raw.get(), "null" | "\"\"")) else {
            return Ok(None);
        };
        let read = text_of(raw.get()).ok();
        if read.is_none() {
            unreadable::note();
        }
        Ok(read)
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> Decimal {
        self.0
    }
}

/// Reads a JSON text that is a number or a string with one.
fn text_of(json: &str) -> Result<Figure, FigureError> {
    match json
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    {
        Some(inner) => inner.parse(),
        None => json.parse(),
    }
}

impl FromStr for Figure {
    type Err = FigureError;

    fn from_str(text: &str) -> Result<Self, FigureError> {
        let plain =
            |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E');
        let digits = text.bytes().any(|byte| byte.is_ascii_digit());
        if !digits || !text.bytes().all(plain) || text.len() > 512 {
            return Err(FigureError);
        }
        let read = if text.contains(['e', 'E']) {
            Decimal::from_scientific(text)
        } else {
            Decimal::from_str(text)
        };
        read.map(Self).map_err(|_| FigureError)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.normalize().fmt(f)
    }
}

impl From<Decimal> for Figure {
    fn from(decimal: Decimal) -> Self {
        Self(decimal)
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        text_of(raw.get()).map_err(D::Error::custom)
    }
}

/// Returns the median. With an even count it is the mean of the middle two. `None` for an empty
/// list, and when it overflows.
#[must_use]
pub fn median(figures: &[Decimal]) -> Option<Decimal> {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable();
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get(middle.checked_sub(1)?)?;
    lower.checked_add(upper)?.checked_div(Decimal::TWO)
}

/// Returns the change from `then` to `now` in percent. `None` when `then` is zero, and when it
/// overflows.
#[must_use]
pub fn percent_change(then: Decimal, now: Decimal) -> Option<Decimal> {
    share_pct(now.checked_sub(then)?, then)
}

/// Returns which part of `whole` is `part`, in percent. `None` when `whole` is zero, and when it
/// overflows.
#[must_use]
pub fn share_pct(part: Decimal, whole: Decimal) -> Option<Decimal> {
    part.checked_div(whole)?.checked_mul(Decimal::ONE_HUNDRED)
}

/// Returns the sum of some numbers. `None` when it overflows.
#[must_use]
pub fn sum(numbers: impl IntoIterator<Item = Decimal>) -> Option<Decimal> {
    let mut numbers = numbers.into_iter();
    numbers.try_fold(Decimal::ZERO, |sum, number| sum.checked_add(number))
}

/// Returns the mean of some numbers. `None` for an empty list, and when it overflows.
#[must_use]
pub fn mean(numbers: &[Decimal]) -> Option<Decimal> {
    sum(numbers.iter().copied())?.checked_div(Decimal::from(numbers.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Row {
        #[serde(default, deserialize_with = "Figure::or_none")]
        price: Option<Figure>,
        #[serde(default, deserialize_with = "Figure::lenient")]
        extra: Option<Figure>,
    }

    fn price(json: &str) -> Option<Option<String>> {
        let row: Row = serde_json::from_str(&format!("{{{json}}}")).ok()?;
        Some(row.price.map(|figure| figure.to_string()))
    }

    #[test]
    fn figures_keep_the_digits_of_their_text() {
        let some = |text: &str| Some(Some(text.to_owned()));
        assert_eq!(price(r#""price":97234.120"#), some("97234.12"));
        assert_eq!(price(r#""price":"0.0000001""#), some("0.0000001"));
        assert_eq!(price(r#""price":1e-7"#), some("0.0000001"));
        assert_eq!(price(r#""price":-1.5E+3"#), some("-1500"));
        assert_eq!(
            price(r#""price":9007199254740993"#),
            some("9007199254740993")
        );
        assert_eq!(price(r#""price":"-0.0""#), some("0"));
    }

    #[test]
    fn an_absent_figure_is_not_zero_and_malformed_ones_are_refused() {
        for nothing in ["", r#""price":null"#, r#""price":"""#] {
            assert_eq!(price(nothing), Some(None), "{nothing}");
        }
        for nonsense in [
            r#""price":"NaN""#,
            r#""price":"n/a""#,
            r#""price":true"#,
            r#""price":{}"#,
            r#""price":"1,5""#,
            r#""price":"1 ""#,
            r#""price":1e99"#,
            r#""price":"Infinity""#,
            r#""price":"0x10""#,
            r#""price":".""#,
            r#""price":"1_000""#,
        ] {
            assert_eq!(price(nonsense), None, "{nonsense}");
        }
        let row: Row = serde_json::from_str(r#"{"extra":"much"}"#).unwrap();
        assert!(row.extra.is_none() && row.price.is_none());
        let left_out = |json: &str| {
            let read = || serde_json::from_str::<Row>(json).unwrap().extra;
            unreadable::counting(read).1
        };
        assert_eq!(left_out(r#"{"extra":"much"}"#), 1);
        for nothing in [
            r#"{}"#,
            r#"{"extra":null}"#,
            r#"{"extra":""}"#,
            r#"{"extra":1}"#,
        ] {
            assert_eq!(left_out(nothing), 0, "{nothing}");
        }
    }

    #[test]
    fn medians_and_changes_are_exact() {
        let of = |text: &str| text.parse::<Figure>().unwrap().0;
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[of("3"), of("1"), of("2")]), Some(of("2")));
        assert_eq!(median(&[of("1"), of("2")]), Some(of("1.5")));
        assert_eq!(percent_change(of("80"), of("100")), Some(of("25")));
        assert_eq!(percent_change(of("0"), of("1")), None);
        assert_eq!(share_pct(of("1"), of("8")), Some(of("12.5")));
        assert_eq!(share_pct(Decimal::MAX, of("0.001")), None);
    }
}
