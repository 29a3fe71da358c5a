//! What a paid call answered, as it is kept for its payer.

use std::{fmt, sync::Arc};

use alloy_primitives::{B256, Keccak256, keccak256};
use bytes::Bytes;

/// An answer to a paid request: what has to be repeated, byte for byte, when the same payment comes again. Cloning it
/// copies no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    status: u16,
    headers: Arc<[(String, String)]>,
    body: Bytes,
    body_digest: B256,
}

impl Answer {
    /// Takes the answer's status code, the headers that belong to it, and its body; computes the body's digest.
    #[must_use]
    pub fn new(status: u16, headers: Vec<(String, String)>, body: Bytes) -> Self {
        let body_digest = keccak256(&body);
        Self {
            status,
            headers: headers.into(),
            body,
            body_digest,
        }
    }

    /// An answer read from storage, with the digest that was stored beside it.
    pub(crate) fn restored(
        status: u16,
        headers: Vec<(String, String)>,
        body: Bytes,
        body_digest: B256,
    ) -> Self {
        Self {
            status,
            headers: headers.into(),
            body,
            body_digest,
        }
    }

    /// The HTTP status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The headers kept with the answer, in order.
    #[must_use]
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Keccak-256 of the body (`X-Response-Digest`, decisions section 2).
    #[must_use]
    pub fn body_digest(&self) -> B256 {
        self.body_digest
    }

    /// Whether the body is the one whose digest is kept.
    pub(crate) fn is_intact(&self) -> bool {
        keccak256(&self.body) == self.body_digest
    }
}

/// How bodies begin. It is hashed once, for all answers that begin with it.
#[derive(Clone)]
pub struct Beginning {
    bytes: Vec<u8>,
    hasher: Keccak256,
}

impl Beginning {
    /// A beginning of these bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        let mut hasher = Keccak256::new();
        hasher.update(&bytes);
        Self { bytes, hasher }
    }

    /// The answer whose body goes on with `rest`; otherwise as [`Answer::new`].
    #[must_use]
    pub fn answer(&self, status: u16, headers: Vec<(String, String)>, rest: &[u8]) -> Answer {
        let mut hasher = self.hasher.clone();
        hasher.update(rest);
        Answer {
            status,
            headers: headers.into(),
            body: [&self.bytes, rest].concat().into(),
            body_digest: hasher.finalize(),
        }
    }
}

impl fmt::Debug for Beginning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Beginning")
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

/// Everything that must be durable before settlement is asked for, so that a crash meanwhile loses neither the
/// answer nor the means to find out whether it was paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The payment as it came, the exact JSON text.
    pub payload_json: String,
    /// The payment requirements that it was matched to: this service's own entry, as JSON text.
    pub requirements_json: String,
    /// The answer that the payment buys.
    pub answer: Answer,
}

/// Proof of a settlement, as the payer gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReceipt {
    /// The value of the `PAYMENT-RESPONSE` header.
    pub header: String,
    /// The transaction hash as the settlement reported it; empty when the scheme has none at this time
    /// (`aggr_deferred`).
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
    fn an_answer_that_goes_on_is_the_answer_of_the_whole() {
        let body: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let headers = vec![("age".to_owned(), "7".to_owned())];
        let whole = Answer::new(200, headers.clone(), body.clone().into());
        // 136 bytes are a block of the hash.
        for at in [0, 1, 135, 136, 137, 500, 999, 1000] {
            let (bytes, rest) = body.split_at(at);
            let beginning = Beginning::new(bytes.to_vec());
            assert_eq!(beginning.answer(200, headers.clone(), rest), whole, "{at}");
            assert_eq!(beginning.answer(200, headers.clone(), rest), whole, "again");
        }
    }

    #[test]
    fn the_digest_belongs_to_the_body() {
        let answer = Answer::new(200, Vec::new(), Bytes::from_static(b""));
        assert_eq!(
            answer.body_digest().to_string(),
            "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
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
