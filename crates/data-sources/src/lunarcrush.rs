//! LunarCrush: social metrics, with a key.

use jiff::{SignedDuration, Timestamp};
use readings::{
    Figure,
    social::{Mood, SymbolMood},
    symbol::SymbolKey,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    budget::{Families, Rate},
    error::{Error, SourceError, SourceErrorKind},
    json::read_json,
    news::label,
    provenance::Sourced,
    source::{Fault, KeyRule, UpstreamSpec, upstream},
};

const SOURCE: &str = "lunarcrush.coins";
/// How many coins are asked for, largest first. Smaller coins often share a symbol.
const COINS: u16 = 200;
/// How far its time may be ahead of our clock.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

upstream!(
    /// LunarCrush: social metrics, with a key.
    Lunarcrush,
    UpstreamSpec {
        name: "lunarcrush",
        urls: &[("base_url", "https://lunarcrush.com")],
        key: KeyRule::Required,
        sources: &[SOURCE],
        families: Families::One(Rate::per_minute(10)),
        ..UpstreamSpec::DATA
    }
);

#[derive(Deserialize)]
struct Answer {
    config: Config,
    data: Vec<Value>,
}

#[derive(Deserialize)]
struct Config {
    generated: Figure,
}

#[derive(Deserialize)]
struct Row {
    symbol: String,
    social_volume_24h: Figure,
}

impl Lunarcrush {
    /// The number of posts about `symbol` within a day. The source has no shares of bullish and
    /// bearish posts: its `sentiment` is weighted by reactions, which is another measure.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] with the reason `symbol_not_found` when no coin or several coins have
    /// the symbol, otherwise a [`SourceError`]; disabled without a key.
    pub async fn mentions_of(&self, symbol: &SymbolKey) -> Result<Sourced<Mood>, Error> {
        let now = self.source.now();
        let path = format!("/api4/public/coins/list/v1?limit={COINS}");
        let ask = self.source.get(SOURCE, &path).secret_header(
            "authorization",
            "Bearer ",
            self.source.api_key(),
        );
        let found: Sourced<Mood> = self
            .source
            .ask(ask, |reply| {
                let answer: Answer = read_json(&reply.body)?;
                moods(answer, now).map_err(Fault::<SourceError>::Upstream)
            })
            .await?;
        let as_of = found.value.as_of;
        let mut found = found.as_of(Some(as_of));
        let one = found
            .value
            .of(symbol)
            .cloned()
            .ok_or_else(|| Error::NotFound {
                reason: "symbol_not_found",
                message: format!("no social metrics are known for {symbol}"),
            })?;
        found.value.tokens = vec![one];
        Ok(found)
    }
}

fn moods(answer: Answer, now: Timestamp) -> Result<Mood, SourceErrorKind> {
    let generated = i64::try_from(answer.config.generated.0).ok();
    let as_of = generated
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .filter(|time| time.duration_since(now) <= TOLERANCE)
        .ok_or_else(|| SourceErrorKind::Malformed {
            path: "$.config.generated".to_owned(),
            expected: "a time in seconds that has passed",
            observed: answer.config.generated.to_string(),
        })?;
    Ok(Mood {
        window: "24h".to_owned(),
        as_of: as_of.min(now),
        tokens: answer.data.into_iter().filter_map(mood).collect(),
    })
}

fn mood(row: Value) -> Option<SymbolMood> {
    let row: Row = crate::wire::row(row)?;
    let symbol = label(&row.symbol);
    let mentions = u64::try_from(row.social_volume_24h.0).ok()?;
    (!symbol.is_empty()).then_some(SymbolMood {
        symbol,
        mentions,
        x_mentions: None,
        news_mentions: None,
        bullish_ratio: None,
        bearish_ratio: None,
        trend: Vec::new(),
    })
}
