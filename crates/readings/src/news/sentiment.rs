//! The tone of a headline, with the name of its method. Sources' labels count first; only titles
//! without a label are read by their words.

mod lexicon;
mod vader;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::Figure;

/// Scores between minus this and this are neutral; VADER's own bounds.
const NEUTRAL: Decimal = Decimal::from_parts(5, 0, 0, false, 2);

/// A tone in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Good news, or labelled bullish.
    Positive,
    /// Neither.
    Neutral,
    /// Bad news, or labelled bearish.
    Negative,
}

/// The method behind a tone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SentimentMethod {
    /// From the labels of sources: (positive − negative) ÷ labels.
    UpstreamLabels,
    /// From the words of titles: VADER's rules and lexicon, with words of markets added.
    VaderFinanceLexicon,
    /// Some headlines by one method, some by the other.
    Mixed,
}

/// The tone of one headline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadlineSentiment {
    /// In one word.
    pub label: Tone,
    /// −1 … 1.
    pub score: Figure,
    /// The method.
    pub method: SentimentMethod,
}

impl Tone {
    /// The word for a score.
    #[must_use]
    pub fn of(score: Decimal) -> Self {
        if score >= NEUTRAL {
            Self::Positive
        } else if score <= -NEUTRAL {
            Self::Negative
        } else {
            Self::Neutral
        }
    }

    /// A source's label: `bullish`, `POSITIVE` and the like. `None` for any other word.
    #[must_use]
    pub fn labelled(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "bullish" | "positive" => Some(Self::Positive),
            "neutral" | "mixed" => Some(Self::Neutral),
            "bearish" | "negative" => Some(Self::Negative),
            _ => None,
        }
    }

    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Positive => "positive",
            Self::Neutral => "neutral",
            Self::Negative => "negative",
        }
    }

    fn sign(self) -> i64 {
        match self {
            Self::Positive => 1,
            Self::Neutral => 0,
            Self::Negative => -1,
        }
    }
}

impl HeadlineSentiment {
    /// From the labels of a source; neutral without any.
    #[must_use]
    pub fn of_labels(labels: &[Tone]) -> Self {
        let sum: i64 = labels.iter().map(|label| label.sign()).sum();
        let mean = Decimal::from(sum).checked_div(Decimal::from(labels.len()));
        Self::new(
            mean.unwrap_or(Decimal::ZERO),
            SentimentMethod::UpstreamLabels,
        )
    }

    fn new(score: Decimal, method: SentimentMethod) -> Self {
        let score = score.round_dp(4);
        Self {
            label: Tone::of(score),
            score: Figure(score),
            method,
        }
    }
}

/// The tone of a title by its words.
#[must_use]
pub fn of_title(title: &str) -> HeadlineSentiment {
    HeadlineSentiment::new(vader::compound(title), SentimentMethod::VaderFinanceLexicon)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four headlines on which VADER's own lexicon fails or falls short.
    #[test]
    fn the_words_of_markets_are_understood() {
        for (title, label, score) in [
            (
                "Bitcoin surges past $100k as ETF inflows hit record",
                Tone::Positive,
                "0.6705",
            ),
            ("VERY bullish breakout!!!", Tone::Positive, "0.8713"),
            (
                "Exchange halts withdrawals after oracle exploit",
                Tone::Negative,
                "-0.7351",
            ),
            ("Protocol hacked, $40M drained", Tone::Negative, "-0.743"),
        ] {
            let told = of_title(title);
            assert_eq!(
                (told.label, told.score.to_string().as_str()),
                (label, score),
                "{title}"
            );
            assert_eq!(told.method, SentimentMethod::VaderFinanceLexicon);
        }
    }

    #[test]
    fn labels_are_counted() {
        use Tone::{Negative, Neutral, Positive};
        for (labels, score, label) in [
            (vec![Positive], "1", Positive),
            (vec![Neutral, Negative], "-0.5", Negative),
            (vec![Positive, Negative], "0", Neutral),
            (vec![Positive, Positive, Negative], "0.3333", Positive),
            (vec![], "0", Neutral),
        ] {
            let told = HeadlineSentiment::of_labels(&labels);
            assert_eq!(
                (told.score.to_string().as_str(), told.label),
                (score, label),
                "{labels:?}"
            );
        }
        assert_eq!(Tone::labelled(" BEARISH "), Some(Negative));
        assert_eq!(Tone::labelled("moon"), None);
    }
}
