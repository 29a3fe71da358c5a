//! `GET /kol-sentiment`.

use data_sources::news::Leading;
use readings::social::leaders;

use super::fault;
use crate::answer::{Answered, Method, Warning};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::News;

/// Leaders are read every half hour.
const FRESH_SECONDS: u64 = 1800;
/// The window of the leaders' source.
const WINDOW: &str = "24h";

pub(super) async fn answer(
    context: &Context,
    news: &News,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let desk = &news.desk;
    let (leading, moods) = tokio::join!(desk.leaders(call.max_age()), desk.moods(call.max_age()));
    let mut report = SourceReport::default();
    let leading = leading.map_err(|error| fault::reply(&error))?;
    // Who talks is not what they think of it: without a mood there is no sentiment to sell.
    let mood = moods.map_err(|error| fault::core_missing("sentiment", error.reason()))?;
    let mood = report.got(mood);
    let failed: Vec<_> = leading
        .failed
        .iter()
        .map(|(_, error)| error.clone())
        .collect();
    let (tokens, warning) = tokens(context, leading, &mut report);
    for error in failed {
        report.missing(
            "by_token",
            error.reason(),
            error.source_id().unwrap_or_default(),
        );
    }
    report.unavailable.dedup();
    let told = leaders(&tokens, &mood, WINDOW)
        .ok_or_else(|| fault::core_missing("kols", "no_opinion_leaders"))?;
    if !told.has_mood() {
        return Err(fault::core_missing("sentiment", "no_mood_of_these_tokens"));
    }
    let mut answered = Answered::new(told, FRESH_SECONDS)
        .with_report(report)
        .origin("top_voices", "okx.vibe", Method::Direct)
        .origin("by_token", "okx.sentiment", Method::Derived)
        .origin("overall", "okx.sentiment", Method::Derived);
    answered.warnings.extend(warning);
    Ok(answered)
}

/// The tokens whose leaders are known; the others are named.
pub(super) fn tokens(
    context: &Context,
    leading: Leading,
    report: &mut SourceReport,
) -> (Vec<readings::social::TokenVoices>, Option<Warning>) {
    let tokens = report.got(leading.tokens);
    let mut names = Vec::new();
    for (symbol, error) in &leading.failed {
        report.failed(context, error);
        names.push(*symbol);
    }
    let warning = (!names.is_empty()).then(|| Warning {
        code: "tokens_missing",
        message: format!(
            "The opinion leaders of {} could not be read: they are in no count.",
            names.join(", ")
        ),
    });
    (tokens, warning)
}
