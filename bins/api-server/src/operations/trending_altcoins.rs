//! `GET /trending-altcoins`: the three altcoins that rankings name most.

use data_sources::Error;
use readings::Extent;
use readings::token::trending::{MAX_ROWS, MentionedSymbol, Rankings, trending};
use serde_json::json;

use super::fault;
use crate::answer::{Answered, Method};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::News;
use crate::sources::Tokens;

/// For how many seconds the rankings count as fresh. They move slowly.
const FRESH_SECONDS: u64 = 900;

pub(super) async fn answer(
    context: &Context,
    tokens: &Tokens,
    news: &News,
    call: &Call,
    extent: Extent,
) -> Result<Answered, ErrorReply> {
    let max_age = call.max_age();
    let (searched, hot, moods) = tokio::join!(
        tokens.coingecko.trending(max_age),
        tokens.okx.hot_tokens(None, max_age),
        news.desk.moods(max_age),
    );
    let mut report = SourceReport::default();
    let mut failures = Vec::new();
    let searched = ranking(&mut report, context, &mut failures, searched);
    let hot = ranking(&mut report, context, &mut failures, hot);
    let moods = ranking(&mut report, context, &mut failures, moods);
    let mentioned: Option<Vec<MentionedSymbol>> = moods.map(|moods| {
        let mentioned = moods.tokens.into_iter().map(|mood| MentionedSymbol {
            symbol: mood.symbol,
            mentions: mood.mentions,
            bullish_ratio: mood.bullish_ratio,
            bearish_ratio: mood.bearish_ratio,
        });
        mentioned.collect()
    });
    // Symbols from social media alone do not identify a coin.
    if searched.is_none() && hot.is_none() {
        let error = failures.into_iter().next();
        return Err(error.map_or_else(
            || fault::core_missing("rankings", "no_ranking_answered"),
            |error| fault::reply(&error),
        ));
    }
    let rankings = Rankings {
        searched: searched.as_ref().map(|coins| coins.as_slice()),
        hot: hot.as_deref(),
        mentioned: mentioned.as_deref(),
    };
    let (rows, candidates) = trending(rankings, extent);
    // The route sells three rows.
    if rows.len() < MAX_ROWS {
        let refusal = fault::core_missing("rankings", "fewer_than_three_altcoins");
        return Err(refusal.detail("found", rows.len()));
    }
    report.cut("altcoins", rows.len(), candidates);
    let core = match &searched {
        Some(_) => "coingecko.trending",
        None => "okx.hot-tokens",
    };
    let answered_by = [searched.is_some(), hot.is_some(), mentioned.is_some()];
    let answered_by = answered_by.into_iter().filter(|answered| *answered).count();
    let data = json!({ "count": rows.len(), "rankings_answered": answered_by, "altcoins": rows });
    // The ranking of the rows comes first, not one that failed.
    report.sources.sort_by_key(|source| source.source != core);
    Ok(Answered::new(data, FRESH_SECONDS)
        .with_report(report)
        .origin("altcoins", core, Method::Derived))
}

/// The value of a ranking that answered. A failed ranking is listed among the sources.
fn ranking<T>(
    report: &mut SourceReport,
    context: &Context,
    failures: &mut Vec<Error>,
    ranking: Result<data_sources::Sourced<T>, Error>,
) -> Option<T> {
    match ranking {
        Ok(found) => Some(report.accept(found)),
        Err(error) => {
            report.failed(context, &error);
            failures.push(error);
            None
        }
    }
}
