//! Sentiment: counts of posts and shares of tones, for a ranking or for some symbols. Impossible
//! figures are unknown.

use jiff::Timestamp;
use readings::{
    Figure,
    social::{Mood, SymbolMood, TrendPoint},
};
use serde::Deserialize;
use serde_json::Value;

use super::{count, past_millis, ratio};
use crate::{error::SourceErrorKind, news::label};

#[derive(Deserialize)]
pub(super) struct Data {
    period: String,
    ts: Figure,
    details: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    token_symbol: String,
    mention_count: Figure,
    #[serde(default, deserialize_with = "Figure::lenient")]
    x_mention_count: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    news_mention_count: Option<Figure>,
    #[serde(default)]
    sentiment: Option<Tones>,
    #[serde(default)]
    trend: Option<Vec<Stretch>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tones {
    #[serde(default, deserialize_with = "Figure::lenient")]
    bullish_ratio: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    bearish_ratio: Option<Figure>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stretch {
    #[serde(default, deserialize_with = "Figure::lenient")]
    ts: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    mention_count: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    bullish_ratio: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    bearish_ratio: Option<Figure>,
}

pub(super) fn read(data: Data, now: Timestamp) -> Result<Mood, SourceErrorKind> {
    let malformed = |path: &str, expected, observed: String| SourceErrorKind::Malformed {
        path: path.to_owned(),
        expected,
        observed,
    };
    let window = label(&data.period);
    let named = window.len() <= 8 && window.starts_with(|c: char| c.is_ascii_digit());
    if !named || !window.ends_with(['h', 'd']) {
        return Err(malformed("$.period", "a window such as 24h", window));
    }
    let as_of = past_millis(Some(data.ts), now).ok_or_else(|| {
        malformed(
            "$.ts",
            "a time in milliseconds that has passed",
            data.ts.to_string(),
        )
    })?;
    let rows = data.details.len();
    let tokens: Vec<SymbolMood> = data
        .details
        .into_iter()
        .filter_map(|row| mood(row, now))
        .collect();
    if rows > 0 && tokens.is_empty() {
        return Err(malformed(
            "$.details",
            "at least one usable row",
            format!("{rows} others"),
        ));
    }
    Ok(Mood {
        window,
        as_of,
        tokens,
    })
}

fn mood(row: Value, now: Timestamp) -> Option<SymbolMood> {
    let row: Row = crate::wire::row(row)?;
    let symbol = label(&row.token_symbol);
    if symbol.is_empty() {
        return None;
    }
    let (bullish, bearish) = row.sentiment.map_or((None, None), |tones| {
        (tones.bullish_ratio, tones.bearish_ratio)
    });
    let stretch = |stretch: Stretch| {
        Some(TrendPoint {
            at: past_millis(stretch.ts, now)?,
            mentions: count(stretch.mention_count)?,
            bullish_ratio: ratio(stretch.bullish_ratio),
            bearish_ratio: ratio(stretch.bearish_ratio),
        })
    };
    let mut trend: Vec<TrendPoint> = row
        .trend
        .into_iter()
        .flatten()
        .filter_map(stretch)
        .collect();
    trend.sort_by_key(|point| point.at);
    Some(SymbolMood {
        symbol,
        mentions: count(Some(row.mention_count))?,
        x_mentions: count(row.x_mention_count),
        news_mentions: count(row.news_mention_count),
        bullish_ratio: ratio(bullish),
        bearish_ratio: ratio(bearish),
        trend,
    })
}
