//! The header codec: base64 of JSON. It writes the standard alphabet with padding, reads either
//! alphabet with or without padding, and never recurses on foreign nesting.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};
use exact::shortened;
use serde::ser::{Error as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::X402_VERSION;

/// The deepest nesting of a message's JSON. Real messages stay below 16 levels, also when they
/// carry the schemas of every extension.
pub const MAX_DEPTH: usize = 32;

/// Why a header value is not the expected message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The text is in neither the standard nor the URL-safe alphabet, or has a length that base64
    /// cannot have.
    #[error("the header is not base64")]
    Base64,
    /// The decoded bytes are not UTF-8 text.
    #[error("the decoded header is not UTF-8 text")]
    Utf8,
    /// The JSON nests more deeply than [`MAX_DEPTH`].
    #[error("the decoded JSON nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The text is not JSON, or is JSON of another shape than this message of x402 v2.
    #[error("the decoded JSON is not this message of x402 v2: {detail}")]
    Schema {
        /// The parser's message: the expected form and its place.
        detail: String,
    },
    /// An entry of `accepts` has a known kind and is malformed.
    #[error("accepts[{index}]{}: {detail}", dotted(member))]
    Offer {
        /// The position of the entry, from 0.
        index: usize,
        /// The member, for example `payTo` or `extra.name`. Empty when the fault is in the whole
        /// entry.
        member: &'static str,
        /// The expected and the observed form.
        detail: String,
    },
    /// The message has another protocol version.
    #[error("expected x402Version 2, observed {observed}")]
    Version {
        /// The version that the message names.
        observed: u64,
    },
    /// `extensions.payment-identifier.info.id` breaks the extension's rule.
    #[error("a payment identifier is 16 to 128 characters of A-Z, a-z, 0-9, `_` and `-`")]
    PaymentId,
}

impl HeaderError {
    /// Returns the stable reason code of this error (x402 v2 section 9).
    ///
    /// # Example
    /// ```
    /// use x402_wire::{PaymentPayload, Reason};
    ///
    /// let refused = PaymentPayload::from_json(br#"{"x402Version":1}"#).unwrap_err();
    /// assert_eq!(refused.reason(), Reason::InvalidX402Version);
    /// ```
    #[must_use]
    pub fn reason(&self) -> crate::Reason {
        match self {
            Self::Version { .. } => crate::Reason::InvalidX402Version,
            _ => crate::Reason::InvalidPayload,
        }
    }
}

fn dotted(member: &str) -> String {
    match member {
        "" => String::new(),
        member => format!(".{member}"),
    }
}

/// Returns the error of a message that does not parse. A message of another version has another
/// shape, so the error names its version instead of its shape.
pub(crate) fn not_this_version(json: &str, error: &serde_json::Error) -> HeaderError {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct VersionOnly {
        x402_version: u64,
    }
    match serde_json::from_str::<VersionOnly>(json) {
        Ok(other) if other.x402_version != X402_VERSION => HeaderError::Version {
            observed: other.x402_version,
        },
        _ => HeaderError::Schema {
            detail: shortened(&error.to_string(), SHOWN_DETAIL),
        },
    }
}

/// The most characters of a parser's message that are kept. The message may repeat the other side's
/// text.
pub(crate) const SHOWN_DETAIL: usize = 200;

/// Returns the text of a JSON string, and any other JSON as it is written.
///
/// It does not read a `serde_json::Value`. That type treats an object whose only member has one
/// private name as raw JSON: it reads the JSON in the member's string, while other readers see the
/// object.
pub(crate) fn text_or_json(json: &RawValue) -> String {
    serde_json::from_str(json.get()).unwrap_or_else(|_| json.get().to_owned())
}

/// JSON text that is written unchanged.
pub(crate) struct RawJson<'a>(pub(crate) &'a str);

impl Serialize for RawJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.0).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

const TOLERANT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// One engine for each alphabet. They use the processor's vector instructions where the library has
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
///
/// # Example
/// ```
/// let header = x402_wire::encode_header("{}");
/// assert_eq!(header, "e30=");
/// assert_eq!(x402_wire::decode_header(b"e30").as_deref(), Ok("{}"));
/// ```
#[must_use]
pub fn encode_header(json: &str) -> String {
    engines::STANDARD.encode(json)
}

/// Reads the JSON text of a header value. It does not check that the text is JSON.
///
/// # Errors
/// [`HeaderError::Base64`], [`HeaderError::Utf8`] or [`HeaderError::TooDeep`].
///
/// # Example
/// ```
/// use x402_wire::{HeaderError, decode_header};
///
/// assert_eq!(decode_header(b"eyJ4NDAyVmVyc2lvbiI6Mn0=").as_deref(), Ok(r#"{"x402Version":2}"#));
/// assert_eq!(decode_header(b"{}"), Err(HeaderError::Base64));
/// ```
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
    // Text with few brackets cannot nest deeply. Nearly every payment ends here.
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

    /// A long text is read in blocks. Each of its characters must count as in a short text.
    #[test]
    fn every_character_of_a_long_header_is_checked() {
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
    fn text_other_than_base64_is_refused() {
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
