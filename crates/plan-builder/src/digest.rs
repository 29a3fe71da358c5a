//! Digests: keccak-256 over the RFC 8785 form of a document.

use alloy_primitives::B256;
use serde::Serialize;
use sha3::{Digest as _, Keccak256};

/// keccak-256 of bytes.
pub(crate) fn keccak(bytes: &[u8]) -> B256 {
    B256::from(<[u8; 32]>::from(Keccak256::digest(bytes)))
}

/// Returns the RFC 8785 bytes of a value. `None` for a value that JSON cannot hold; no document of
/// this crate contains one.
pub(crate) fn canonical<T: Serialize>(value: &T) -> Option<Vec<u8>> {
    serde_json_canonicalizer::to_vec(value).ok()
}
