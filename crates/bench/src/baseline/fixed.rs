//! The lowest possible cost of an unpaid call: fixed bytes over hyper.

use crate::BenchError;
use crate::exchange::HttpAnswer;

/// Gives the same answer to every request.
///
/// # Errors
/// When no port is available or the listener breaks.
pub async fn serve(answer: HttpAnswer) -> Result<(), BenchError> {
    let listener = super::listen().await?;
    super::serve(listener, move |_| {
        std::future::ready(super::response(&answer))
    })
    .await
}
