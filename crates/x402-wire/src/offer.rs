//! The payment options of one route, and the search for the option that a payment claims.

use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use thiserror::Error;

use crate::{
    Accepted, AcceptedExtra, AssetName, MicroUsd, Network, PaymentRequirements, Reason, Scheme,
    Terms, clip,
};

/// The payment options of one route: every asset with `exact`, then every asset with
/// `aggr_deferred`, all at the same amount.
///
/// # Example
/// ```
/// use alloy_primitives::address;
/// use x402_wire::{Asset, MicroUsd, Network, Terms};
///
/// let terms = Terms {
///     network: Network::evm(196),
///     pay_to: address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906"),
///     max_timeout_seconds: 300,
///     assets: Asset::chain_196().to_vec(),
/// };
/// let offer = terms.offer(MicroUsd::dollars("0.002"));
/// let schemes: Vec<_> = offer.options().map(|option| option.scheme.as_str()).collect();
/// assert_eq!(schemes[..3], ["exact"; 3]);
/// assert_eq!(schemes[3..], ["aggr_deferred"; 3]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    options: Vec<Arc<PaymentOption>>,
}

/// A payment option, with its JSON and its domain separator computed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentOption {
    requirements: PaymentRequirements,
    json: String,
    domain_separator: B256,
}

impl PaymentOption {
    pub(crate) fn new(requirements: PaymentRequirements) -> Self {
        let domain_separator = requirements.domain_separator();
        Self {
            json: requirements.to_json(),
            requirements,
            domain_separator,
        }
    }

    /// Returns the option as messages contain it.
    #[must_use]
    pub fn requirements(&self) -> &PaymentRequirements {
        &self.requirements
    }

    /// Returns the option's JSON: [`PaymentRequirements::to_json`].
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Returns the EIP-712 domain separator of the option's asset.
    #[must_use]
    pub fn domain_separator(&self) -> B256 {
        self.domain_separator
    }
}

/// The first member in which a caller's copy differs from every option.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// No option has this scheme.
    #[error("accepted.scheme: expected `exact` or `aggr_deferred`, observed `{observed}`")]
    Scheme {
        /// The caller's text, clipped.
        observed: String,
    },
    /// The network differs.
    #[error("accepted.network: expected `{expected}`, observed `{observed}`")]
    Network {
        /// The offered network.
        expected: Network,
        /// The caller's text, clipped.
        observed: String,
    },
    /// The token is not accepted.
    #[error("accepted.asset: {observed} is not one of the accepted assets")]
    Asset {
        /// The caller's token.
        observed: Address,
    },
    /// The amount differs from the price.
    #[error("accepted.amount: expected {expected}, observed {observed}")]
    Amount {
        /// The price.
        expected: U256,
        /// The caller's amount.
        observed: U256,
    },
    /// The payee differs.
    #[error("accepted.payTo: expected {expected}, observed {observed}")]
    PayTo {
        /// The receiving address.
        expected: Address,
        /// The caller's payee.
        observed: Address,
    },
    /// The time-out differs.
    #[error("accepted.maxTimeoutSeconds: expected {expected}, observed {observed}")]
    MaxTimeout {
        /// The offered seconds.
        expected: u64,
        /// The caller's seconds.
        observed: u64,
    },
    /// The EIP-712 name differs. It is often the Latin-1 reading of a UTF-8 header.
    #[error("accepted.extra.name: expected `{expected}`, observed `{observed}`")]
    ExtraName {
        /// The asset's name.
        expected: String,
        /// The caller's name, clipped. Empty when absent.
        observed: String,
    },
    /// The EIP-712 version differs.
    #[error("accepted.extra.version: expected `{expected}`, observed `{observed}`")]
    ExtraVersion {
        /// The asset's version.
        expected: String,
        /// The caller's version, clipped. Empty when absent.
        observed: String,
    },
    /// The caller names a payment flow that was not offered.
    #[error(
        "accepted.extra.paymentFlow: expected `{PAYMENT_FLOW}` or nothing, observed `{observed}`"
    )]
    PaymentFlow {
        /// The caller's flow, clipped.
        observed: String,
    },
    /// The caller names a way of moving the asset that was not offered.
    #[error(
        "accepted.extra.{member}: expected `{TRANSFER_METHOD}` or nothing, observed `{observed}`"
    )]
    TransferMethod {
        /// `assetTransferMethod`, or its older name `transferMethod`.
        member: &'static str,
        /// The caller's method, clipped.
        observed: String,
    },
}

/// The flow of every option: verify, work, settle. It is the protocol's default, so offers do not
/// name it.
pub(crate) const PAYMENT_FLOW: &str = "authorization";

/// The transfer method of every option. It is the default of scheme `exact`, so offers do not name
/// it.
pub(crate) const TRANSFER_METHOD: &str = "eip3009";

impl Mismatch {
    /// Returns the reason code that x402 v2 has for this mismatch.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Scheme { .. } => Reason::UnsupportedScheme,
            Self::Network { .. } => Reason::NetworkMismatch,
            Self::ExtraName { .. } => Reason::InvalidExactEvmTokenNameMismatch,
            Self::ExtraVersion { .. } => Reason::InvalidExactEvmTokenVersionMismatch,
            Self::PaymentFlow { .. } => Reason::UnsupportedPaymentFlow,
            Self::TransferMethod { .. } => Reason::UnsupportedTransferMethod,
            Self::Asset { .. }
            | Self::Amount { .. }
            | Self::PayTo { .. }
            | Self::MaxTimeout { .. } => Reason::InvalidPaymentRequirements,
        }
    }
}

impl Terms {
    /// Returns the options at one price: every asset with scheme `exact`, then every asset with
    /// `aggr_deferred`.
    #[must_use]
    pub fn offer(&self, price: MicroUsd) -> Offer {
        self.offer_with([Scheme::Exact, Scheme::AggrDeferred], price)
    }

