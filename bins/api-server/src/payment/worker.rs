//! The port to the work behind paid operations.

use alloy_primitives::B256;
use ledger::Answer;
use route_catalog::Operation;

use crate::call::Call;
use crate::reply::ErrorReply;

/// Does the work behind paid operations.
pub(crate) trait Worker: Send + Sync + 'static {
    /// The answer to a call whose parameters are valid. `request` is the digest of the request.
    fn answer(
        &self,
        call: &Call,
        request: B256,
    ) -> impl Future<Output = Result<Answer, ErrorReply>> + Send;

    /// Whether an earlier call with the payment of this digest has begun something that goes on
    /// without a call or has had an effect. A new payment would do it a second time. Work that
    /// cannot be read counts as begun.
    fn has_begun(&self, payment: B256) -> impl Future<Output = bool> + Send;

    /// Sees to it that the payment of this digest begins nothing any more, also in a call that was
    /// held up before it began. Returns the same as [`has_begun`](Self::has_begun).
    fn forbid(&self, operation: Operation, payment: B256) -> impl Future<Output = bool> + Send;
}
