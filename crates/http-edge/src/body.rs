//! Reads a request body within bounds.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use thiserror::Error;

/// Why a body was not read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BodyError {
    /// The body is longer than allowed, by its declared or its real length.
    #[error("the body is longer than {limit} bytes")]
    TooLarge {
        /// The most bytes that are read.
        limit: usize,
    },
    /// The body did not arrive in time.
    #[error("the body did not arrive within {} seconds", timeout.as_secs())]
    TooSlow {
        /// The time limit.
        timeout: Duration,
    },
    /// The connection ended, or the framing of the body is broken.
    #[error("the body could not be read to its end")]
    Broken,
}

/// Reads a whole body.
///
/// # Errors
/// [`BodyError::TooLarge`] at once when the declared length is above the limit.
pub async fn read_body(
    body: Incoming,
    limit: usize,
    timeout: Duration,
) -> Result<Bytes, BodyError> {
    let hint = body.size_hint();
    if usize::try_from(hint.lower()).map_or(true, |announced| announced > limit) {
        return Err(BodyError::TooLarge { limit });
    }
    if hint.exact() == Some(0) {
        return Ok(Bytes::new());
    }
    match tokio::time::timeout(timeout, Limited::new(body, limit).collect()).await {
        Err(_elapsed) => Err(BodyError::TooSlow { timeout }),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge { limit }),
        Ok(Err(_)) => Err(BodyError::Broken),
    }
}
