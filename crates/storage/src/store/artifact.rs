//! Artifacts: bytes to which a paid answer refers by their digest.

use alloy_primitives::B256;
use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::StoreError;

/// Bytes with their SHA-256. The digest always fits the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    sha256: B256,
    media_type: String,
    bytes: Bytes,
    expires_at: u64,
}

impl Artifact {
    /// Makes an artifact of these bytes that expires at `expires_at` (Unix seconds).
    #[must_use]
    pub fn new(media_type: impl Into<String>, bytes: Bytes, expires_at: u64) -> Self {
        Self {
            sha256: digest(&bytes),
            media_type: media_type.into(),
            bytes,
            expires_at,
        }
    }

    /// Makes an artifact of bytes that came with a digest.
    ///
    /// # Errors
    ///
    /// [`StoreError::DigestMismatch`] when the bytes have another digest.
    pub fn checked(
        sha256: B256,
        media_type: impl Into<String>,
        bytes: Bytes,
        expires_at: u64,
    ) -> Result<Self, StoreError> {
        let artifact = Self::new(media_type, bytes, expires_at);
        if artifact.sha256 == sha256 {
            Ok(artifact)
        } else {
            Err(StoreError::DigestMismatch {
                expected: sha256,
                observed: artifact.sha256,
            })
        }
    }

    /// Returns the SHA-256 of the bytes.
    #[must_use]
    pub const fn sha256(&self) -> B256 {
        self.sha256
    }

    /// Returns the media type. The producer has determined it from the bytes.
    #[must_use]
    pub fn media_type(&self) -> &str {
        &self.media_type
    }

    /// Returns the bytes.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns the time from which on the artifact is no longer returned, in Unix seconds.
    #[must_use]
    pub const fn expires_at(&self) -> u64 {
        self.expires_at
    }
}

/// Computes the SHA-256 of bytes.
pub(super) fn digest(bytes: &[u8]) -> B256 {
    B256::from(<[u8; 32]>::from(Sha256::digest(bytes)))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::b256;

    use super::*;

    /// The digest of `abc` (NIST FIPS 180-2, appendix B.1).
    const ABC: B256 = b256!("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");

    #[test]
    fn an_artifact_is_named_by_its_bytes() {
        let artifact = Artifact::new("image/png", Bytes::from_static(b"abc"), 9);
        assert_eq!(artifact.sha256(), ABC);
        assert_eq!(
            Artifact::checked(ABC, "image/png", Bytes::from_static(b"abc"), 9),
            Ok(artifact)
        );
    }

    #[test]
    fn bytes_with_another_digest_are_refused() {
        let error = Artifact::checked(ABC, "image/png", Bytes::from_static(b"abd"), 9).unwrap_err();
        assert_eq!(error.code(), "store_digest_mismatch");
        assert!(matches!(error, StoreError::DigestMismatch { expected, .. } if expected == ABC));
    }
}
