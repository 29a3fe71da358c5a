//! `POST /mcp` and the operational endpoints over the HTTP edge.

mod endpoint;
mod guard;
mod media;
mod operations;
mod reply;

pub(crate) use endpoint::Endpoint;
pub(crate) use guard::Guard;
pub(crate) use operations::Operations;
pub use operations::{Health, Limits, NoUpstreams, Observed};
