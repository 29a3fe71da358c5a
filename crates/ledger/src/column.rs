//! How values are kept in columns, whatever the store.

use alloy_primitives::B256;

/// What is kept of an authorization's digest.
pub(crate) type Digest = [u8; 16];

/// The part of an authorization's digest that is kept: half of it is beyond chance and beyond
/// finding a second authorization with the digest of another payer's. A payer who makes two of its
/// own alike has one of them refused.
pub(crate) fn kept(digest: B256) -> Digest {
    digest.0.first_chunk().copied().unwrap_or_default()
}

/// A number as databases keep it; what is beyond their numbers, as the highest of them.
pub(crate) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
