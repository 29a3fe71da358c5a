//! `GET /llm-research`.

use super::{Call, fault};
use crate::Sources;
use crate::answer::Answered;
use crate::reply::ErrorReply;

pub(super) async fn answer(_sources: &Sources, call: &Call) -> Result<Answered, ErrorReply> {
    Err(fault::no_source(call))
}
