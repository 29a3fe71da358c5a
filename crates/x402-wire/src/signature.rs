//! The one form of a key's signature that token contracts accept.

use alloy_primitives::Signature;

use crate::Invalid;

/// Reads 65 bytes as a key's signature: `s` in the lower half, and `v` 27 or 28 (or 0 or 1 for the
/// same).
pub(crate) fn key_signature(bytes: &[u8; 65]) -> Result<Signature, Invalid> {
    let [rs @ .., v] = bytes;
    let parity = match v {
        0 | 27 => false,
        1 | 28 => true,
        _ => return Err(Invalid::RecoveryValue { observed: *v }),
    };
    let signature = Signature::from_bytes_and_parity(rs, parity);
    if signature.normalize_s().is_some() {
        return Err(Invalid::HighS);
    }
    Ok(signature)
}
