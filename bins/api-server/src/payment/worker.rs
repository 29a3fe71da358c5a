//! The port to the work behind paid operations.

use alloy_primitives::B256;
use ledger::Answer;

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
}
