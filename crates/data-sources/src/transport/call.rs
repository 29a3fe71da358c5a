//! One call as it goes over the wire.

use super::{Media, Reply};
use crate::meter::Expense;

/// An idempotent call: a GET without a body or a POST that only asks.
pub(crate) struct Call<'a> {
    /// Source id, for example `okx.swap`.
    pub(crate) source: &'static str,
    /// Path with query, from the root of the interface, exactly as it is sent and signed.
    pub(crate) path_and_query: &'a str,
    /// JSON body of a POST; a GET has none.
    pub(crate) body: Option<&'a str>,
    /// What the answer must be.
    pub(crate) media: Media,
    /// What a request counts as.
    pub(crate) expense: Expense,
    /// Weight of a request, the most that it can have; a request without weight takes nothing of a
    /// budget.
    pub(crate) weight: u32,
    /// What a request weighed, as its reply shows.
    pub(crate) weigh: Option<Weigh>,
}

/// The weight of a request that a reply shows; `None` when it shows none.
pub(crate) type Weigh = fn(&Reply) -> Option<u32>;
