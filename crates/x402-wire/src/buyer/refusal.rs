//! Why a policy does not choose an offer.

use std::fmt;

use alloy_primitives::{Address, U256};
use thiserror::Error;

use crate::{AssetName, MIN_REMAINING_SECONDS, Network, UnknownOffer};

/// Why an offer was not chosen.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The crate does not know how to pay the offer.
    #[error(transparent)]
    Unknown(#[from] UnknownOffer),
    /// The offer has the scheme `aggr_deferred`, which needs a session key of a broker.
    #[error("scheme aggr_deferred needs a session key")]
    Session,
    /// The policy allows nothing on the network.
    #[error("the policy has no allowance on {observed}")]
    Network {
        /// The network of the offer.
        observed: Network,
    },
    /// The policy does not allow the asset.
    #[error("the policy has no allowance for the asset {observed}")]
    Asset {
        /// The asset of the offer.
        observed: Address,
    },
    /// The policy does not allow the payee.
    #[error("the policy does not allow the payee {observed}")]
    Payee {
        /// The payee of the offer.
        observed: Address,
    },
    /// The offer names the asset's domain differently than the policy. A signature for it would be
    /// void.
    #[error(
        "the asset's domain: expected `{}` version `{}`, observed `{}` version `{}`",
        expected.name, expected.version, observed.name, observed.version
    )]
    Domain {
        /// The name and the version in the policy.
        expected: AssetName,
        /// The name and the version in the offer, clipped.
        observed: AssetName,
    },
    /// The offer's time is too short for a settlement.
    #[error("maxTimeoutSeconds: expected at least {MIN_REMAINING_SECONDS}, observed {observed}")]
    Window {
        /// The seconds of the offer.
        observed: u64,
    },
    /// The amount is above the policy's cap for one payment.
    #[error("amount: the policy allows at most {cap}, observed {observed}")]
    AboveCap {
        /// The most that one payment may cost.
        cap: U256,
        /// The amount of the offer.
        observed: U256,
    },
    /// The amount is above the rest of the budget.
    #[error("amount: the budget has {left} left, observed {observed}")]
    AboveBudget {
        /// The amount of the asset that is left.
        left: U256,
        /// The amount of the offer.
        observed: U256,
    },
    /// The policy allows the offer, but prefers another one.
    #[error("accepts[{chosen}] is preferred")]
    NotPreferred {
        /// The position of the chosen offer.
        chosen: usize,
    },
}

impl Refusal {
    /// Returns the stable name of this reason.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown(UnknownOffer::Scheme { .. }) => "unknown_scheme",
            Self::Unknown(UnknownOffer::Network { .. }) => "unknown_network",
            Self::Unknown(UnknownOffer::TransferMethod { .. }) => "unknown_transfer_method",
            Self::Unknown(UnknownOffer::PaymentFlow { .. }) => "unknown_payment_flow",
            Self::Unknown(UnknownOffer::Domain { .. }) => "no_domain",
            Self::Session => "session_key_needed",
            Self::Network { .. } => "network_not_allowed",
            Self::Asset { .. } => "asset_not_allowed",
            Self::Payee { .. } => "payee_not_allowed",
            Self::Domain { .. } => "domain_mismatch",
            Self::Window { .. } => "window_too_short",
            Self::AboveCap { .. } => "above_cap",
            Self::AboveBudget { .. } => "above_budget",
            Self::NotPreferred { .. } => "not_preferred",
        }
    }
}

/// An offer that was not chosen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct NotChosen {
    /// Its position in `accepts`, from 0.
    pub index: usize,
    /// The reason.
    pub refusal: Refusal,
}

impl fmt::Display for NotChosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "accepts[{}]: {}", self.index, self.refusal)
    }
}

/// The policy allows no offer of the challenge.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub struct NoOffer {
    /// Every offer with its refusal, in the seller's order. Empty when the challenge has no offers.
    pub refusals: Vec<NotChosen>,
}

impl fmt::Display for NoOffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The most refusals that a message shows.
        const SHOWN: usize = 8;
        if self.refusals.is_empty() {
            return f.write_str("the challenge has no offers");
        }
        f.write_str("the policy allows no offer")?;
        for refusal in self.refusals.iter().take(SHOWN) {
            write!(f, "; {refusal}")?;
        }
        match self.refusals.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "; {more} more"),
        }
    }
}
