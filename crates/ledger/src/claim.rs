//! A claim reserves one authorization for one request. The request is bound by a digest.

use std::{borrow::Cow, fmt};

use alloy_primitives::{B256, Keccak256, U256};
use x402_wire::AuthorizationKey;

use crate::purchase::Purchase;

/// The domain tag of every binding's hash.
const BINDING_TAG: &[u8] = b"request-binding-v1";

/// A claim of an authorization for one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The authorization that is claimed.
    pub key: AuthorizationKey,
    /// The request for which the authorization pays.
    pub request: RequestBinding,
    /// The caller's payment identifier (extension `payment-identifier`), if any. An unproven claim
    /// must have none: otherwise a stranger could take the identifier of another payer.
    pub payment_id: Option<String>,
    /// The amount, in the asset's smallest unit. Assets are US dollars with 6 decimals, so this
    /// unit is micro-USD. A settlement gives the payer the same amount as credit.
    pub amount: U256,
    /// The authorization's `validBefore`, in Unix seconds. A value above 2^63-1 is stored as
    /// 2^63-1.
    pub valid_before: u64,
    /// How the claim counts among its payer's purchases.
    pub purchase: Purchase,
    /// The time of the claim, in Unix seconds.
    pub now: u64,
}

/// The one request for which an authorization pays.
///
/// An EIP-3009 signature does not cover a resource. So the journal binds each payment to a request
/// by the digest of the request's method, path, query and body. It also stores the method and the
/// path in clear, for operators.
#[derive(Clone, PartialEq, Eq)]
pub struct RequestBinding {
    digest: B256,
    /// The digest of only the method, path, query and body.
    content: B256,
    method: Cow<'static, str>,
    path: Cow<'static, str>,
}

impl RequestBinding {
    /// Binds to a request: the method and the path as received, the query without `?` (`None`
    /// equals the empty query), and the exact bytes of the body.
    ///
    /// The digest is keccak-256 over a tag and the four parts. Each part follows its length in
    /// bytes, as eight big-endian bytes. So no two different requests have the same encoding.
    #[must_use]
    pub fn new(
        method: impl Into<Cow<'static, str>>,
        path: impl Into<Cow<'static, str>>,
        query: Option<&str>,
        body: &[u8],
    ) -> Self {
        let (method, path) = (method.into(), path.into());
        let mut hasher = Keccak256::new();
        hasher.update(BINDING_TAG);
        for part in [
            method.as_bytes(),
            path.as_bytes(),
            query.unwrap_or_default().as_bytes(),
            body,
        ] {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            hasher.update(length.to_be_bytes());
            hasher.update(part);
        }
        let digest = hasher.finalize();
        Self {
            digest,
            content: digest,
            method,
            path,
        }
    }

    /// Also binds to one payment for the request: to its signature and its identifier.
    ///
    /// Payer and nonce of a settled authorization are public. Without this binding, anyone who
    /// reads them from the chain and guesses the request could fetch the stored answer with a false
    /// signature.
    #[must_use]
    pub fn for_payment(self, signature: &str, payment_id: Option<&str>) -> Self {
        let mut hasher = Keccak256::new();
        hasher.update(BINDING_TAG);
        hasher.update(self.digest);
        for part in [signature, payment_id.unwrap_or_default()] {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            hasher.update(length.to_be_bytes());
            hasher.update(part);
        }
        Self {
            digest: hasher.finalize(),
            ..self
        }
    }

    /// The digest that decides whether an authorization is bound to this request.
    #[must_use]
    pub fn digest(&self) -> B256 {
        self.digest
    }

    /// The digest of only the method, path, query and body. It is the same for every payment for
    /// the request.
    #[must_use]
    pub fn content_digest(&self) -> B256 {
        self.content
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The path, without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Debug for RequestBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "RequestBinding({} {} {})",
            self.method, self.path, self.digest
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_empty_query_is_no_query() {
        assert_eq!(
            RequestBinding::new("GET", "/price", None, b""),
            RequestBinding::new("GET", "/price", Some(""), b"")
        );
    }

    #[test]
    fn moving_a_byte_between_parts_changes_the_digest() {
        let bindings = [
            RequestBinding::new("GET", "/price", Some("token=1"), b""),
            RequestBinding::new("GET", "/pric", Some("etoken=1"), b""),
            RequestBinding::new("GET", "/price", Some("token="), b"1"),
            RequestBinding::new("GE", "T/price", Some("token=1"), b""),
            RequestBinding::new("GET", "/pricetoken=1", None, b""),
        ];
        for (i, a) in bindings.iter().enumerate() {
            for b in &bindings[i + 1..] {
                assert_ne!(a.digest(), b.digest());
            }
        }
    }

    #[test]
    fn another_signature_or_identifier_is_another_binding() {
        let request = || RequestBinding::new("GET", "/price", None, b"");
        let bindings = [
            request(),
            request().for_payment("0x01", None),
            request().for_payment("0x02", None),
            request().for_payment("0x01", Some("a")),
            request().for_payment("0x01a", None),
        ];
        for (i, a) in bindings.iter().enumerate() {
            for b in &bindings[i + 1..] {
                assert_ne!(a.digest(), b.digest());
            }
        }
        for payment in bindings {
            assert_eq!(payment.content_digest(), request().digest());
        }
    }

    proptest! {
        #[test]
        fn different_requests_have_different_digests(
            a in ("[A-Z]{0,4}", "[/a-z]{0,6}", "[a-z=&]{0,6}", proptest::collection::vec(0u8..3, 0..6)),
            b in ("[A-Z]{0,4}", "[/a-z]{0,6}", "[a-z=&]{0,6}", proptest::collection::vec(0u8..3, 0..6)),
        ) {
            let digest = |x: &(String, String, String, Vec<u8>)| {
                RequestBinding::new(x.0.clone(), x.1.clone(), Some(&x.2), &x.3).digest()
            };
            prop_assert_eq!(a == b, digest(&a) == digest(&b));
        }
    }
}
