//! `GET /twitter-summary`.

use data_sources::{Error, SourceErrorKind};
use readings::social::digest;

use super::fault;
use super::kol_sentiment::tokens;
use crate::answer::{Answered, Method};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::News;

/// Posts are read every half hour.
const FRESH_SECONDS: u64 = 1800;

pub(super) async fn answer(
    context: &Context,
    news: &News,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let desk = &news.desk;
    let (voices, posts, moods) = tokio::join!(
        desk.leaders(call.max_age()),
        desk.posts(call.max_age()),
        desk.mood_of_majors(call.max_age()),
    );
    let mut report = SourceReport::default();
    let failure = voices.as_ref().err().cloned();
    let mut optional = |leg: &Error| {
        // A list that nobody chose is no gap.
        if !matches!(leg, Error::Source(error) if matches!(error.kind, SourceErrorKind::Disabled { .. }))
        {
            report.failed(context, leg);
        }
    };
    if let Err(error) = &voices {
        optional(error);
    }
    if let Err(error) = &posts {
        optional(error);
    }
    if let Err(error) = &moods {
        optional(error);
    }
    let (tokens, warning) = match voices {
        Ok(leading) => tokens(context, leading, &mut report),
        Err(_) => (Vec::new(), None),
    };
    let posts = posts.map(|posts| report.got(posts)).unwrap_or_default();
    let mood = moods.map(|moods| report.got(moods)).ok();
    let told = digest(&tokens, &posts, mood.as_ref()).ok_or_else(|| match &failure {
        Some(error) => fault::reply(error),
        None => fault::core_missing("posts", "no_posts"),
    })?;
    let mut answered = Answered::new(told, FRESH_SECONDS)
        .with_report(report)
        .origin("digest", "okx.vibe", Method::Derived);
    answered.warnings.extend(warning);
    Ok(answered)
}
