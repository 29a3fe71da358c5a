//! Time limits and errors of the routes that ask a model.

use std::time::Duration;

use route_catalog::ErrorCode;
use tokio::time::timeout;

use crate::reply::ErrorReply;

/// For how many seconds an answer counts as fresh. It was made for its call; this bound is for
/// callers that store it.
pub(super) const FRESH_SECONDS: u64 = 3_600;

/// The time limit of all models in one call. The rest of the route's time is for storing the
/// answer.
pub(super) const BUDGET: Duration = Duration::from_secs(110);

/// Stops work that takes longer than a call may.
pub(super) async fn within_budget<T>(work: impl Future<Output = T>) -> Result<T, ErrorReply> {
    timeout(BUDGET, work).await.map_err(|_| too_slow())
}

/// The error when no model answered in time.
pub(super) fn too_slow() -> ErrorReply {
    ErrorReply::new(
        ErrorCode::UpstreamUnavailable,
        "the model took too long to answer",
    )
    .detail("reason", "timed_out")
    .retry_after(5)
}

/// The model's safety system rejects the prompt. Neither another time nor another payment changes
/// that.
pub(super) fn blocked() -> ErrorReply {
    ErrorReply::new(ErrorCode::Unsupported, "the model rejects this prompt")
        .detail("reason", "moderation_blocked")
        .retryable(false)
}
