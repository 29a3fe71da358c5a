//! CryptoPanic: aggregated news, with a key. Its keyless interface is gone.

use jiff::Timestamp;
use readings::{
    Figure,
    news::{Article, Importance, Publisher, Tone},
};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::Value;
use url::form_urlencoded;

use crate::{
    budget::{Families, Rate},
    error::SourceError,
    json::read_json,
    news::{articles, html_title, label},
    provenance::Sourced,
    source::{Fault, KeyRule, UpstreamSpec, upstream},
};

const SOURCE: &str = "cryptopanic.posts";
/// From this number of votes on, the tone and the importance of a post follow its votes.
const ENOUGH_VOTES: u64 = 3;

upstream!(
    /// CryptoPanic: aggregated news, with a key.
    Cryptopanic,
    UpstreamSpec {
        name: "cryptopanic",
        urls: &[("base_url", "https://cryptopanic.com")],
        key: KeyRule::Required,
        sources: &[SOURCE],
        families: Families::One(Rate::per_minute(30)),
        ..UpstreamSpec::DATA
    }
);

#[derive(Deserialize)]
struct Answer {
    results: Vec<Value>,
}

#[derive(Deserialize)]
struct Row {
    title: String,
    #[serde(default)]
    published_at: Option<String>,
    source: RowSource,
    #[serde(default)]
    original_url: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    instruments: Option<Vec<Instrument>>,
    #[serde(default)]
    votes: Option<Votes>,
}

#[derive(Deserialize)]
struct RowSource {
    title: String,
}

#[derive(Deserialize)]
struct Instrument {
    code: String,
}

#[derive(Default, Deserialize)]
struct Votes {
    #[serde(default, deserialize_with = "Figure::lenient")]
    positive: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    negative: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    important: Option<Figure>,
}

impl Cryptopanic {
    /// The newest important posts: `GET /api/developer/v2/posts/`.
    ///
    /// # Errors
    ///
    /// A [`SourceError`]; disabled without a key.
    pub async fn news(&self) -> Result<Sourced<Vec<Article>>, SourceError> {
        let now = self.source.now();
        // The interface takes its key in the query only.
        let key = self
            .source
            .api_key()
            .map_or("", |key| key.expose_secret().trim());
        let key: String = form_urlencoded::byte_serialize(key.as_bytes()).collect();
        let path = format!("/api/developer/v2/posts/?auth_token={key}&kind=news&filter=important");
        let ask = self.source.get(SOURCE, &path);
        self.source
            .ask(ask, |reply| {
                let answer: Answer = read_json(&reply.body)?;
                articles(SOURCE, &answer.results, |row| article(row, now))
                    .map_err(Fault::<SourceError>::Upstream)
            })
            .await
    }
}

fn article(row: &Value, now: Timestamp) -> Option<Article> {
    let row: Row = crate::wire::row(row.clone())?;
    let url = row.original_url.or(row.url)?;
    let publisher = Publisher::of(&label(&row.source.title));
    let time = row.published_at.and_then(|time| time.parse().ok());
    let mut article =
        Article::new(SOURCE, publisher, html_title(&row.title), &url)?.published(time, now);
    let instruments = row.instruments.into_iter().flatten().take(10);
    article.symbols = instruments
        .map(|instrument| label(&instrument.code))
        .filter(|symbol| !symbol.is_empty())
        .collect();
    let votes = row.votes.unwrap_or_default();
    let count = |votes: Option<Figure>| {
        votes
            .and_then(|votes| u64::try_from(votes.0).ok())
            .unwrap_or(0)
    };
    let (positive, negative) = (count(votes.positive), count(votes.negative));
    if positive.saturating_add(negative) >= ENOUGH_VOTES {
        article.tones = vec![match positive.cmp(&negative) {
            std::cmp::Ordering::Greater => Tone::Positive,
            std::cmp::Ordering::Equal => Tone::Neutral,
            std::cmp::Ordering::Less => Tone::Negative,
        }];
    }
    article.importance = (count(votes.important) >= ENOUGH_VOTES).then_some(Importance::High);
    Some(article)
}
