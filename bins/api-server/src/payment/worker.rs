//! The port to the work behind paid operations.

use alloy_primitives::B256;
use ledger::PaidAnswer;
use serde_json::{Map, Value};

use crate::call::Call;
use crate::reply::ErrorReply;

/// Does the work behind paid operations.
pub(crate) trait Worker: Send + Sync + 'static {
    /// The answer to a call whose parameters are valid. `request` is the digest of the request.
    ///
    /// Work that goes on without its call begins under the call's claim: only while the call still
    /// owns its payment. So nothing begins for a payment that was released.
    fn answer(
        &self,
        call: &Call,
        request: B256,
    ) -> impl Future<Output = Result<PaidAnswer, ErrorReply>> + Send;

    /// Whether an earlier call with the payment of this digest has begun something that goes on
    /// without a call or has had an effect. A new payment would do it a second time. Work that
    /// cannot be read counts as begun.
    fn has_begun(&self, payment: B256) -> impl Future<Output = bool> + Send;

    /// The action or the mandate that the payment of this digest has begun: its id, its state and,
    /// if there is one, its transaction. `None` when it has begun nothing, or when that cannot be
    /// read.
    fn began(&self, payment: B256) -> impl Future<Output = Option<Map<String, Value>>> + Send;
}
