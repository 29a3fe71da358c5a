//! `GET /filtered-news`: headlines about a topic, from the snapshot and from a search. Either
//! source alone is an answer; that nothing was found needs both.

use std::collections::BTreeSet;

use data_sources::Sourced;
use jiff::Timestamp;
use readings::news::{Article, Headline, Ranking, Topic, rank};
use route_catalog::ErrorCode;
use serde_json::json;

use super::crypto_news::{snapshot, undated};
use super::fault;
use crate::answer::{Answered, Method, Part, Warning};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::snapshots::{Dataset, NewsDigest};
use crate::source_report::SourceReport;
use crate::sources::News;

const SEARCH: &str = "okx.news";
/// For how many seconds a search counts as fresh. It is repeated after ten minutes.
const SEARCH_FRESH_SECONDS: u64 = 600;
/// The most headlines of an answer.
const MOST: usize = 50;

pub(super) async fn answer(
    context: &Context,
    news: &News,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let asked = call.parameters.text("topic").unwrap_or_default().trim();
    let topic = Topic::new(asked)
        .ok_or_else(|| fault::bad_parameter("topic", "expected a topic with a letter or digit"))?;
    let (searched, snapshot) = tokio::join!(
        news.desk.search(asked, call.max_age()),
        snapshot(context, news)
    );
    let now = context.now();
    let keyword = asked.to_lowercase();
    let mut report = SourceReport::default();
    let mut found = Found::default();
    let mut parts = Vec::new();
    match searched {
        Ok(searched) => {
            parts.push(Part::of("search", &searched.sources, SEARCH_FRESH_SECONDS));
            for article in report.accept(searched) {
                let mut terms = topic.matches(&article);
                terms.push(&keyword);
                found.take(&article, &terms);
            }
        }
        // Either source alone is enough.
        Err(error) if snapshot.is_err() => return Err(fault::reply(&error)),
        Err(error) => report.failed(context, &error),
    }
    let mut as_of = None;
    let mut warning = None;
    match &snapshot {
        Ok(snapshot) => {
            let fresh = NewsDigest::PACE.fresh.as_secs();
            parts.push(Part::at("snapshot", snapshot.as_of, fresh));
            for article in &snapshot.value.articles {
                let terms = topic.matches(article);
                if !terms.is_empty() {
                    found.take(article, &terms);
                }
            }
            as_of = Some(snapshot.as_of);
            report.accept(Sourced {
                value: (),
                sources: snapshot.provenance(),
            });
        }
        Err(absent) => {
            report.missing("headlines", absent.reason(), NewsDigest::NAME);
            warning = Some(Warning {
                code: "snapshot_unavailable",
                message:
                    "The hourly snapshot of the news is missing: the answer shows the search results alone."
                        .to_owned(),
            });
        }
    }
    let (headlines, matched, total) = found.ranked(now);
    report.cut("headlines", headlines.len(), total);
    if headlines.is_empty() {
        // "Nothing found" needs a complete search, so a missing snapshot is an error here.
        snapshot?;
        let message = "no headline of the last 72 hours matches the topic";
        return Err(ErrorReply::new(ErrorCode::NotFound, message).detail("reason", "no_results"));
    }
    let source = report
        .sources
        .first()
        .map_or(SEARCH, |source| source.source);
    report
        .unavailable
        .extend(undated("headlines", &headlines, source));
    let data = json!({
        "topic": asked,
        "matched_terms": matched,
        "count": headlines.len(),
        "headlines": headlines,
    });
    let mut answered = Answered::of_parts(data, parts).with_report(report).origin(
        "headlines",
        source,
        Method::Derived,
    );
    answered.as_of = as_of;
    answered.warnings.extend(warning);
    Ok(answered)
}

/// Articles about the topic, with the matched terms of each.
#[derive(Default)]
struct Found {
    articles: Vec<Article>,
    terms: Vec<(String, Vec<String>)>,
}

impl Found {
    fn take(&mut self, article: &Article, terms: &[&str]) {
        let terms = terms.iter().map(|term| (*term).to_owned()).collect();
        self.terms.push((article.url.clone(), terms));
        self.articles.push(article.clone());
    }

    /// Returns the headlines, the terms that matched their reports, and the number of headlines.
    /// Reports that are too old for an answer match no term.
    fn ranked(self, now: Timestamp) -> (Vec<Headline>, Vec<String>, usize) {
        let Ranking {
            mut headlines,
            reports,
            ..
        } = rank(self.articles, now);
        let total = headlines.len();
        headlines.truncate(MOST);
        let shown: BTreeSet<String> = reports.into_iter().take(MOST).flatten().collect();
        let mut matched: Vec<String> = Vec::new();
        let terms = self
            .terms
            .into_iter()
            .filter(|(url, _)| shown.contains(url));
        for term in terms.flat_map(|(_, terms)| terms) {
            if !matched.contains(&term) {
                matched.push(term);
            }
        }
        (headlines, matched, total)
    }
}

#[cfg(test)]
mod tests {
    use readings::news::Publisher;

    use super::*;

    #[test]
    fn reports_that_are_too_old_match_no_term() {
        let now: Timestamp = "2026-11-21T01:02:00Z".parse().unwrap();
        let article = |title: &str, url: &str, hours: i64| {
            let then = now - jiff::SignedDuration::from_hours(hours);
            let publisher = Publisher::of("coindesk");
            let article = Article::new("coindesk", publisher, title.to_owned(), url).unwrap();
            article.published(Some(then), now)
        };
        let mut found = Found::default();
        found.take(
            &article("A lender opens", "https://a.example/1", 2),
            &["lending"],
        );
        found.take(
            &article("An old bridge", "https://a.example/2", 80),
            &["bridge"],
        );
        let (headlines, matched, _) = found.ranked(now);
        assert_eq!((headlines.len(), matched), (1, vec!["lending".to_owned()]));
    }
}
