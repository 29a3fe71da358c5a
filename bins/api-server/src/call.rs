//! A paid call as an operation sees it.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256};
use http_edge::RequestId;
use route_catalog::{Operation, Parameters};
use storage::postgres::Condition;
use wallet_actions::Charge;

use crate::reply::ErrorReply;

/// A paid call whose parameters are valid.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) operation: Operation,
    pub(crate) parameters: Parameters,
    /// The payer, whose identity decides what private routes show.
    pub(crate) payer: Address,
    /// The payment itself, for work that one payment buys only once.
    pub(crate) payment: CallPayment,
    /// The condition that the payment is still claimed for this call, for work that goes on without
    /// it. `None` before the claim, and where one server has the journal for itself.
    pub(crate) claim: Option<Condition>,
    /// Whether an earlier purchase of the same payer for the same request has become undecidable.
    pub(crate) is_beside_undecidable: bool,
    /// The whole paid call, for work that a restart must be able to resume.
    pub(crate) kept: Option<Arc<str>>,
    /// The payer's sub-wallet, when the operation asks for it.
    pub(crate) sub_wallet: Option<Address>,
    pub(crate) request_id: RequestId,
    /// The header `X-Max-Age`; the parameter `max_age` takes precedence.
    pub(crate) max_age: Option<u64>,
}

/// The facts about a payment that work may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallPayment {
    /// The digest of the authorization, which identifies the payment.
    pub(crate) digest: B256,
    /// Whether the payer's own key signed it. Otherwise the payer is a contract.
    pub(crate) by_key: bool,
    /// The transfer that settles the payment.
    pub(crate) charge: Charge,
    /// The Unix second by which the work must end so that the payment can still be settled.
    pub(crate) work_until: u64,
}

impl Call {
    /// Whether the answer is about the payer's own wallet.
    pub(crate) fn is_private(&self) -> bool {
        self.operation.privacy().is_private(&self.parameters)
    }

    /// Whether the call begins something that a second call must not begin again.
    pub(crate) fn begins_something(&self) -> bool {
        self.operation.begins_something(&self.parameters)
    }

    /// The address in the call, or else the payer's sub-wallet.
    pub(crate) fn address_or_own(&self) -> Result<Address, ErrorReply> {
        self.parameters
            .address("address")
            .or(self.sub_wallet)
            .ok_or_else(|| {
                tracing::debug!(payer = %self.payer, operation = %self.operation, "no sub-wallet");
                ErrorReply::no_sub_wallet().message(
                    "the payer has no sub-wallet: name an address, or make it with GET /sub-wallet",
                )
            })
    }

    /// The oldest data that the caller accepts, in seconds.
    pub(crate) fn max_age_seconds(&self) -> Option<u64> {
        self.parameters.max_age_seconds().or(self.max_age)
    }

    /// [`Self::max_age_seconds`] as a duration, which sources expect.
    pub(crate) fn max_age(&self) -> Option<Duration> {
        self.max_age_seconds().map(Duration::from_secs)
    }
}
