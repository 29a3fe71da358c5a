//! The outcome of a payment, as the seller reports it.

use alloy_primitives::{Address, B256};
use thiserror::Error;

use super::SignedPayment;
use crate::{HeaderError, Network, Reason, SettlementResponse, clip};

/// The outcome of a payment, as the seller reports it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PaymentOutcome {
    /// The payment was settled.
    Settled {
        /// The transaction.
        transaction: B256,
    },
    /// The outcome is not known yet. Send the same header again later.
    Pending {
        /// The transaction, when the seller names one.
        transaction: Option<B256>,
    },
    /// The seller did not settle. The authorization can still be used until it ends. Do not sign
    /// another one for the same purchase unless the seller can no longer settle this one.
    NotSettled {
        /// The seller's reason.
        reason: Reason,
    },
}

/// Why a `PAYMENT-RESPONSE` is not the outcome of a payment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum OutcomeError {
    /// The header cannot be read.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The answer names another payment.
    #[error("{member}: expected {expected}, observed `{observed}`")]
    OtherPayment {
        /// The member that differs.
        member: &'static str,
        /// The value in the payment.
        expected: String,
        /// The value in the answer, clipped.
        observed: String,
    },
    /// The answer reports success together with an error or with the status of a failure.
    #[error("success with the error `{observed}`")]
    Contradiction {
        /// The error or the status, clipped.
        observed: String,
    },
    /// The answer reports success without the hash of a transaction.
    #[error("transaction: expected a hash, observed `{observed}`")]
    Transaction {
        /// The text in place of the hash, clipped.
        observed: String,
    },
}

impl OutcomeError {
    /// Returns the stable name of this reason.
    ///
    /// # Example
    /// ```
    /// use x402_wire::buyer::OutcomeError;
    ///
    /// let unfit = OutcomeError::Transaction { observed: "none".to_owned() };
    /// assert_eq!(unfit.code(), "transaction_missing");
    /// ```
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Header(_) => "header_unreadable",
            Self::OtherPayment { .. } => "other_payment",
            Self::Contradiction { .. } => "contradiction",
            Self::Transaction { .. } => "transaction_missing",
        }
    }
}

/// Values of `status` for a finished settlement.
const FINISHED: [&str; 4] = ["success", "settled", "confirmed", "completed"];
/// Values of `status` for a settlement that has failed.
const FAILED: [&str; 4] = ["failed", "error", "reverted", "rejected"];
/// Values of `status` for a settlement that is still open.
const OPEN: [&str; 3] = ["pending", "timeout", "processing"];

impl PaymentOutcome {
    pub(super) fn read(
        payment: &SignedPayment,
        response: SettlementResponse,
    ) -> Result<Self, OutcomeError> {
        same_payment(payment, &response)?;
        let reason = response.error_reason.filter(|text| !text.is_empty());
        let state = response.status.filter(|text| !text.is_empty());
        let is = |words: &[&str]| {
            let state = state.as_deref().unwrap_or_default();
            words.iter().any(|word| state.eq_ignore_ascii_case(word))
        };
        let transaction = response.transaction.parse::<B256>().ok();
        if !response.success {
            let reason = reason
                .as_deref()
                .map_or(Reason::UnexpectedSettleError, Reason::from);
            return Ok(if reason == Reason::SettlementPending || is(&OPEN) {
                Self::Pending { transaction }
            } else {
                Self::NotSettled { reason }
            });
        }
        if let Some(reason) = reason {
            let observed = clip(&reason);
            return Err(OutcomeError::Contradiction { observed });
        }
        if is(&FAILED) {
            let observed = clip(state.as_deref().unwrap_or_default());
            return Err(OutcomeError::Contradiction { observed });
        }
        if state.is_some() && !is(&FINISHED) {
            return Ok(Self::Pending { transaction });
        }
        let transaction = transaction.ok_or_else(|| OutcomeError::Transaction {
            observed: clip(&response.transaction),
        })?;
        Ok(Self::Settled { transaction })
    }
}

/// Checks the network, the payer and the amount of the answer. A member that the answer lacks
/// proves nothing.
fn same_payment(
    payment: &SignedPayment,
    response: &SettlementResponse,
) -> Result<(), OutcomeError> {
    let offer = payment.offer();
    let other = |member, expected: String, observed: &str| {
        Err(OutcomeError::OtherPayment {
            member,
            expected,
            observed: clip(observed),
        })
    };
    let network = &response.network;
    if !network.is_empty() && network.parse::<Network>() != Ok(offer.network) {
        return other("network", offer.network.to_string(), network);
    }
    let payer = response.payer.as_deref().unwrap_or_default();
    if !payer.is_empty() && exact::parse_hex_array(payer).map(Address::new) != Some(payment.payer())
    {
        return other("payer", payment.payer().to_string(), payer);
    }
    let amount = response.amount.as_deref().unwrap_or_default();
    if !amount.is_empty() && exact::parse_uint(amount) != Some(offer.amount) {
        return other("amount", offer.amount.to_string(), amount);
    }
    Ok(())
}
