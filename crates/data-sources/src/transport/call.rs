//! One call on the wire.

use super::{Media, Reply};
use crate::meter::Expense;

/// An idempotent call: a GET without a body, or a POST that only reads.
pub(crate) struct Call<'a> {
    /// Source id, for example `okx.swap`.
    pub(crate) source: &'static str,
    /// Path with query, from the root of the interface. Exactly these bytes are sent and signed.
    pub(crate) path_and_query: &'a str,
    /// JSON body of a POST; a GET has none.
    pub(crate) body: Option<&'a str>,
    /// The expected content type of the answer.
    pub(crate) media: Media,
    /// The kind of cost of a request.
    pub(crate) expense: Expense,
    /// The greatest possible weight of a request. A request without weight takes nothing of a
    /// budget.
    pub(crate) weight: u32,
    /// Computes the real weight from the reply.
    pub(crate) weigh: Option<Weigh>,
}

/// Reads the weight of a request from its reply; `None` when the reply does not show it.
pub(crate) type Weigh = fn(&Reply) -> Option<u32>;
