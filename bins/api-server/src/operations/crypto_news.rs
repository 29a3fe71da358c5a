//! `GET /crypto-news`: the ranked headlines and the market brief of the hourly snapshot.

use std::sync::Arc;

use data_sources::SourceStatus;
use readings::news::{DateFlag, Digest, Headline};
use serde_json::json;

use super::fault;
use crate::answer::{Answered, Cut, Method, Unavailable};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::snapshots::{Absent, Dataset, NewsDigest, Snapshot};
use crate::sources::News;

const INDEX: &str = "alternative-me.fear-greed";

pub(super) async fn answer(
    context: &Context,
    news: &News,
    _call: &Call,
) -> Result<Answered, ErrorReply> {
    let snapshot = snapshot(context, news).await?;
    let digest = &snapshot.value;
    let data = || json!({ "brief": digest.brief, "headlines": digest.headlines });
    let data = news.rendered.object(&snapshot, (), data);
    let mut answered = from_snapshot(
        Answered::of(data, NewsDigest::PACE.fresh.as_secs()),
        &snapshot,
    )
    .origin("headlines", core_source(&snapshot), Method::Derived)
    .origin("brief/sentiment", core_source(&snapshot), Method::Derived)
    .origin("brief/fear_greed", INDEX, Method::Direct);
    answered.unavailable.extend(undated(
        "headlines",
        &digest.headlines,
        core_source(&snapshot),
    ));
    if digest.brief.fear_greed.is_none() {
        answered
            .unavailable
            .push(no_index("brief.fear_greed", &snapshot));
    }
    let total = digest.headlines_total.max(digest.headlines.len());
    answered
        .cut
        .extend(Cut::of("headlines", digest.headlines.len(), total));
    answered.edition = Some(snapshot.snapshot_id.clone());
    Ok(answered)
}

/// The news snapshot that all routes read, or the error without one.
pub(super) async fn snapshot(
    context: &Context,
    news: &News,
) -> Result<Arc<Snapshot<Digest>>, ErrorReply> {
    let current = &news.digest;
    let held = current
        .within(NewsDigest::PACE.refused, context.now())
        .await;
    held.map_err(|absent| match absent {
        Absent::Never => fault::core_missing("snapshot", "no_snapshot"),
        Absent::TooOld { age_seconds } => {
            fault::core_missing("snapshot", "snapshot_too_old").detail("age_seconds", age_seconds)
        }
    })
}

/// Adds the sources and the time of a snapshot.
pub(super) fn from_snapshot<T>(mut answered: Answered, snapshot: &Snapshot<T>) -> Answered {
    answered.sources.extend(snapshot.provenance());
    answered.as_of = Some(snapshot.as_of);
    answered
}

/// The first source that contributed.
pub(super) fn core_source<T>(snapshot: &Snapshot<T>) -> &'static str {
    let contributed = snapshot
        .sources
        .iter()
        .find(|source| source.status == SourceStatus::Ok);
    contributed.map_or("", |source| source.source)
}

/// Lists the headlines below `place` that have no time.
pub(super) fn undated(
    place: &str,
    headlines: &[Headline],
    source: &'static str,
) -> Vec<Unavailable> {
    let reason = |flag: DateFlag| match flag {
        DateFlag::Unparsable => "published_at_unparsable",
        DateFlag::InFuture => "published_at_in_future",
    };
    let mut reasons: Vec<&str> = headlines
        .iter()
        .filter_map(|headline| headline.published_at_flag.map(reason))
        .collect();
    reasons.sort_unstable();
    reasons.dedup();
    let entry = |reason: &str| Unavailable {
        field: format!("data.{place}[].published_at"),
        reason: reason.to_owned(),
        source,
    };
    reasons.into_iter().map(entry).collect()
}

/// The entry for a missing fear and greed index at `place`.
pub(super) fn no_index(place: &str, snapshot: &Snapshot<Digest>) -> Unavailable {
    let asked = snapshot
        .sources
        .iter()
        .find(|source| source.source == INDEX);
    let reason = asked.and_then(|source| source.status.reason());
    Unavailable {
        field: format!("data.{place}"),
        reason: reason.unwrap_or("not_named_by_source").to_owned(),
        source: INDEX,
    }
}
