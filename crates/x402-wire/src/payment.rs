//! A payment that matches one of the seller's options, and its offline verification.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use thiserror::Error;

use crate::{
    Authorization, AuthorizationKey, HeaderError, Mismatch, Offer, PaymentOption, PaymentPayload,
    PaymentRequirements, Reason, Scheme,
};

/// The shortest remaining life of an authorization, in seconds. The reference facilitator requires
/// as much.
pub const MIN_REMAINING_SECONDS: u64 = 6;

/// The longest remaining life of an authorization of the scheme `exact`, in seconds. Sellers keep
/// the record of an authorization until it ends, so this also limits the size of the ledger. An
/// `aggr_deferred` authorization may never end: the wallets of that scheme sign no end.
pub const MAX_WINDOW_SECONDS: u64 = 86_400;

/// A payment bound to one of the seller's own options. The option decides amount, payee, asset and
/// domain. The caller's copy equals it and is not read again.
///
/// # Example
/// ```
/// use alloy_primitives::address;
/// use x402_wire::{Asset, Invalid, MicroUsd, Network, Payment, PaymentPayload, Terms};
///
/// # let json = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/payment.json"));
/// # let terms = Terms {
/// #     network: Network::evm(196),
/// #     pay_to: address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906"),
/// #     max_timeout_seconds: 300,
/// #     assets: Asset::chain_196().to_vec(),
/// # };
/// # let offer = terms.offer(MicroUsd::dollars("0.002"));
/// let payment = Payment::matching(&offer, PaymentPayload::from_json(json.as_bytes())?)?;
/// payment.check_terms()?;
/// payment.check_window(1_795_219_200, 10)?;
/// assert_eq!(payment.payer(), address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"));
///
/// // Eleven seconds before its end.
/// let late = payment.check_window(1_795_219_489, 12);
/// assert!(matches!(late, Err(Invalid::EndsTooSoon { required: 1_795_219_501, .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    payload: Arc<PaymentPayload>,
    option: Arc<PaymentOption>,
    bazaar: Option<Arc<str>>,
}

/// Why a payment is invalid. Nothing has been charged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum Invalid {
    /// The authorization pays another account.
    #[error("authorization.to: expected {expected}, observed {observed}")]
    Recipient {
        /// The receiving address.
        expected: Address,
        /// The signed payee.
        observed: Address,
    },
    /// The authorization is not for exactly the price.
    #[error("authorization.value: expected exactly {expected}, observed {observed}")]
    Value {
        /// The price.
        expected: U256,
        /// The signed amount.
        observed: U256,
    },
    /// The authorization starts in the future.
    #[error("authorization.validAfter: {valid_after} is later than now, {now}")]
    NotYetValid {
        /// The time, in Unix seconds, after which the authorization is valid.
        valid_after: U256,
        /// The time by the judge's clock, in Unix seconds.
        now: u64,
    },
    /// The authorization ends before work and settlement can be done, or has ended.
    #[error("authorization.validBefore: expected at least {required}, observed {valid_before}")]
    EndsTooSoon {
        /// The time, in Unix seconds, at which the authorization ends.
        valid_before: U256,
        /// The earliest allowed end, in Unix seconds.
        required: u64,
    },
    /// An `exact` authorization ends later than a day from now.
    #[error("authorization.validBefore: expected at most {limit}, observed {valid_before}")]
    EndsTooLate {
        /// The time, in Unix seconds, at which the authorization ends.
        valid_before: U256,
        /// The latest allowed end, in Unix seconds.
        limit: u64,
    },
    /// The signature is not `0x` and hexadecimal digits.
    #[error("payload.signature: expected 0x and hexadecimal digits")]
    SignatureText,
    /// The signature has fewer than 65 bytes.
    #[error("payload.signature: expected at least 65 bytes, observed {observed}")]
    SignatureLength {
        /// The number of bytes.
        observed: usize,
    },
    /// The signature's `s` is above half the curve order. It is then a second valid form of the
    /// same signature (EIP-2).
    #[error("payload.signature: s lies in the upper half of the curve order")]
    HighS,
    /// Token contracts refuse this recovery value.
    #[error("payload.signature: expected v to be 27 or 28 (0 or 1), observed {observed}")]
    RecoveryValue {
        /// The 65th byte.
        observed: u8,
    },
    /// Another account has signed, or no account can be recovered.
    #[error("payload.signature: expected the signer {expected}, observed {}", signer(*observed))]
    Signer {
        /// The payer.
        expected: Address,
        /// The recovered address. `None` when nothing can be recovered.
        observed: Option<Address>,
    },
}

