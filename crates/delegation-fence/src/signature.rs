//! Signatures, in their only encoding. This module recovers signers; who had to sign is for its
//! callers.

use std::fmt;

use alloy_primitives::{Address, B256, U256, hex};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{Refusal, Rule};

/// A 65-byte signature `r ‖ s ‖ v` with `s` in the lower half and `v` 27 or 28: every signature has
/// exactly one encoding.
///
/// # Example
/// ```
/// use delegation_fence::{Rule, Signature};
///
/// let compact = format!("0x{}", "11".repeat(64));
/// assert_eq!(Signature::parse(&compact).unwrap_err().rule, Rule::SignatureCompact);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature([u8; 65]);

/// Half of the order of the curve.
const HALF_ORDER: U256 = U256::from_limbs([
    0xdfe9_2f46_681b_20a0,
    0x5d57_6e73_57a4_501d,
    0xffff_ffff_ffff_ffff,
    0x7fff_ffff_ffff_ffff,
]);

/// The last 32 bytes of a signature that is wrapped for a contract that does not exist yet
/// (ERC-6492).
const WRAPPED: [u8; 32] = [
    0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92,
    0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92,
];

impl Signature {
    /// Reads `0x` and 130 hexadecimal digits.
    ///
    /// # Errors
    /// `signature_length`, `signature_compact`, `signature_wrapped`, `signature_recovery_id`,
    /// `signature_high_s`, `signature_zero`
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let bytes = exact::parse_hex(text).ok_or_else(|| {
            let observed = format!("another text of {} characters", text.chars().count());
            Refusal::new(
                Rule::SignatureLength,
                "the signature is not hexadecimal",
                "0x and 130 hexadecimal digits",
                observed,
            )
        })?;
        Self::from_bytes(&bytes)
    }

    /// Reads the bytes.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Refusal> {
        let Some(bytes) = bytes.first_chunk::<65>().filter(|_| bytes.len() == 65) else {
            let rule = match bytes.len() {
                64 => Rule::SignatureCompact,
                _ if bytes.ends_with(&WRAPPED) => Rule::SignatureWrapped,
                _ => Rule::SignatureLength,
            };
            return Err(Refusal::new(
                rule,
                "the signature has another form",
                "65 bytes r, s, v",
                format_args!("{} bytes", bytes.len()),
            ));
        };
        let signature = Self(*bytes);
        let (r, s, v) = signature.parts();
        if r.is_zero() || s.is_zero() {
            return Err(Refusal::new(
                Rule::SignatureZero,
                "the signature has a part that is zero",
                "r and s above zero",
                "zero",
            ));
        }
        if s > HALF_ORDER {
            return Err(Refusal::new(
                Rule::SignatureHighS,
                "the signature is the twin of another one",
                "s in the lower half of the curve's order",
                "s in the upper half",
            ));
        }
        if v != 27 && v != 28 {
            return Err(Refusal::new(
                Rule::SignatureRecoveryId,
                "the signature has another last byte",
                "27 or 28",
                v,
            ));
        }
        Ok(signature)
    }

    /// The address whose key signed the digest.
    ///
    /// # Errors
    /// `signature_unrecoverable`
    pub fn recover(&self, digest: B256) -> Result<Address, Refusal> {
        let (r, s, v) = self.parts();
        alloy_primitives::Signature::new(r, s, v == 28)
            .recover_address_from_prehash(&digest)
            .ok()
            .filter(|address| !address.is_zero())
            .ok_or_else(|| {
                Refusal::new(
                    Rule::SignatureUnrecoverable,
                    "the signature is of no key",
                    "a signature",
                    "bytes that are not a signature",
                )
            })
    }

    /// The 65 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 65] {
        &self.0
    }

    pub(crate) fn parts(&self) -> (U256, U256, u8) {
        let (r, rest) = self.0.split_at(32);
        let (s, v) = rest.split_at(32);
        let v = v.first().copied().unwrap_or_default();
        (U256::from_be_slice(r), U256::from_be_slice(s), v)
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode_prefixed(self.0))
    }
}

/// Hides the signature: a reader of a log must not be able to send a grant that was not sent yet.
impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signature(65 bytes)")
    }
}

impl Serialize for Signature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}
