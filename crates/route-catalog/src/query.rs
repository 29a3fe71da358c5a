//! Splits and decodes query strings. Decoding is strict: it guesses nothing.

use std::borrow::Cow;

use crate::problem::{ParameterFault, shown};

/// Returns the raw pairs of a query. Empty pieces between two `&` are ignored. A piece without `=`
/// is a name with an empty value.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query
        .split('&')
        .filter(|piece| !piece.is_empty())
        .map(|piece| piece.split_once('=').unwrap_or((piece, "")))
}

/// Decodes `%XX`, and `+` as a space. Every `%` must begin an escape, and the decoded bytes must be
/// UTF-8.
pub(crate) fn decode(raw: &str) -> Result<Cow<'_, str>, ParameterFault> {
    if !raw.bytes().any(|byte| matches!(byte, b'%' | b'+')) {
        return Ok(Cow::Borrowed(raw));
    }
    let mut decoded = Vec::with_capacity(raw.len());
    let mut bytes = raw.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = (bytes.next().and_then(nibble), bytes.next().and_then(nibble));
                let (Some(high), Some(low)) = digits else {
                    return Err(bad_escape(raw));
                };
                high << 4 | low
            }
            other => other,
        });
    }
    String::from_utf8(decoded)
        .map(Cow::Owned)
        .map_err(|error| ParameterFault::NotUtf8 {
            offset: error.utf8_error().valid_up_to(),
        })
}

const fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// Returns the problem of the first bad escape in `raw`.
fn bad_escape(raw: &str) -> ParameterFault {
    let escape = raw
        .match_indices('%')
        .map(|(at, _)| raw.get(at..).unwrap_or_default())
        .find(|rest| {
            let mut digits = rest.bytes().skip(1).map(nibble);
            !matches!(
                (digits.next(), digits.next()),
                (Some(Some(_)), Some(Some(_)))
            )
        });
    let piece: String = escape.unwrap_or_default().chars().take(3).collect();
    ParameterFault::Escape {
        observed: shown(&piece),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_are_decoded() {
        assert_eq!(decode("a%20b+c%2B").unwrap(), "a b c+");
        assert_eq!(decode("USD%E2%82%AE0").unwrap(), "USD₮0");
        assert_eq!(decode("plain").unwrap(), "plain");
    }

    #[test]
    fn broken_escapes_are_named() {
        for (raw, observed) in [
            ("%", "\"%\""),
            ("%2", "\"%2\""),
            ("%41%zz1", "\"%zz\""),
            ("%€", "\"%€\""),
        ] {
            assert_eq!(
                decode(raw),
                Err(ParameterFault::Escape {
                    observed: observed.into()
                }),
                "{raw}"
            );
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_reported_with_their_offset() {
        assert_eq!(decode("ab%FF"), Err(ParameterFault::NotUtf8 { offset: 2 }));
        assert_eq!(decode("%C3%28"), Err(ParameterFault::NotUtf8 { offset: 0 }));
    }

    #[test]
    fn pieces_without_a_value_have_an_empty_one() {
        let found: Vec<_> = pairs("a=1&&b&c=&=d&e=f=g").collect();
        assert_eq!(
            found,
            [("a", "1"), ("b", ""), ("c", ""), ("", "d"), ("e", "f=g")]
        );
        assert_eq!(pairs("").count(), 0);
    }

    proptest! {
        #[test]
        fn any_encoded_text_decodes_to_itself(text in any::<String>()) {
            let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
            prop_assert_eq!(decode(&encoded).unwrap(), text);
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = decode(&text);
        }
    }
}
