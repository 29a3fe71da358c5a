//! A buyer's payment before and after it is signed.

use std::fmt;

use alloy_primitives::{Address, B256, Bytes, hex};
use serde::Serialize;
use serde_json::{Value, json};

use super::choice::{Choice, TermsChanged, still_offered};
use super::{OutcomeError, PaymentOutcome};
use crate::codec::RawJson;
use crate::signature::key_signature;
use crate::{
    Authorization, AuthorizationKey, Extensions, HeaderError, Invalid, PaymentId, PaymentRequired,
    PaymentRequirements, Resource, SettlementResponse, X402_VERSION, ascii::own_json,
    encode_header,
};

/// An authorization that waits for its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsignedPayment {
    choice: Choice,
    authorization: Authorization,
    payment_id: Option<PaymentId>,
}

impl UnsignedPayment {
    pub(super) fn new(
        choice: Choice,
        authorization: Authorization,
        payment_id: Option<PaymentId>,
    ) -> Self {
        Self {
            choice,
            authorization,
            payment_id,
        }
    }

    /// Returns the chosen offer.
    #[must_use]
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Returns the message to sign.
    #[must_use]
    pub fn authorization(&self) -> &Authorization {
        &self.authorization
    }

    /// Returns the EIP-712 digest to sign, for a signer that accepts 32 bytes.
    #[must_use]
    pub fn digest(&self) -> B256 {
        let offer = self.choice.offer();
        self.authorization.digest(offer.domain_separator())
    }

    /// Returns the EIP-712 typed data to sign, for a wallet that shows what it signs
    /// (`eth_signTypedData_v4`). Its digest is [`Self::digest`].
    #[must_use]
    pub fn typed_data(&self) -> Value {
        let offer = self.choice.offer();
        let members = |members: &[(&str, &str)]| -> Value {
            let members = members.iter();
            members
                .map(|(name, kind)| json!({"name": name, "type": kind}))
                .collect()
        };
        json!({
            "types": {
                "EIP712Domain": members(&[
                    ("name", "string"),
                    ("version", "string"),
                    ("chainId", "uint256"),
                    ("verifyingContract", "address"),
                ]),
                "TransferWithAuthorization": members(&[
                    ("from", "address"),
                    ("to", "address"),
                    ("value", "uint256"),
                    ("validAfter", "uint256"),
                    ("validBefore", "uint256"),
                    ("nonce", "bytes32"),
                ]),
            },
            "primaryType": "TransferWithAuthorization",
            "domain": {
                "name": offer.extra.name,
                "version": offer.extra.version,
                "chainId": offer.network.chain_id(),
                "verifyingContract": offer.asset.to_string(),
            },
            "message": self.authorization,
        })
    }

    /// Adds a key's signature over [`Self::digest`]: `r`, `s` and `v`, where `v` is 27 or 28, or 0
    /// or 1 for the same. The payment always carries 27 or 28.
    ///
    /// Does not check who signed. A seller refuses a payment that another account signed, and
    /// charges nothing.
    ///
    /// # Errors
    /// [`Invalid::RecoveryValue`] or [`Invalid::HighS`]: token contracts refuse such a signature.
    ///
    /// # Example
    /// ```
    /// use x402_wire::Invalid;
    /// # use alloy_primitives::{B256, U256, address};
    /// # use x402_wire::buyer::{Allowance, Budget, Purchase, SpendPolicy};
    /// # use x402_wire::{Asset, Network, PaymentRequired};
    ///
    /// # let json = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/challenge.json"));
    /// # let ([usdt0, ..], xlayer) = (Asset::chain_196(), Network::evm(196));
    /// # let policy = SpendPolicy::new([Allowance::of(&usdt0, xlayer, U256::from(20_000))]);
    /// # let mut budget = Budget::new().with(xlayer, usdt0.address, U256::from(1_000_000));
    /// # let choice = policy.choose(&PaymentRequired::from_json(json.as_bytes())?, &budget)?;
    /// # let payer = address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    /// # let purchase = Purchase::new(payer, 1_795_219_200, B256::repeat_byte(7));
    /// # let unsigned = choice.authorize(purchase, &mut budget)?;
    /// # let mut signature = [1; 65];
    /// # signature[64] = 27;
    /// let payment = unsigned.sign(signature)?; // of `unsigned.digest()`
    /// assert_eq!(payment.payload()?.authorization(), unsigned.authorization());
    ///
    /// signature[64] = 29;
    /// assert_eq!(unsigned.sign(signature), Err(Invalid::RecoveryValue { observed: 29 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sign(&self, signature: [u8; 65]) -> Result<SignedPayment, Invalid> {
        let signature = key_signature(&signature)?;
        Ok(SignedPayment::new(self, &signature.as_bytes()))
    }

    /// Adds a contract wallet's signature (EIP-1271, ERC-6492) unchanged. Only the chain can judge
    /// it.
    ///
    /// # Errors
    /// [`Invalid::SignatureLength`] below 65 bytes: sellers accept no shorter ones.
    pub fn sign_by_wallet(&self, signature: &Bytes) -> Result<SignedPayment, Invalid> {
        if signature.len() < 65 {
            return Err(Invalid::SignatureLength {
                observed: signature.len(),
            });
        }
        Ok(SignedPayment::new(self, signature))
    }
}

