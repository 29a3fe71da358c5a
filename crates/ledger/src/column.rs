//! The stored form of an authorization, the same in every store.

use alloy_primitives::B256;

/// The stored part of an authorization's digest.
pub(crate) type Digest = [u8; 16];

/// Returns the stored part of an authorization's digest. Half of a digest is enough: neither chance
/// nor a search finds a second authorization with the half of another payer's. A payer who makes
/// two of its own alike has one of them refused.
pub(crate) fn kept(digest: B256) -> Digest {
    digest.0.first_chunk().copied().unwrap_or_default()
}
