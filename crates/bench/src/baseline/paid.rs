//! The lowest possible cost of a paid call: read the header, recover the signature with
//! libsecp256k1, use the nonce durably, give the same answer. It does not check the clock, the
//! amounts or the form of the signature.

use std::sync::Arc;

use alloy_primitives::{Address, B256};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
use secp256k1::{Message, Secp256k1, VerifyOnly};
use serde::de::IgnoredAny;

use super::log::NonceLog;
use crate::BenchError;
use crate::exchange::{HttpAnswer, PAYMENT_SIGNATURE};
use crate::payment::{Accept, Offer, Payment, address};

/// The data that it has at its start.
#[derive(Debug)]
pub struct Seller {
    curve: Secp256k1<VerifyOnly>,
    /// Every option with its domain separator.
    options: Vec<(Accept, B256)>,
    log: NonceLog,
    paid: HttpAnswer,
    unpaid: HttpAnswer,
}

impl Seller {
    /// Sells for an offer: `paid` is the answer to a payment, `unpaid` to everything else.
    pub fn new(offer: Offer, log: NonceLog, paid: HttpAnswer, unpaid: HttpAnswer) -> Self {
        let options = offer
            .accepts
            .into_iter()
            .filter_map(|accept| accept.domain_separator().map(|domain| (accept, domain)))
            .collect();
        Self {
            curve: Secp256k1::verification_only(),
            options,
            log,
            paid,
            unpaid,
        }
    }

    /// The answer to a request with these headers.
    pub async fn answer(&self, headers: &HeaderMap) -> &HttpAnswer {
        match self.check(headers) {
            Some((payer, nonce)) if self.log.claim(payer, nonce).await => &self.paid,
            _ => &self.unpaid,
        }
    }

    /// The payer and the nonce of a payment that is signed by its payer for one of the options.
    fn check(&self, headers: &HeaderMap) -> Option<(Address, B256)> {
        let json = STANDARD
            .decode(headers.get(PAYMENT_SIGNATURE)?.as_bytes())
            .ok()?;
        let payment: Payment<IgnoredAny> = serde_json::from_slice(&json).ok()?;
        let (_, domain) = self
            .options
            .iter()
            .find(|(accept, _)| *accept == payment.accepted)?;
        let digest = payment.digest(*domain)?;
        (self.recover(&payment.signature()?, digest)? == payment.payer())
            .then(|| (payment.payer(), payment.nonce()))
    }

    fn recover(&self, signature: &[u8; 65], digest: B256) -> Option<Address> {
        let (v, compact) = signature.split_last()?;
        let id = RecoveryId::try_from(i32::from(*v).checked_sub(27)?).ok()?;
        let signature = RecoverableSignature::from_compact(compact, id).ok()?;
        let message = Message::from_digest(digest.0);
        Some(address(
            &self.curve.recover_ecdsa(message, &signature).ok()?,
        ))
    }
}

/// Sells until the process ends.
///
/// # Errors
/// When no port is available or the listener breaks.
pub async fn serve(seller: Seller) -> Result<(), BenchError> {
    let seller = Arc::new(seller);
    super::serve(super::listen().await?, move |request| {
        let seller = seller.clone();
        async move { super::response(seller.answer(request.headers()).await) }
    })
    .await
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderValue, StatusCode};

    use super::*;
    use crate::payment::tests::offer;
    use crate::payment::{Payers, Signed};

    fn seller(folder: &tempfile::TempDir) -> Seller {
        let answer = |status| HttpAnswer {
            status,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        };
        let log = NonceLog::create(&folder.path().join("nonces")).unwrap();
        let (paid, unpaid) = (answer(StatusCode::OK), answer(StatusCode::PAYMENT_REQUIRED));
        Seller::new(offer(), log, paid, unpaid)
    }

    async fn status(seller: &Seller, payment: Option<&HeaderValue>) -> u16 {
        let headers = payment
            .map(|value| (PAYMENT_SIGNATURE, value.clone()))
            .into_iter()
            .collect();
        seller.answer(&headers).await.status.as_u16()
    }

    #[tokio::test]
    async fn each_genuine_payment_buys_once() {
        let folder = tempfile::tempdir().unwrap();
        let seller = seller(&folder);
        for payment in Payers::new(offer())
            .unwrap()
            .sign(4, Signed::ByPayer)
            .unwrap()
        {
            assert_eq!(status(&seller, Some(&payment)).await, 200);
            assert_eq!(status(&seller, Some(&payment)).await, 402);
        }
    }

    #[tokio::test]
    async fn forged_malformed_and_missing_payments_buy_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let seller = seller(&folder);
        let forged = Payers::new(offer())
            .unwrap()
            .sign(1, Signed::BySomebodyElse)
            .unwrap();
        assert_eq!(status(&seller, forged.first()).await, 402);
        assert_eq!(
            status(&seller, Some(&HeaderValue::from_static("!!"))).await,
            402
        );
        assert_eq!(status(&seller, None).await, 402);
    }

    #[tokio::test]
    async fn a_payment_for_another_offer_buys_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut other = serde_json::to_value(offer()).unwrap();
        other["accepts"][0]["amount"] = "1999".into();
        let other = serde_json::from_value(other).unwrap();
        let payments = Payers::new(other)
            .unwrap()
            .sign(1, Signed::ByPayer)
            .unwrap();
        assert_eq!(status(&seller(&folder), payments.first()).await, 402);
    }
}
