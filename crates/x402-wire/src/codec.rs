//! The header codec: base64 of JSON. Strict in what it writes (standard alphabet, padding),
//! tolerant in what it reads (either alphabet, padded or not), and never recursing on foreign
//! nesting.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};
use thiserror::Error;

/// How deeply a payment's JSON may nest. Real payments stay below 16 levels even when they echo the
/// schemas of every extension.
pub const MAX_DEPTH: usize = 32;

/// Why a `PAYMENT-SIGNATURE` value is not a payment.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// Neither the standard nor the URL-safe alphabet, or a length that base64 cannot have.
    #[error("the header is not base64")]
    Base64,
    /// Decoded bytes that are not UTF-8 text.
    #[error("the decoded header is not UTF-8 text")]
    Utf8,
    /// Nested more deeply than [`MAX_DEPTH`].
    #[error("the decoded JSON nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// Not JSON, or JSON of another shape than a payment of x402 v2.
    #[error("the decoded JSON is not an x402 v2 payment: {detail}")]
    Schema {
        /// What the parser expected and where.
        detail: String,
    },
    /// A payment of another protocol version.
    #[error("expected x402Version 2, observed {observed}")]
    Version {
        /// The version that the payment names.
        observed: u64,
    },
    /// `extensions.payment-identifier.info.id` breaks the extension's rule.
    #[error("a payment identifier is 16 to 128 characters of A-Z, a-z, 0-9, `_` and `-`")]
    PaymentId,
}

impl HeaderError {
    /// The stable reason code of this error (x402 v2 section 9).
    #[must_use]
    pub fn reason(&self) -> crate::Reason {
        match self {
            Self::Version { .. } => crate::Reason::InvalidX402Version,
            _ => crate::Reason::InvalidPayload,
        }
    }
}

const TOLERANT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// One engine for each alphabet: with the processor's vector instructions where the library has
/// them.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod engines {
    use super::*;
    use base64::engine::Simd;

    pub(super) static STANDARD: LazyLock<Simd> = LazyLock::new(|| Simd::standard(TOLERANT));
    pub(super) static URL_SAFE: LazyLock<Simd> = LazyLock::new(|| Simd::url_safe(TOLERANT));
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod engines {
    use super::*;
    use base64::{alphabet, engine::GeneralPurpose as Scalar};

    pub(super) static STANDARD: LazyLock<Scalar> =
        LazyLock::new(|| Scalar::new(&alphabet::STANDARD, TOLERANT));
    pub(super) static URL_SAFE: LazyLock<Scalar> =
        LazyLock::new(|| Scalar::new(&alphabet::URL_SAFE, TOLERANT));
}

/// Writes JSON text as a header value: base64 with the standard alphabet and padding.
#[must_use]
pub fn encode_header(json: &str) -> String {
    engines::STANDARD.encode(json)
}

/// Reads the JSON text of a header value.
///
/// # Errors
/// [`HeaderError::Base64`], [`HeaderError::Utf8`], or [`HeaderError::TooDeep`]; whether the text is
/// JSON at all is for its reader to find out.
pub fn decode_header(value: &[u8]) -> Result<String, HeaderError> {
    // Without a branch for each byte the compiler compares many at once.
    let url_safe = value
        .iter()
        .fold(false, |any, byte| any | (*byte == b'-') | (*byte == b'_'));
    let engine = if url_safe {
        &*engines::URL_SAFE
    } else {
        &*engines::STANDARD
    };
    let bytes = engine.decode(value).map_err(|_| HeaderError::Base64)?;
    let text = String::from_utf8(bytes).map_err(|_| HeaderError::Utf8)?;
    check_depth(&text)?;
    Ok(text)
}

/// Refuses JSON that nests deeper than [`MAX_DEPTH`], without recursion.
pub(crate) fn check_depth(json: &str) -> Result<(), HeaderError> {
    // Text without that many brackets cannot nest that deep, which is so for nearly every payment.
    let brackets = json
        .bytes()
        .filter(|byte| (*byte == b'{') | (*byte == b'['))
        .count();
    if brackets <= MAX_DEPTH {
        return Ok(());
    }
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    for byte in json.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(HeaderError::TooDeep);
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_alphabets_with_or_without_padding_are_read() {
        let text = "{\"a\":\"???>>>~~\"}";
        let standard = encode_header(text);
        assert!(standard.contains('/') || standard.contains('+'));
        let url_safe = standard.replace('+', "-").replace('/', "_");
        for value in [
            standard.as_str(),
            standard.trim_end_matches('='),
            &url_safe,
            url_safe.trim_end_matches('='),
        ] {
            assert_eq!(
                decode_header(value.as_bytes()).as_deref(),
                Ok(text),
                "{value}"
            );
        }
    }

    /// Long texts are read in blocks, of which each character counts as much as in a short one.
    #[test]
    fn every_character_of_a_long_header_counts() {
        let text = "{\"a\":\"???>>>~~\"}".repeat(8);
        let standard = encode_header(&text);
        assert_eq!(
            standard,
            base64::engine::general_purpose::STANDARD.encode(&text)
        );
        let url_safe = standard.replace('+', "-").replace('/', "_");
        for header in [standard, url_safe] {
            let value = header.trim_end_matches('=');
            assert_eq!(decode_header(value.as_bytes()).as_ref(), Ok(&text));
            for at in 0..value.len() {
                for bad in [b'=', b' ', b'\n', b'!', 0, 0xff] {
                    let mut broken = value.as_bytes().to_vec();
                    broken[at] = bad;
                    // Padding is allowed where it completes a block of four.
                    if bad != b'=' || at + 1 < value.len() {
                        let read = decode_header(&broken);
                        assert_eq!(read, Err(HeaderError::Base64), "{bad} at {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_not_base64_is_refused() {
        for value in [
            "a",
            "ab cd",
            "=",
            "====",
            "a===",
            "+-_/",
            "{\"x402Version\":2}",
            "äö",
        ] {
            assert_eq!(
                decode_header(value.as_bytes()),
                Err(HeaderError::Base64),
                "{value}"
            );
        }
        assert_eq!(decode_header(b"/w=="), Err(HeaderError::Utf8));
    }

    #[test]
    fn depth_is_counted_outside_strings_only() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert_eq!(check_depth(&nested(MAX_DEPTH)), Ok(()));
        assert_eq!(
            check_depth(&nested(MAX_DEPTH + 1)),
            Err(HeaderError::TooDeep)
        );
        assert_eq!(check_depth(&format!("\"\\\"{}\"", nested(100))), Ok(()));
    }

    proptest! {
        #[test]
        fn any_text_round_trips(text in "\\PC{0,200}") {
            prop_assume!(check_depth(&text).is_ok());
            prop_assert_eq!(decode_header(encode_header(&text).as_bytes()), Ok(text));
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = decode_header(&bytes);
        }
    }
}
