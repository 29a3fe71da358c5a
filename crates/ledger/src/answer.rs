//! The stored answer of a paid call, and what must be durable before its settlement.

use std::{borrow::Cow, sync::Arc};

use alloy_primitives::B256;
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use x402_wire::Payment;

use crate::state::EntryId;

/// A header of an answer: its name and its value.
pub type Header = (Cow<'static, str>, String);

/// The answer to a paid request. The payer gets the same bytes whenever the same payment comes
/// again. Cheap to clone: the content is reference-counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaidAnswer(Arc<Content>);

#[derive(Debug, PartialEq, Eq)]
struct Content {
    status: u16,
    headers: Box<[Header]>,
    body: Bytes,
    body_digest: B256,
}

impl PaidAnswer {
    /// Makes an answer and computes the digest of its body.
    #[must_use]
    pub fn new(status: u16, headers: impl Into<Box<[Header]>>, body: Bytes) -> Self {
        let body_digest = sha256(&body);
        Self::restored(status, headers, body, body_digest)
    }

    /// Makes an answer with a digest from the store.
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

    /// The headers, in order.
    #[must_use]
    pub fn headers(&self) -> &[Header] {
        &self.0.headers
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.0.body
    }

    /// Returns the body without a copy.
    #[must_use]
    pub fn into_body(self) -> Bytes {
        Arc::try_unwrap(self.0).map_or_else(|shared| shared.body.clone(), |own| own.body)
    }

    /// SHA-256 of the body.
    #[must_use]
    pub fn body_digest(&self) -> B256 {
        self.0.body_digest
    }

    /// Whether the body matches the digest.
    pub(crate) fn is_intact(&self) -> bool {
        sha256(self.body()) == self.body_digest()
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> B256 {
    B256::new(Sha256::digest(bytes).into())
}

/// The data that must be durable before the settlement request. After a crash this is enough to
/// find out whether the payment was charged, and to deliver the answer.
#[derive(Clone, Debug)]
pub struct PendingSettlement {
    /// The payment. The journal stores its exact JSON text, and the payment requirements that it
    /// matched.
    pub payment: Payment,
    /// The answer that the payment buys.
    pub answer: PaidAnswer,
    /// Whether the answer is only about its payer. Such an answer is stored for
    /// [`private_retention_seconds`](crate::Options::private_retention_seconds).
    pub private: bool,
}

/// The proof of a settlement, which the payer gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReceipt {
    /// The value of the `PAYMENT-RESPONSE` header.
    pub header: String,
    /// The transaction hash of the settlement. Empty when the scheme has none yet
    /// (`aggr_deferred`).
    pub transaction: String,
}

/// A settled answer with its receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The answer.
    pub answer: PaidAnswer,
    /// Its receipt.
    pub receipt: StoredReceipt,
    /// When the settlement was recorded, Unix seconds.
    pub settled_at: u64,
    /// The entry of the purchase.
    pub entry: EntryId,
    /// Whether the answer is given to another authorization than the one that paid for it.
    pub is_repetition: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_belongs_to_the_body() {
        let answer = PaidAnswer::new(200, Vec::new(), Bytes::from_static(b""));
        assert_eq!(
            answer.body_digest().to_string(),
            "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert!(answer.is_intact());
        let other = PaidAnswer::restored(
            200,
            Vec::new(),
            Bytes::from_static(b"x"),
            answer.body_digest(),
        );
        assert!(!other.is_intact());
    }
}
