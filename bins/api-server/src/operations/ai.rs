//! What the routes that ask a model share.

use std::time::Duration;

use route_catalog::ErrorCode;
use tokio::time::timeout;

use crate::reply::ErrorReply;

/// For how many seconds an answer counts as fresh. It was made for its call; this is for whoever
/// keeps it.
pub(super) const FRESH_SECONDS: u64 = 3_600;

/// The time for everything that models do for one call. The rest of the route's budget is for
/// keeping the answer.
pub(super) const BUDGET: Duration = Duration::from_secs(110);

/// Ends what takes longer than a call may.
pub(super) async fn within_budget<T>(work: impl Future<Output = T>) -> Result<T, ErrorReply> {
    timeout(BUDGET, work).await.map_err(|_| too_slow())
}

/// No model has answered in time.
pub(super) fn too_slow() -> ErrorReply {
    ErrorReply::new(
        ErrorCode::UpstreamUnavailable,
        "the model took too long to answer",
    )
    .detail("reason", "timed_out")
    .retry_after(5)
}

/// The model's safety system does not serve the prompt: no other time, and no other payment,
/// changes that.
pub(super) fn blocked() -> ErrorReply {
    ErrorReply::new(
        ErrorCode::Unsupported,
        "the model does not serve this prompt",
    )
    .detail("reason", "moderation_blocked")
    .retryable(false)
}
