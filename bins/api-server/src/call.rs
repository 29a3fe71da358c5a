//! What an operation is asked.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256};
use http_edge::RequestId;
use route_catalog::{Operation, Parameters};

/// A paid call whose parameters are valid.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) operation: Operation,
    pub(crate) parameters: Parameters,
    /// Who pays: the identity behind routes of a caller's own.
    pub(crate) payer: Address,
    /// The payment itself, for work that one payment buys once.
    pub(crate) payment: CallPayment,
    /// The whole call as it was paid for, where its work keeps it for after a restart.
    pub(crate) kept: Option<Arc<str>>,
    /// The payer's sub-wallet, as far as the operation asks for it.
    pub(crate) sub_wallet: Option<Address>,
    pub(crate) request_id: RequestId,
    /// `X-Max-Age`; the parameter `max_age` wins.
    pub(crate) max_age: Option<u64>,
}

/// What work may know of its payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallPayment {
    /// The digest of its authorization, which tells it from every other payment.
    pub(crate) digest: B256,
    /// The Unix second by which the work has to end, so that the payment can still be settled.
    pub(crate) work_until: u64,
}

impl Call {
    /// Whether the answer is about the payer's own wallet.
    pub(crate) fn is_private(&self) -> bool {
        self.operation.privacy().is_private(&self.parameters)
    }

    /// The oldest data that the caller takes, in seconds.
    pub(crate) fn max_age_seconds(&self) -> Option<u64> {
        self.parameters.max_age_seconds().or(self.max_age)
    }

    /// [`Self::max_age_seconds`] as sources take it.
    pub(crate) fn max_age(&self) -> Option<Duration> {
        self.max_age_seconds().map(Duration::from_secs)
    }
}
