//! Checks who signed a payment. The feature `recover` adds a C library for the curve.

use alloy_primitives::Bytes;

use crate::signature::key_signature;
use crate::{Invalid, Payment, Scheme};

/// The result of checking a payment's signature offline. [`Recovered`](Self::Recovered) means that
/// the payer has signed. The other two name who has to judge the signature.
#[must_use = "a signature that only a chain or a facilitator can judge is not an error"]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(docsrs, doc(cfg(feature = "recover")))]
pub enum SignatureStanding {
    /// The signature has 65 bytes, and they recover to the payer's address.
    Recovered,
    /// The signature has another length, under scheme `exact`. It is a contract wallet's signature
    /// (EIP-1271, ERC-6492), and only the chain can judge it.
    Contract(Bytes),
    /// The scheme is `aggr_deferred`, and the signature is a session key's. Only the facilitator
    /// can judge it.
    Session,
}

#[cfg_attr(docsrs, doc(cfg(feature = "recover")))]
impl Payment {
    /// Checks that the signature is the payer's, as far as this can be checked offline.
    ///
    /// 65 bytes must be the payer's own signature in the one form that token contracts accept: `s`
    /// in the lower half, `v` 27 or 28 (or 0 and 1 for the same).
    ///
    /// # Errors
    /// One of the signature variants of [`Invalid`]. It is final for a payer without code. A
    /// contract may still accept the same bytes as its own signature: see
    /// [`Self::wallet_signature`].
    ///
    /// # Example
    /// ```
    /// use x402_wire::{Invalid, Payment, PaymentPayload, SignatureStanding};
    /// # use alloy_primitives::address;
    /// # use x402_wire::{Asset, MicroUsd, Network, Terms};
    ///
    /// # let json = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/payment.json"));
    /// # let terms = Terms {
    /// #     network: Network::evm(196),
    /// #     pay_to: address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906"),
    /// #     max_timeout_seconds: 300,
    /// #     assets: Asset::chain_196().to_vec(),
    /// # };
    /// # let offer = terms.offer(MicroUsd::dollars("0.002"));
    /// # let payment = Payment::matching(&offer, PaymentPayload::from_json(json.as_bytes())?)?;
    /// assert_eq!(payment.check_signature()?, SignatureStanding::Recovered);
    ///
    /// // Another amount under the same signature.
    /// let other = json.replace("\"value\":\"2000\"", "\"value\":\"2001\"");
    /// let other = Payment::matching(&offer, PaymentPayload::from_json(other.as_bytes())?)?;
    /// assert!(matches!(other.check_signature(), Err(Invalid::Signer { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_signature(&self) -> Result<SignatureStanding, Invalid> {
        if self.scheme() == Scheme::AggrDeferred {
            return Ok(SignatureStanding::Session);
        }
        let bytes = self
            .payload()
            .signature()
            .to_bytes()
            .ok_or(Invalid::SignatureText)?;
        if bytes.len() < 65 {
            return Err(Invalid::SignatureLength {
                observed: bytes.len(),
            });
        }
        let Ok(compact) = <&[u8; 65]>::try_from(&bytes[..]) else {
            return Ok(SignatureStanding::Contract(bytes));
        };
        let signature = key_signature(compact)?;
        let observed = signature.recover_address_from_prehash(&self.digest()).ok();
        if observed != Some(self.payer()) {
            return Err(Invalid::Signer {
                expected: self.payer(),
                observed,
            });
        }
        Ok(SignatureStanding::Recovered)
    }
}
