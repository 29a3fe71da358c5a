//! The stored form of an authorization, the same in every store.

use alloy_primitives::B256;

/// The stored part of an authorization's digest.
pub(crate) type Digest = [u8; 16];

/// Returns the part of an authorization's digest that is stored. Half of a digest is enough: nobody
/// finds a second authorization with the same half as another payer's, by chance or by search. A
/// payer that makes two such authorizations of its own has one of them refused.
pub(crate) fn kept(digest: B256) -> Digest {
    digest.0.first_chunk().copied().unwrap_or_default()
}
