//! What a paid call answered, as it is kept for its payer.

use std::{borrow::Cow, sync::Arc};

use alloy_primitives::B256;
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use x402_wire::Payment;

/// A header of an answer: its name and its value.
pub type Header = (Cow<'static, str>, String);

/// An answer to a paid request: what has to be repeated, byte for byte, when the same payment comes
/// again. Cheap to clone: the content is reference-counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer(Arc<Content>);

#[derive(Debug, PartialEq, Eq)]
struct Content {
    status: u16,
    headers: Box<[Header]>,
    body: Bytes,
    body_digest: B256,
}

impl Answer {
    /// Takes the answer's status code, the headers that belong to it, and its body; computes the
    /// body's digest.
    #[must_use]
    pub fn new(status: u16, headers: impl Into<Box<[Header]>>, body: Bytes) -> Self {
        let body_digest = sha256(&body);
        Self::restored(status, headers, body, body_digest)
    }

    /// An answer whose digest was stored beside it.
    pub(crate) fn restored(
        status: u16,
        headers: impl Into<Box<[Header]>>,
        body: Bytes,
        body_digest: B256,
    ) -> Self {
        Self(Arc::new(Content {
            status,
            headers: headers.into(),
            body,
            body_digest,
        }))
    }

    /// The HTTP status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.0.status
    }

    /// The headers kept with the answer, in order.
    #[must_use]
    pub fn headers(&self) -> &[Header] {
        &self.0.headers
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.0.body
    }

    /// The body, without a copy.
    #[must_use]
    pub fn into_body(self) -> Bytes {
        Arc::try_unwrap(self.0).map_or_else(|shared| shared.body.clone(), |own| own.body)
    }

    /// SHA-256 of the body.
    #[must_use]
    pub fn body_digest(&self) -> B256 {
        self.0.body_digest
    }

    /// Whether the body is the one whose digest is kept.
    pub(crate) fn is_intact(&self) -> bool {
        sha256(self.body()) == self.body_digest()
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> B256 {
    B256::new(Sha256::digest(bytes).into())
}

/// Everything that must be durable before settlement is asked for, so that a crash meanwhile loses
/// neither the answer nor the means to find out whether it was paid.
#[derive(Clone, Debug)]
pub struct PendingSettlement {
    /// The payment: what is kept is the exact JSON text that came, and the payment requirements
    /// that it was matched to.
    pub payment: Payment,
    /// The answer that the payment buys.
    pub answer: Answer,
    /// Whether the answer tells of its payer alone. It is then kept for
    /// [`private_retention_seconds`](crate::Options::private_retention_seconds).
    pub private: bool,
}

/// Proof of a settlement, as the payer gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReceipt {
    /// The value of the `PAYMENT-RESPONSE` header.
    pub header: String,
    /// The transaction hash as the settlement reported it; empty when the scheme has none at this
    /// time (`aggr_deferred`).
    pub transaction: String,
}

/// A settled answer with its receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The answer.
    pub answer: Answer,
    /// Its receipt.
    pub receipt: StoredReceipt,
    /// When the settlement was recorded, Unix seconds.
    pub settled_at: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_belongs_to_the_body() {
        let answer = Answer::new(200, Vec::new(), Bytes::from_static(b""));
        assert_eq!(
            answer.body_digest().to_string(),
            "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert!(answer.is_intact());
        let other = Answer::restored(
            200,
            Vec::new(),
            Bytes::from_static(b"x"),
            answer.body_digest(),
        );
        assert!(!other.is_intact());
    }
}
