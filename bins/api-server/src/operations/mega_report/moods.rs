//! Compares the moods of the report's sources with each other, and the day's news with the day
//! before.

use jiff::{SignedDuration, Timestamp};
use readings::news::{Digest, of_title};
use readings::social::MoodLabel;
use readings::{Decimal, Figure, mean};
use serde_json::{Map, Value, json};

const PLACES: u32 = 4;
/// Eight-hour funding beyond which the market leans, as a fraction.
const LEANING_FUNDING: Decimal = Decimal::from_parts(2, 0, 0, false, 4);
/// The markets whose funding counts as a mood of the whole market.
const LARGEST: [&str; 3] = ["BTC", "ETH", "SOL"];

/// The mood of each source of the report, and whether they agree.
pub(super) fn cross_checks(sections: &Map<String, Value>) -> Value {
    let moods: Vec<(&str, MoodLabel, Value)> = [
        news(sections.get("sentiment")),
        index(sections.get("sentiment")),
        leaders(sections.get("kol_alpha")),
        funding(sections.get("derivatives")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let labels = moods.iter().map(|(_, label, _)| *label);
    let leaning: Vec<MoodLabel> = labels
        .filter(|label| *label != MoodLabel::Neutral)
        .collect();
    let verdict = match leaning.as_slice() {
        _ if moods.len() < 2 => "too_few",
        [] => "all_neutral",
        // A single leaning mood does not agree with the others, which do not lean.
        [_] => "mixed",
        [first, rest @ ..] if rest.iter().all(|label| label == first) => "agree",
        _ => "contradict",
    };
    let rows = moods
        .iter()
        .map(|(of, label, value)| json!({ "of": of, "label": label, "value": value }));
    json!({ "moods": rows.collect::<Vec<_>>(), "verdict": verdict })
}

fn news(brief: Option<&Value>) -> Option<(&'static str, MoodLabel, Value)> {
    let score = brief?.pointer("/sentiment/score")?;
    Some(("news", MoodLabel::of(figure(score)?), score.clone()))
}

/// The index of fear and greed; 45 to 55 is neutral.
fn index(brief: Option<&Value>) -> Option<(&'static str, MoodLabel, Value)> {
    let value = brief?.pointer("/fear_greed/value")?;
    let label = match value.as_u64()? {
        ..45 => MoodLabel::Bearish,
        45..=55 => MoodLabel::Neutral,
        56.. => MoodLabel::Bullish,
    };
    // The index is shown as text, like the scores beside it.
    Some(("fear_greed", label, json!(value.to_string())))
}

fn leaders(kols: Option<&Value>) -> Option<(&'static str, MoodLabel, Value)> {
    let score = kols?.pointer("/overall/score")?;
    Some((
        "opinion_leaders",
        MoodLabel::of(figure(score)?),
        score.clone(),
    ))
}

/// The mean funding of the largest markets: the side that pays is the one that leans.
fn funding(markets: Option<&Value>) -> Option<(&'static str, MoodLabel, Value)> {
    let named = |market: &&Value| {
        let symbol = market.get("symbol").and_then(Value::as_str);
        symbol.is_some_and(|symbol| LARGEST.contains(&symbol))
    };
    let rates = markets?
        .as_array()?
        .iter()
        .filter(named)
        .filter_map(|market| figure(market.pointer("/aggregate/oi_weighted_rate_8h")?));
    let rates: Vec<Decimal> = rates.collect();
    let mean = mean(&rates)?;
    let label = if mean >= LEANING_FUNDING {
        MoodLabel::Bullish
    } else if mean <= -LEANING_FUNDING {
        MoodLabel::Bearish
    } else {
        MoodLabel::Neutral
    };
    Some(("funding_8h", label, json!(Figure(mean.round_dp(8)))))
}

/// The tone and the number of the day's articles, compared with the day before.
pub(super) fn news_change(digest: &Digest, now: Timestamp) -> Value {
    let day = |from: i64, to: i64| {
        let ages = SignedDuration::from_hours(from)..SignedDuration::from_hours(to);
        let within = |at: &Timestamp| ages.contains(&now.duration_since(*at));
        let articles = digest.articles.iter();
        let young = articles.filter(|article| article.published_at.as_ref().is_some_and(within));
        let tones: Vec<Decimal> = young
            .map(|article| of_title(&article.title).score.0)
            .collect();
        let mean = mean(&tones);
        (tones.len(), mean.map(|mean| Figure(mean.round_dp(PLACES))))
    };
    let ((articles, tone), (articles_yesterday, tone_yesterday)) = (day(0, 24), day(24, 48));
    json!({
        "articles": articles,
        "tone": tone,
        "articles_yesterday": articles_yesterday,
        "tone_yesterday": tone_yesterday,
        "method": "titles, by VADER's rules with words of markets added",
    })
}

fn figure(value: &Value) -> Option<Decimal> {
    value.as_str()?.parse::<Figure>().ok().map(Figure::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(news: &str, index: u64, leaders: &str, rate: &str) -> Map<String, Value> {
        let value = json!({
            "sentiment": {"sentiment": {"score": news}, "fear_greed": {"value": index}},
            "kol_alpha": {"overall": {"score": leaders}},
            "derivatives": [
                {"symbol": "BTC", "aggregate": {"oi_weighted_rate_8h": rate}},
                {"symbol": "PEPE", "aggregate": {"oi_weighted_rate_8h": "9"}},
            ],
        });
        value.as_object().unwrap().clone()
    }

    fn verdict(sections: &Map<String, Value>) -> Value {
        cross_checks(sections)["verdict"].clone()
    }

    #[test]
    fn moods_are_compared_with_each_other() {
        assert_eq!(verdict(&sections("0.3", 70, "0.2", "0.0003")), "agree");
        assert_eq!(verdict(&sections("0.3", 20, "0.2", "0.0003")), "contradict");
        assert_eq!(verdict(&sections("0", 50, "0", "0.0001")), "all_neutral");
        // One leaning mood among neutral ones is not an agreement.
        assert_eq!(verdict(&sections("0.3", 50, "0", "0.0001")), "mixed");
        assert_eq!(verdict(&sections("0", 50, "-0.3", "-0.0003")), "agree");
        assert_eq!(verdict(&Map::new()), "too_few");
        let checks = cross_checks(&sections("0.3", 20, "0.2", "-0.0003"));
        let labels: Vec<_> = checks["moods"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["label"].clone())
            .collect();
        assert_eq!(labels, ["bullish", "bearish", "bullish", "bearish"]);
    }
}
