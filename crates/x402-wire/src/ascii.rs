//! JSON in pure ASCII.
//!
//! A client that reads a header with `atob()` takes UTF-8 for Latin-1. It would then sign under a
//! wrong token name without noticing.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter};

/// Serialises a value as compact JSON in which every character outside ASCII is written `\uXXXX`.
///
/// # Errors
/// A value that JSON cannot hold, such as a map with keys that are no strings. Every type of this
/// crate can be serialised.
///
/// # Example
/// ```
/// assert_eq!(x402_wire::ascii_json(&"USD₮0")?, r#""USD\u20ae0""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn ascii_json<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    let mut out = Vec::with_capacity(512);
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, AsciiFormatter);
    value.serialize(&mut serializer)?;
    String::from_utf8(out).map_err(serde::ser::Error::custom)
}

/// Like [`ascii_json`], for a type of this crate. JSON can always represent it.
pub(crate) fn own_json<T: Serialize + ?Sized>(value: &T) -> String {
    ascii_json(value).unwrap_or_default()
}

/// Appends `text` to `out` as the inside of a JSON string (no quotes), in pure ASCII.
///
/// For code that writes JSON by hand on a hot path.
///
/// # Example
/// ```
/// let mut json = String::from("\"");
/// x402_wire::push_ascii_escaped(&mut json, "5 € \"net\"");
/// json.push('"');
/// assert_eq!(json, r#""5 \u20ac \"net\"""#);
/// ```
pub fn push_ascii_escaped(out: &mut String, text: &str) {
    // Nearly every text is plain. Without a branch for each byte the compiler compares many at
    // once.
    let plain = |byte: &u8| (0x20..0x7f).contains(byte) & (*byte != b'"') & (*byte != b'\\');
    if text
        .as_bytes()
        .iter()
        .fold(true, |all, byte| all & plain(byte))
    {
        out.push_str(text);
        return;
    }
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str("\\u");
                    for shift in [12, 8, 4, 0] {
                        let nibble = u32::from((*unit >> shift) & 0xf);
                        out.push(char::from_digit(nibble, 16).unwrap_or('0'));
                    }
                }
            }
        }
    }
}

struct AsciiFormatter;

impl Formatter for AsciiFormatter {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.bytes().all(|b| (0x20..0x7f).contains(&b)) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut escaped = String::with_capacity(fragment.len() + 8);
        push_ascii_escaped(&mut escaped, fragment);
        writer.write_all(escaped.as_bytes())
    }

    /// Writes JSON that is passed on as it came. Only its strings can have characters outside
    /// ASCII.
    fn write_raw_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.is_ascii() {
            return writer.write_all(fragment.as_bytes());
        }
        let mut escaped = String::with_capacity(fragment.len() + 8);
        for c in fragment.chars() {
            if c.is_ascii() {
                escaped.push(c);
            } else {
                push_ascii_escaped(&mut escaped, c.encode_utf8(&mut [0; 4]));
            }
        }
        writer.write_all(escaped.as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        serde_json::ser::CompactFormatter.write_char_escape(writer, escape)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_controls_and_supplementary_characters() {
        assert_eq!(
            ascii_json("a\u{7f}\u{1}\n\"\\").unwrap(),
            r#""a\u007f\u0001\n\"\\""#
        );
        assert_eq!(ascii_json("🚀").unwrap(), r#""\ud83d\ude80""#);
    }

    #[test]
    fn json_that_is_passed_on_becomes_ascii_and_stays_the_same() {
        let foreign = "{ \"a\" : \"\u{20ac} \\\"\u{1f680}\" }";
        let raw = serde_json::value::RawValue::from_string(foreign.to_owned()).unwrap();
        let json = ascii_json(&raw).unwrap();
        assert_eq!(json, r#"{ "a" : "\u20ac \"\ud83d\ude80" }"#);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["a"], "\u{20ac} \"\u{1f680}");
    }

    proptest! {
        #[test]
        fn any_text_survives_in_ascii(text: String) {
            let json = ascii_json(&text).unwrap();
            prop_assert!(json.is_ascii());
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text.clone());

            let mut by_hand = String::from("\"");
            push_ascii_escaped(&mut by_hand, &text);
            by_hand.push('"');
            prop_assert_eq!(serde_json::from_str::<String>(&by_hand).unwrap(), text);
        }
    }
}
