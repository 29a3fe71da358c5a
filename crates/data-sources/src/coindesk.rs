//! CoinDesk Data: news articles with a tone, and a weight for each publisher.

use jiff::Timestamp;
use readings::{
    Figure,
    news::{Article, Publisher, Tone},
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    budget::{Families, Rate},
    error::{SourceError, SourceErrorKind},
    json::read_json,
    news::{articles, html_title, label},
    provenance::Sourced,
    source::{Fault, KeyRule, UpstreamSpec, upstream},
    text::clean,
    transport::{Limits, QUOTED_CHARS},
};

const SOURCE: &str = "coindesk.news";
/// How many articles are asked for.
const LIMIT: u8 = 50;
/// Categories and keywords that are token symbols. The others are topics.
const SYMBOLS: &[&str] = &[
    "BTC", "ETH", "SOL", "XRP", "BNB", "ADA", "DOGE", "TRX", "AVAX", "DOT", "LINK", "LTC", "HYPE",
    "SUI", "TON", "ARB", "OP", "AAVE", "UNI", "USDT", "USDC", "DAI", "SHIB", "PEPE", "NEAR", "APT",
    "ATOM", "BCH", "XLM", "OKB",
];

upstream!(
    /// CoinDesk Data: news articles.
    Coindesk,
    UpstreamSpec {
        name: "coindesk",
        urls: &[("base_url", "https://data-api.coindesk.com")],
        key: KeyRule::Optional,
        sources: &[SOURCE],
        families: Families::One(Rate::per_minute(30)),
        limits: Limits::USUAL.within_seconds(10),
        ..UpstreamSpec::DATA
    }
);

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Row {
    title: String,
    url: String,
    published_on: Option<Figure>,
    #[serde(default)]
    keywords: Option<String>,
    #[serde(default)]
    sentiment: Option<String>,
    #[serde(default)]
    status: Option<String>,
    source_data: Source,
    #[serde(default)]
    category_data: Vec<Category>,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Source {
    name: String,
    #[serde(default, deserialize_with = "Figure::lenient")]
    benchmark_score: Option<Figure>,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Category {
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "Data", default)]
    data: Option<Vec<Value>>,
    #[serde(rename = "Err", default)]
    err: Value,
}

impl Coindesk {
    /// The newest articles in English: `GET /news/v1/article/list`.
    ///
    /// # Errors
    ///
    /// A [`SourceError`].
    pub async fn news(&self) -> Result<Sourced<Vec<Article>>, SourceError> {
        let now = self.source.now();
        let path = format!("/news/v1/article/list?lang=EN&limit={LIMIT}");
        let mut ask = self.source.get(SOURCE, &path);
        if self.source.api_key().is_some() {
            ask = ask.secret_header("authorization", "Apikey ", self.source.api_key());
        }
        self.source
            .ask(ask, |reply| {
                let answer: Answer = read_json(&reply.body)?;
                let rows = rows(answer)?;
                articles(SOURCE, &rows, |row| article(row, now))
                    .map_err(Fault::<SourceError>::Upstream)
            })
            .await
    }
}

fn rows(answer: Answer) -> Result<Vec<Value>, SourceErrorKind> {
    let failed = answer.err.as_object().is_some_and(|err| !err.is_empty());
    match answer.data {
        Some(rows) if !failed => Ok(rows),
        _ => Err(SourceErrorKind::Business {
            code: "err".to_owned(),
            message: clean(&answer.err.to_string(), QUOTED_CHARS),
        }),
    }
}

fn article(row: &Value, now: Timestamp) -> Option<Article> {
    let row: Row = crate::wire::row(row.clone())?;
    if row.status.is_some_and(|status| status != "ACTIVE") {
        return None;
    }
    let publisher = Publisher::of(&label(&row.source_data.name));
    let mut article = Article::new(SOURCE, publisher, html_title(&row.title), &row.url)?;
    let seconds = row.published_on.and_then(|time| i64::try_from(time.0).ok());
    article = article.published(
        seconds.and_then(|time| Timestamp::from_second(time).ok()),
        now,
    );
    article.tones = row
        .sentiment
        .as_deref()
        .and_then(Tone::labelled)
        .into_iter()
        .collect();
    article.weight = row
        .source_data
        .benchmark_score
        .and_then(|score| u8::try_from(score.0.round()).ok())
        .filter(|score| *score <= 100);
    let keywords = row.keywords.unwrap_or_default();
    let named = row
        .category_data
        .iter()
        .flat_map(|category| [category.category.as_deref(), category.name.as_deref()])
        .flatten();
    for name in named.chain(keywords.split('|')).map(label).take(40) {
        let list = if SYMBOLS.contains(&name.as_str()) {
            &mut article.symbols
        } else {
            &mut article.categories
        };
        if !name.is_empty() && !list.contains(&name) {
            list.push(name);
        }
    }
    Some(article)
}
