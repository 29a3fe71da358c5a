//! `GET /twitter-summary`: the day's statements of opinion leaders, and the changes since the day
//! before.

use readings::Extent;
use readings::social::digest;

use super::fault;
use super::kol_sentiment::incomplete;
use crate::answer::{Answered, Method};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::News;

/// For how many seconds the posts count as fresh. They are read every half hour.
const FRESH_SECONDS: u64 = 1800;
/// The source of posts.
const POSTS: &str = "x.list";
/// Members whose `null` means that there is none: a claim may be about no token.
const NONE: &[&str] = &["symbol"];

pub(super) async fn answer(
    context: &Context,
    news: &News,
    call: &Call,
    extent: Extent,
) -> Result<Answered, ErrorReply> {
    let posts = news.desk.posts(call.max_age()).await;
    let posts = posts.map_err(|error| fault::core_missing("posts", error.reason()))?;
    let mut report = SourceReport::default();
    let posts = report.accept(posts);
    let summary = digest(&posts, context.now(), extent)
        .ok_or_else(|| fault::core_missing("posts", "nothing_was_said"))?;
    if summary.change.is_none() {
        report.missing("change", "yesterday_not_covered", POSTS);
        for field in ["topics[].posts_yesterday", "stances[].score_yesterday"] {
            report.missing(field, "yesterday_not_covered", POSTS);
        }
    } else if summary
        .stances
        .iter()
        .any(|stance| stance.score_yesterday.is_none())
    {
        report.missing(
            "stances[].score_yesterday",
            "not_mentioned_yesterday",
            POSTS,
        );
    }
    for (list, shown, total) in [
        ("topics", summary.topics.len(), summary.shown_of.topics),
        ("stances", summary.stances.len(), summary.shown_of.stances),
        ("claims", summary.claims.len(), summary.shown_of.claims),
    ] {
        report.cut(list, shown, total);
    }
    let complete = summary.complete;
    let mut answered = Answered::new(summary, FRESH_SECONDS).with_report(report);
    for member in ["topics", "stances", "claims", "change"] {
        answered = answered.origin(member, POSTS, Method::Derived);
    }
    if !complete {
        answered.warnings.push(incomplete());
    }
    answered.none = NONE;
    Ok(answered)
}
