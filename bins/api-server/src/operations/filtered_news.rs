//! `GET /filtered-news`.

use readings::news::{Article, Topic, rank};
use route_catalog::ErrorCode;
use serde_json::json;

use super::crypto_news::{snapshot, undated};
use super::legs::Legs;
use super::{Call, fault};
use crate::Sources;
use crate::answer::{Answered, Method};
use crate::reply::ErrorReply;
use crate::snapshots::{Dataset, News};

const SEARCH: &str = "okx.news";
/// Most headlines of an answer.
const MOST: usize = 50;

pub(super) async fn answer(sources: &Sources, call: &Call) -> Result<Answered, ErrorReply> {
    let asked = call.parameters.text("topic").unwrap_or_default().trim();
    let topic = Topic::new(asked)
        .ok_or_else(|| fault::bad_parameter("topic", "expected a topic with a letter or digit"))?;
    let (searched, snapshot) = tokio::join!(
        sources.news.search(asked, call.max_age()),
        snapshot(sources)
    );
    let mut legs = Legs::default();
    let mut matched: Vec<String> = Vec::new();
    let mut articles: Vec<Article> = Vec::new();
    let mut take = |article: &Article, found_by: Option<&str>| {
        let terms = topic.matches(article);
        if terms.is_empty() && found_by.is_none() {
            return;
        }
        for term in terms.into_iter().chain(found_by) {
            if !matched.iter().any(|known| known == term) {
                matched.push(term.to_owned());
            }
        }
        articles.push(article.clone());
    };
    match searched {
        Ok(found) => {
            let keyword = asked.to_lowercase();
            for article in legs.got(found) {
                take(&article, Some(&keyword));
            }
        }
        // Either of both is enough.
        Err(error) if snapshot.is_err() => return Err(fault::reply(&error)),
        Err(error) => legs.failed(sources, &error),
    }
    let mut as_of = None;
    if let Ok(snapshot) = &snapshot {
        for article in &snapshot.value.articles {
            take(article, None);
        }
        as_of = Some(snapshot.as_of);
        for source in snapshot.provenance() {
            legs.got(data_sources::Sourced {
                value: (),
                sources: vec![source],
            });
        }
    }
    let mut headlines = rank(articles, sources.now()).headlines;
    headlines.truncate(MOST);
    if headlines.is_empty() {
        let message = "no headline of the last 72 hours matches the topic";
        return Err(ErrorReply::new(ErrorCode::NotFound, message).detail("reason", "no_results"));
    }
    let source = legs.sources.first().map_or(SEARCH, |source| source.source);
    legs.unavailable
        .extend(undated("headlines", &headlines, source));
    let data = json!({
        "topic": asked,
        "matched_terms": matched,
        "count": headlines.len(),
        "headlines": headlines,
    });
    let mut answered = Answered::new(data, News::PACE.fresh.as_secs())
        .with_legs(legs)
        .origin("headlines", source, Method::Derived);
    answered.as_of = as_of;
    Ok(answered)
}
