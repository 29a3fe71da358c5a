//! Articles with their labels. The full texts are never read.

use jiff::Timestamp;
use readings::{
    Figure,
    news::{Article, Importance, Publisher, Tone},
};
use serde::Deserialize;
use serde_json::Value;

use super::millis;
use crate::{
    error::SourceErrorKind,
    news::{articles, html_title, label},
};

/// Most symbols of an article that are kept.
const MOST_SYMBOLS: usize = 10;

#[derive(Deserialize)]
pub(super) struct Data {
    articles: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    title: String,
    source_url: String,
    source: String,
    #[serde(default, deserialize_with = "Figure::lenient")]
    timestamp: Option<Figure>,
    #[serde(default)]
    token_symbols: Option<Vec<String>>,
    #[serde(default)]
    importance: Option<String>,
    #[serde(default)]
    token_symbol_sentiments: Option<Vec<SymbolTone>>,
}

#[derive(Deserialize)]
struct SymbolTone {
    #[serde(default)]
    sentiment: Option<String>,
}

pub(super) fn read(
    source: &'static str,
    data: &Data,
    now: Timestamp,
) -> Result<Vec<Article>, SourceErrorKind> {
    articles(source, &data.articles, |row| article(source, row, now))
}

fn article(source: &'static str, row: &Value, now: Timestamp) -> Option<Article> {
    let row: Row = crate::wire::row(row.clone())?;
    let publisher = Publisher::of(&label(&row.source));
    let mut article = Article::new(source, publisher, html_title(&row.title), &row.source_url)?
        .published(millis(row.timestamp), now);
    for symbol in row
        .token_symbols
        .iter()
        .flatten()
        .map(|symbol| label(symbol))
    {
        if !symbol.is_empty()
            && !article.symbols.contains(&symbol)
            && article.symbols.len() < MOST_SYMBOLS
        {
            article.symbols.push(symbol);
        }
    }
    article.importance = match row.importance.as_deref() {
        Some("high") => Some(Importance::High),
        Some("medium") => Some(Importance::Medium),
        Some("low") => Some(Importance::Low),
        _ => None,
    };
    let tones = row.token_symbol_sentiments.iter().flatten();
    article.tones = tones
        .filter_map(|tone| Tone::labelled(tone.sentiment.as_deref()?))
        .collect();
    Some(article)
}
