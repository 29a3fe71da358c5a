//! Maps failures of sources to errors for callers.

use data_sources::{Error, RequestError, SourceErrorKind};
use route_catalog::ErrorCode;
use serde_json::json;

use crate::reply::ErrorReply;

/// The error of a call that no source could answer. Such a call is never charged.
pub(crate) fn reply(error: &Error) -> ErrorReply {
    match error {
        Error::Source(source) => {
            let limited = match source.kind.retry_after() {
                None if matches!(source.kind, SourceErrorKind::RateLimited { .. }) => Some(5),
                known => known,
            };
            let reply = ErrorReply::new(
                ErrorCode::UpstreamUnavailable,
                format!("{} cannot answer", source.source),
            )
            .detail("source", source.source)
            .detail("reason", source.kind.reason())
            .retryable(!matches!(source.kind, SourceErrorKind::Disabled { .. }));
            match limited {
                Some(after) => reply.retry_after(after),
                None => reply,
            }
        }
        Error::NotPriced { .. } => {
            ErrorReply::new(ErrorCode::NotFound, error.to_string()).detail("reason", error.code())
        }
        Error::NotFound { reason, message } => {
            ErrorReply::new(ErrorCode::NotFound, message.clone()).detail("reason", *reason)
        }
        Error::NoRoute { .. } => ErrorReply::new(ErrorCode::Unsupported, error.to_string())
            .detail("reason", error.code()),
        Error::PriceImpact => ErrorReply::new(ErrorCode::PriceImpactTooHigh, error.to_string()),
        Error::Request(request) => invalid(request),
        Error::Refused(_) => ErrorReply::new(
            ErrorCode::UpstreamUnavailable,
            format!("the upstream's calldata was rejected: {error}"),
        )
        .detail("reason", error.code())
        .retryable(false),
    }
}

fn invalid(error: &RequestError) -> ErrorReply {
    let problem = json!({
        "path": format!("body.{}", error.field()),
        "code": error.code(),
        "message": error.to_string(),
    });
    let message = "the parameters are not valid; the payment was not used";
    ErrorReply::new(ErrorCode::InvalidParams, message).detail("problems", vec![problem])
}

/// The error when the core data of a route is missing.
pub(crate) fn core_missing(what: &'static str, reason: impl Into<String>) -> ErrorReply {
    ErrorReply::new(
        ErrorCode::CoreDataMissing,
        format!("the core of the answer is missing: {what}"),
    )
    .detail("missing", vec![what])
    .detail("reason", reason.into())
}

/// The error for a parameter that only the work could judge.
pub(crate) fn bad_parameter(name: &str, message: &str) -> ErrorReply {
    let problem = json!({
        "path": format!("query.{name}"),
        "code": "invalid",
        "message": message,
    });
    ErrorReply::new(
        ErrorCode::InvalidParams,
        "the parameters are not valid; the payment was not used",
    )
    .detail("problems", vec![problem])
}