impl Invalid {
    /// Returns the reason code that x402 v2 has for this fault.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Recipient { .. } => Reason::InvalidExactEvmPayloadRecipientMismatch,
            Self::Value { .. } => Reason::InvalidExactEvmPayloadAuthorizationValueMismatch,
            Self::NotYetValid { .. } => Reason::InvalidExactEvmPayloadAuthorizationValidAfter,
            Self::EndsTooSoon { .. } | Self::EndsTooLate { .. } => {
                Reason::InvalidExactEvmPayloadAuthorizationValidBefore
            }
            Self::SignatureText
            | Self::SignatureLength { .. }
            | Self::HighS
            | Self::RecoveryValue { .. }
            | Self::Signer { .. } => Reason::InvalidExactEvmPayloadSignature,
        }
    }
}

/// Why a stored payment cannot be read again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The payload cannot be read.
    #[error("the stored payment cannot be read: {0}")]
    Payload(#[from] HeaderError),
    /// The matched option cannot be read.
    #[error("the stored payment option cannot be read: {detail}")]
    Requirements {
        /// The parser's message: the expected form and its place.
        detail: String,
    },
}

impl Payment {
    /// Binds a payment to the option that it claims to pay.
    ///
    /// # Errors
    /// [`Mismatch`]: the first member of the claim that no option has.
    ///
    /// # Example
    /// ```
    /// use x402_wire::{Mismatch, Payment, PaymentPayload, Reason};
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
    /// let elsewhere = json.replace("eip155:196", "eip155:1");
    /// let refused = Payment::matching(&offer, PaymentPayload::from_json(elsewhere.as_bytes())?);
    /// assert!(matches!(&refused, Err(Mismatch::Network { observed, .. }) if observed == "eip155:1"));
    /// assert_eq!(refused.unwrap_err().reason(), Reason::NetworkMismatch);
    /// # Ok::<(), x402_wire::HeaderError>(())
    /// ```
    pub fn matching(offer: &Offer, payload: PaymentPayload) -> Result<Self, Mismatch> {
        let option = offer.accept(payload.accepted())?.clone();
        Ok(Self {
            payload: Arc::new(payload),
            option,
            bazaar: None,
        })
    }

