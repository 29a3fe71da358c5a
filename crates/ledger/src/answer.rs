//! What a paid call answered, as it is kept for its payer.

use std::{
    borrow::Cow,
    fmt, mem,
    sync::{Arc, Mutex, PoisonError},
};

use alloy_primitives::{B256, Keccak256, keccak256};
use bytes::Bytes;
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
        let body_digest = keccak256(&body);
        Self::restored(status, headers, body, body_digest)
    }

    /// An answer whose digest is known: it was stored beside it, or computed meanwhile.
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

    /// Keccak-256 of the body (`X-Response-Digest`).
    #[must_use]
    pub fn body_digest(&self) -> B256 {
        self.0.body_digest
    }

    /// Whether the body is the one whose digest is kept.
    pub(crate) fn is_intact(&self) -> bool {
        keccak256(self.body()) == self.body_digest()
    }
}

/// How bodies begin. It is hashed once, for all answers that begin with it.
pub struct Beginning {
    bytes: Vec<u8>,
    hasher: Keccak256,
    last: Mutex<Last>,
}

/// How the last body of a beginning went on.
struct Last {
    /// Whether there was one. What is begun only once need not be kept.
    begun: bool,
    middle: Vec<u8>,
    /// After beginning and middle.
    hasher: Keccak256,
}

/// Room for what follows a beginning; it may grow.
const REST: usize = 640;

impl Beginning {
    /// A beginning of these bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        let mut hasher = Keccak256::new();
        hasher.update(&bytes);
        let last = Last {
            begun: false,
            middle: Vec::new(),
            hasher: hasher.clone(),
        };
        Self {
            bytes,
            hasher,
            last: Mutex::new(last),
        }
    }

    /// The answer whose body goes on with what `middle` and then `end` append; otherwise as
    /// [`Answer::new`]. A middle that is the same as the last one is not hashed again.
    #[must_use]
    pub fn answer(
        &self,
        status: u16,
        headers: impl Into<Box<[Header]>>,
        middle: impl FnOnce(&mut Vec<u8>),
        end: impl FnOnce(&mut Vec<u8>),
    ) -> Answer {
        let mut body = Vec::with_capacity(self.bytes.len().saturating_add(REST));
        body.extend_from_slice(&self.bytes);
        middle(&mut body);
        let mut hasher = self.hasher_after(body.get(self.bytes.len()..).unwrap_or_default());
        let end_at = body.len();
        end(&mut body);
        hasher.update(body.get(end_at..).unwrap_or_default());
        Answer::restored(status, headers, body.into(), hasher.finalize())
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn hasher_after(&self, middle: &[u8]) -> Keccak256 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.middle == middle {
            return last.hasher.clone();
        }
        let mut hasher = self.hasher.clone();
        hasher.update(middle);
        if mem::replace(&mut last.begun, true) {
            last.middle.clear();
            last.middle.extend_from_slice(middle);
            last.hasher = hasher.clone();
        }
        hasher
    }
}

impl fmt::Debug for Beginning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Beginning")
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

/// Everything that must be durable before settlement is asked for, so that a crash meanwhile loses
/// neither the answer nor the means to find out whether it was paid.
#[derive(Clone, Debug)]
pub struct Settlement {
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
    fn an_answer_that_goes_on_is_the_answer_of_the_whole() {
        let body: String = ('a'..='z').cycle().take(1000).collect();
        let headers = || vec![("age".into(), "7".to_owned())];
        // 136 bytes are a block of the hash.
        for at in [0, 1, 135, 136, 137, 500, 999, 1000] {
            let (bytes, rest) = body.split_at(at);
            let beginning = Beginning::new(bytes.into());
            // The same middle several times, then another one, then no longer the first one.
            for length in [
                rest.len(),
                rest.len() / 2,
                rest.len() / 2,
                rest.len() / 2,
                0,
                rest.len() / 2,
            ] {
                let (middle, end) = rest.split_at(length);
                for end in [end, "", "other"] {
                    let whole = [bytes, middle, end].concat();
                    let expected = Answer::new(200, headers(), whole.into());
                    let write = |text: &str| {
                        let bytes = text.as_bytes().to_vec();
                        move |body: &mut Vec<u8>| body.extend(bytes)
                    };
                    let answer = beginning.answer(200, headers(), write(middle), write(end));
                    assert_eq!(answer, expected, "{at}, {length}");
                }
            }
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