    /// Returns the options at one price with these schemes only: every asset with the first one,
    /// then every asset with the next.
    ///
    /// A seller without a facilitator that judges `aggr_deferred` offers [`Scheme::Exact`] alone.
    ///
    /// # Example
    /// ```
    /// use x402_wire::{Asset, MicroUsd, Network, Scheme, Terms};
    ///
    /// let terms = Terms {
    ///     network: Network::evm(196),
    ///     pay_to: alloy_primitives::address!("0x90F79bf6EB2c4f870365E785982E1f101E93b906"),
    ///     max_timeout_seconds: 300,
    ///     assets: Asset::chain_196().to_vec(),
    /// };
    /// let offer = terms.offer_with([Scheme::Exact], MicroUsd::dollars("0.002"));
    /// assert!(offer.options().all(|option| option.scheme == Scheme::Exact));
    /// ```
    #[must_use]
    pub fn offer_with(&self, schemes: impl IntoIterator<Item = Scheme>, price: MicroUsd) -> Offer {
        let options = schemes
            .into_iter()
            .flat_map(|scheme| self.assets.iter().map(move |asset| (scheme, asset)))
            .map(|(scheme, asset)| PaymentRequirements {
                scheme,
                network: self.network,
                amount: price.amount(),
                asset: asset.address,
                pay_to: self.pay_to,
                max_timeout_seconds: self.max_timeout_seconds,
                extra: AssetName {
                    name: asset.name.clone(),
                    version: asset.version.clone(),
                },
            })
            .map(|requirements| Arc::new(PaymentOption::new(requirements)))
            .collect();
        Offer { options }
    }
}

impl Offer {
    /// Returns the options in the order of the `accepts` list.
    pub fn options(&self) -> impl ExactSizeIterator<Item = &PaymentRequirements> {
        self.options.iter().map(|option| &option.requirements)
    }

    /// Finds the option that a caller's copy equals in **every** member. Addresses compare by
    /// value, so their case does not matter. The caller's `extra` may have more members, except for
    /// those that change how the payment is made: another payment flow or transfer method than the
    /// default.
    ///
    /// The returned option is the seller's own and contains nothing of the caller's copy.
    ///
    /// # Errors
    /// The first member that differs. The order (scheme, network, asset, then the rest) finds the
    /// option that the caller meant.
    ///
    /// # Example
    /// ```
    /// use x402_wire::{Mismatch, PaymentPayload};
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
    /// let payload = PaymentPayload::from_json(json.as_bytes())?;
    /// let option = offer.accept(payload.accepted())?;
    /// assert_eq!(option.requirements().amount, MicroUsd::dollars("0.002").amount());
    ///
    /// let dearer = terms.offer(MicroUsd::dollars("0.003"));
    /// assert!(matches!(dearer.accept(payload.accepted()), Err(Mismatch::Amount { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn accept(&self, accepted: &Accepted) -> Result<&Arc<PaymentOption>, Mismatch> {
        let scheme: Scheme = accepted.scheme.parse().map_err(|_| Mismatch::Scheme {
            observed: clip(&accepted.scheme),
        })?;
        let mut candidates = self
            .options
            .iter()
            .filter(|option| option.requirements.scheme == scheme)
            .peekable();
        let first = candidates.peek().ok_or_else(|| Mismatch::Scheme {
            observed: clip(&accepted.scheme),
        })?;
        let network = first.requirements.network;
        if accepted.network.parse() != Ok(network) {
            return Err(Mismatch::Network {
                expected: network,
                observed: clip(&accepted.network),
            });
        }
        let option = candidates
            .find(|option| option.requirements.asset == accepted.asset)
            .ok_or(Mismatch::Asset {
                observed: accepted.asset,
            })?;

        let ours = &option.requirements;
        if accepted.amount != ours.amount {
            return Err(Mismatch::Amount {
                expected: ours.amount,
                observed: accepted.amount,
            });
        }
        if accepted.pay_to != ours.pay_to {
            return Err(Mismatch::PayTo {
                expected: ours.pay_to,
                observed: accepted.pay_to,
            });
        }
        if accepted.max_timeout_seconds != ours.max_timeout_seconds {
            return Err(Mismatch::MaxTimeout {
                expected: ours.max_timeout_seconds,
                observed: accepted.max_timeout_seconds,
            });
        }
        let name = accepted.extra.name.as_deref().unwrap_or_default();
        if name != ours.extra.name {
            return Err(Mismatch::ExtraName {
                expected: ours.extra.name.clone(),
                observed: clip(name),
            });
        }
        let version = accepted.extra.version.as_deref().unwrap_or_default();
        if version != ours.extra.version {
            return Err(Mismatch::ExtraVersion {
                expected: ours.extra.version.clone(),
                observed: clip(version),
            });
        }
        offered_way(&accepted.extra)?;
        Ok(option)
    }
}

/// Refuses a flow or a transfer method that is not offered.
fn offered_way(extra: &AcceptedExtra) -> Result<(), Mismatch> {
    let other = |named: &Option<String>, offered: &str| {
        let named = named.as_deref().filter(|named| *named != offered);
        named.map(clip)
    };
    if let Some(observed) = other(&extra.payment_flow, PAYMENT_FLOW) {
        return Err(Mismatch::PaymentFlow { observed });
    }
    for (member, named) in [
        ("assetTransferMethod", &extra.asset_transfer_method),
        ("transferMethod", &extra.transfer_method),
    ] {
        if let Some(observed) = other(named, TRANSFER_METHOD) {
            return Err(Mismatch::TransferMethod { member, observed });
        }
    }
    Ok(())
}