    /// Reads a stored payment again, from [`PaymentPayload::raw`] and
    /// [`PaymentRequirements::to_json`].
    ///
    /// # Errors
    /// When either text is damaged.
    ///
    /// # Example
    /// ```
    /// use x402_wire::{Payment, RestoreError};
    /// # use alloy_primitives::address;
    /// # use x402_wire::{Asset, MicroUsd, Network, PaymentPayload, Terms};
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
    /// let kept = (payment.payload().raw(), payment.requirements_json());
    /// assert_eq!(Payment::restore(kept.0.as_bytes(), kept.1.as_bytes())?, payment);
    ///
    /// let damaged = Payment::restore(kept.0.as_bytes(), b"{");
    /// assert!(matches!(damaged, Err(RestoreError::Requirements { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore(payload_json: &[u8], requirements_json: &[u8]) -> Result<Self, RestoreError> {
        let payload = PaymentPayload::from_json(payload_json)?;
        let requirements = serde_json::from_slice(requirements_json).map_err(|error| {
            RestoreError::Requirements {
                detail: error.to_string(),
            }
        })?;
        Ok(Self {
            payload: Arc::new(payload),
            option: Arc::new(PaymentOption::new(requirements)),
            bazaar: None,
        })
    }

    /// Adds the seller's own `bazaar` extension of the resource, as JSON text. Facilitators that
    /// list the extension get it ([`facilitator::request_body_declaring`]).
    ///
    /// [`facilitator::request_body_declaring`]: crate::facilitator::request_body_declaring
    #[must_use]
    pub fn with_bazaar(self, declaration: Arc<str>) -> Self {
        Self {
            bazaar: Some(declaration),
            ..self
        }
    }

    /// Returns the seller's own `bazaar` extension of the resource, as JSON text.
    #[must_use]
    pub fn bazaar(&self) -> Option<&str> {
        self.bazaar.as_deref()
    }

    /// Returns the caller's message.
    #[must_use]
    pub fn payload(&self) -> &PaymentPayload {
        &self.payload
    }

    /// Returns the seller's own option. Facilitators receive this one.
    #[must_use]
    pub fn requirements(&self) -> &PaymentRequirements {
        self.option.requirements()
    }

    /// Returns [`Self::requirements`] as JSON text. It is written once for all payments of the
    /// option.
    #[must_use]
    pub fn requirements_json(&self) -> &str {
        self.option.json()
    }

    /// Returns the signed message.
    #[must_use]
    pub fn authorization(&self) -> &Authorization {
        self.payload.authorization()
    }

    /// Returns the payer.
    #[must_use]
    pub fn payer(&self) -> Address {
        self.authorization().from
    }

    /// Returns the scheme of the option.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.requirements().scheme
    }

    /// Returns the identity of this authorization.
    #[must_use]
    pub fn key(&self) -> AuthorizationKey {
        AuthorizationKey {
            network: self.requirements().network,
            asset: self.requirements().asset,
            payer: self.payer(),
            nonce: self.authorization().nonce,
        }
    }

    /// Returns the EIP-712 digest of the authorization, under the asset's name and version in the
    /// seller's own option.
    #[must_use]
    pub fn digest(&self) -> B256 {
        self.authorization().digest(self.option.domain_separator())
    }

    /// Checks that the authorization pays the seller exactly the price.
    ///
    /// # Errors
    /// [`Invalid::Recipient`] or [`Invalid::Value`].
    pub fn check_terms(&self) -> Result<(), Invalid> {
        let (authorization, ours) = (self.authorization(), self.requirements());
        if authorization.to != ours.pay_to {
            return Err(Invalid::Recipient {
                expected: ours.pay_to,
                observed: authorization.to,
            });
        }
        if authorization.value != ours.amount {
            return Err(Invalid::Value {
                expected: ours.amount,
                observed: authorization.value,
            });
        }
        Ok(())
    }

    /// Checks that the authorization is valid now, for at least `remaining` more seconds (never
    /// less than [`MIN_REMAINING_SECONDS`]), and under the scheme `exact` for at most
    /// [`MAX_WINDOW_SECONDS`].
    ///
    /// # Errors
    /// [`Invalid::NotYetValid`], [`Invalid::EndsTooSoon`] or [`Invalid::EndsTooLate`].
    pub fn check_window(&self, now: u64, remaining: u64) -> Result<(), Invalid> {
        let Authorization {
            valid_after,
            valid_before,
            ..
        } = *self.authorization();
        if valid_after > U256::from(now) {
            return Err(Invalid::NotYetValid { valid_after, now });
        }
        let required = now.saturating_add(remaining.max(MIN_REMAINING_SECONDS));
        if valid_before < U256::from(required) {
            return Err(Invalid::EndsTooSoon {
                valid_before,
                required,
            });
        }
        let limit = now.saturating_add(MAX_WINDOW_SECONDS);
        if self.scheme() == Scheme::Exact && valid_before > U256::from(limit) {
            return Err(Invalid::EndsTooLate {
                valid_before,
                limit,
            });
        }
        Ok(())
    }

    /// Returns the signature as bytes for a contract wallet to judge (EIP-1271): at least 65 bytes,
    /// under scheme `exact`, whichever account they recover to. `None` when no wallet can have made
    /// the signature.
    ///
    /// Use the bytes when `check_signature` refuses 65 bytes (another signer, or a `v` or an `s`
    /// that a key does not write) and the payer is known to be a contract. They prove nothing until
    /// the chain has accepted them.
    #[must_use]
    pub fn wallet_signature(&self) -> Option<Bytes> {
        if self.scheme() != Scheme::Exact {
            return None;
        }
        let bytes = self.payload.signature().to_bytes()?;
        (bytes.len() >= 65).then_some(bytes)
    }
}

fn signer(observed: Option<Address>) -> String {
    observed.map_or_else(|| "no address".to_owned(), |address| address.to_string())
}