/// A signed payment. The buyer may send it again whenever the answer is lost.
///
/// Store [`Self::header`] before sending it for the first time. When the answer is lost, sending
/// the same value again gets the answer without a second charge. [`Self::restore`] reads the value
/// back after a restart. Anyone who has the header can settle the payment, so `Debug` leaves it
/// out.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedPayment {
    header: String,
    offer: PaymentRequirements,
    authorization: Authorization,
    payment_id: Option<PaymentId>,
}

impl SignedPayment {
    fn new(unsigned: &UnsignedPayment, signature: &[u8]) -> Self {
        let choice = &unsigned.choice;
        let payload = Payload {
            signature: hex::encode_prefixed(signature),
            authorization: &unsigned.authorization,
        };
        let message = Message {
            x402_version: X402_VERSION,
            resource: choice.resource(),
            accepted: RawJson(choice.offer_json()),
            payload,
            extensions: choice.extensions(unsigned.payment_id.as_ref()),
        };
        Self {
            header: encode_header(&own_json(&message)),
            offer: choice.offer().clone(),
            authorization: unsigned.authorization,
            payment_id: unsigned.payment_id.clone(),
        }
    }

    /// Reads a stored [`Self::header`] back, so that a purchase continues after a restart.
    ///
    /// Does not check the signature, the policy or the time, and takes nothing out of a budget: all
    /// of that was done before the header was stored.
    ///
    /// # Errors
    /// [`HeaderError`] when the text is not a payment of this module.
    ///
    /// # Example
    /// ```
    /// use x402_wire::buyer::SignedPayment;
    /// # use alloy_primitives::{B256, U256, address};
    /// # use x402_wire::buyer::{Allowance, Budget, Purchase, SpendPolicy};
    /// # use x402_wire::{Asset, Network, PaymentRequired};
    ///
    /// # let json = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/challenge.json"));
    /// # let challenge = PaymentRequired::from_json(json.as_bytes())?;
    /// # let ([usdt0, ..], xlayer) = (Asset::chain_196(), Network::evm(196));
    /// # let policy = SpendPolicy::new([Allowance::of(&usdt0, xlayer, U256::from(20_000))]);
    /// # let mut budget = Budget::new().with(xlayer, usdt0.address, U256::from(1_000_000));
    /// # let choice = policy.choose(&challenge, &budget)?;
    /// # let payer = address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    /// # let purchase = Purchase::new(payer, 1_795_219_200, B256::repeat_byte(7));
    /// # let unsigned = choice.authorize(purchase, &mut budget)?;
    /// # let mut signature = [1; 65];
    /// # signature[64] = 27;
    /// let payment = unsigned.sign(signature)?;
    /// let stored = payment.header().to_owned(); // in a file, before it is sent
    ///
    /// let restored = SignedPayment::restore(&stored)?;
    /// assert_eq!(restored, payment);
    /// assert_eq!(restored.again(&challenge), Ok(stored.as_str()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore(header: &str) -> Result<Self, HeaderError> {
        let payload = crate::PaymentPayload::from_header(header.as_bytes())?;
        let offer = payload.accepted().offer().ok_or(HeaderError::Schema {
            detail: "accepted: expected an `exact` offer on an eip155 network, with the name and \
                     version of its asset"
                .to_owned(),
        })?;
        Ok(Self {
            header: header.to_owned(),
            offer,
            authorization: *payload.authorization(),
            payment_id: payload.payment_id().and_then(|id| id.parse().ok()),
        })
    }

    /// Returns the value of the header `PAYMENT-SIGNATURE`. It is the same for every retry.
    #[must_use]
    pub fn header(&self) -> &str {
        &self.header
    }

    /// Returns the signed message.
    #[must_use]
    pub fn authorization(&self) -> &Authorization {
        &self.authorization
    }

    /// Returns the chosen offer.
    #[must_use]
    pub fn offer(&self) -> &PaymentRequirements {
        &self.offer
    }

    /// Returns the identifier that is sent. `None` when the caller gave none or the seller accepts
    /// none.
    ///
    /// # Example
    /// ```
    /// use x402_wire::{PaymentId, buyer::Purchase};
    /// # use alloy_primitives::{B256, U256, address};
    /// # use x402_wire::buyer::{Allowance, Budget, SpendPolicy};
    /// # use x402_wire::{Asset, Network, PaymentRequired};
    ///
    /// # let raw = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/challenge.json"));
    /// # let ([usdt0, ..], xlayer) = (Asset::chain_196(), Network::evm(196));
    /// # let policy = SpendPolicy::new([Allowance::of(&usdt0, xlayer, U256::from(20_000))]);
    /// # let mut budget = Budget::new().with(xlayer, usdt0.address, U256::from(1_000_000));
    /// # let choice = policy.choose(&PaymentRequired::from_json(raw.as_bytes())?, &budget)?;
    /// # let payer = address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    /// # let mut signature = [1; 65];
    /// # signature[64] = 27;
    /// let id = PaymentId::from_random([7; 16]); // of the system's random generator
    /// let purchase = Purchase::new(payer, 1_795_219_200, B256::repeat_byte(7));
    /// let unsigned = choice.authorize(purchase.with_id(id.clone()), &mut budget)?;
    /// assert_eq!(unsigned.sign(signature)?.payment_id(), Some(&id));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn payment_id(&self) -> Option<&PaymentId> {
        self.payment_id.as_ref()
    }

    /// Returns the identity of the authorization. By it, the chain shows whether the authorization
    /// was used.
    #[must_use]
    pub fn key(&self) -> AuthorizationKey {
        let PaymentRequirements { network, asset, .. } = self.offer;
        AuthorizationKey {
            network,
            asset,
            payer: self.payer(),
            nonce: self.authorization().nonce,
        }
    }

    /// Returns the payer.
    #[must_use]
    pub fn payer(&self) -> Address {
        self.authorization().from
    }

    /// Returns the header that answers another challenge for the same purchase. It is the same
    /// value as before, also after the authorization has ended, because the seller may have settled
    /// it in time.
    ///
    /// # Errors
    /// [`TermsChanged`] when the seller asks for other terms now. Do not sign them while this
    /// payment may still be settled.
    pub fn again(&self, challenge: &PaymentRequired) -> Result<&str, TermsChanged> {
        still_offered(&self.offer, challenge)?;
        Ok(&self.header)
    }

    /// Reads a `PAYMENT-RESPONSE` header value as the outcome of this payment.
    ///
    /// The outcome is the seller's claim. Only the chain proves it.
    ///
    /// # Errors
    /// [`OutcomeError`] when the value cannot be read, contradicts itself, or names another
    /// payment. The outcome is unknown then.
    ///
    /// # Example
    /// ```
    /// use x402_wire::buyer::{PaymentOutcome, OutcomeError};
    /// use x402_wire::{Reason, SettlementResponse};
    /// # use alloy_primitives::{B256, U256, address};
    /// # use x402_wire::buyer::{Allowance, Budget, Purchase, SpendPolicy};
    /// # use x402_wire::{Asset, Network, PaymentRequired};
    ///
    /// # let json = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/challenge.json"));
    /// # let ([usdt0, ..], xlayer) = (Asset::chain_196(), Network::evm(196));
    /// # let policy = SpendPolicy::new([Allowance::of(&usdt0, xlayer, U256::from(20_000))]);
    /// # let mut budget = Budget::new().with(xlayer, usdt0.address, U256::from(1_000_000));
    /// # let choice = policy.choose(&PaymentRequired::from_json(json.as_bytes())?, &budget)?;
    /// # let payer = address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    /// # let purchase = Purchase::new(payer, 1_795_219_200, B256::repeat_byte(7));
    /// # let unsigned = choice.authorize(purchase, &mut budget)?;
    /// # let mut signature = [1; 65];
    /// # signature[64] = 27;
    /// # let payment = unsigned.sign(signature)?;
    /// let receipt = SettlementResponse::failed(&Reason::InsufficientFunds, "", xlayer, payer).to_header();
    /// match payment.outcome(receipt.as_bytes()) {
    ///     Ok(PaymentOutcome::Settled { transaction }) => println!("paid in {transaction}"),
    ///     Ok(PaymentOutcome::Pending { .. }) => println!("send the same header again later"),
    ///     Ok(PaymentOutcome::NotSettled { reason }) => assert_eq!(reason, Reason::InsufficientFunds),
    ///     Ok(_) | Err(OutcomeError::Header(_)) => println!("unknown: keep the amount out of the budget"),
    ///     Err(other) => return Err(other.into()),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn outcome(&self, value: &[u8]) -> Result<PaymentOutcome, OutcomeError> {
        let response = SettlementResponse::from_header(value)?;
        PaymentOutcome::read(self, response)
    }

    /// Decodes the payment as its seller does.
    ///
    /// # Errors
    /// [`HeaderError::TooDeep`] when the seller's own extensions nest so deeply that this crate
    /// would not read the payment.
    pub fn payload(&self) -> Result<crate::PaymentPayload, HeaderError> {
        crate::PaymentPayload::from_header(self.header.as_bytes())
    }
}

impl fmt::Debug for SignedPayment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedPayment")
            .field("authorization", self.authorization())
            .finish_non_exhaustive()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    x402_version: u64,
    resource: &'a Resource,
    accepted: RawJson<'a>,
    payload: Payload<'a>,
    #[serde(skip_serializing_if = "Extensions::is_empty")]
    extensions: Extensions,
}

#[derive(Serialize)]
struct Payload<'a> {
    signature: String,
    authorization: &'a Authorization,
}
