//! How an authorization is stored, whatever the store.

use alloy_primitives::B256;

/// What is kept of an authorization's digest.
pub(crate) type Digest = [u8; 16];

/// The part of an authorization's digest that is kept: half of it is beyond chance and beyond
/// finding a second authorization with the digest of another payer's. A payer who makes two of its
/// own alike has one of them refused.
pub(crate) fn kept(digest: B256) -> Digest {
    digest.0.first_chunk().copied().unwrap_or_default()
}
