//! The digest of a news snapshot: ranked headlines, and a brief of counts and titles. It contains
//! only facts from sources.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    article::Article,
    overall::{Sentiment, overall},
    rank::{Headline, Ranking, rank},
    sentiment::Tone,
};

/// The fewest headlines of a digest.
const FEWEST_HEADLINES: usize = 5;
/// The fewest sources of a digest.
const FEWEST_SOURCES: usize = 2;
/// The most headlines of a digest.
const MOST_HEADLINES: usize = 50;
/// How many titles the brief quotes.
const QUOTED: usize = 3;

/// The fear and greed index of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FearGreed {
    /// The value, from 0 to 100.
    pub value: u8,
    /// Its band.
    pub label: FearGreedBand,
    /// Its day.
    pub as_of: Timestamp,
}

/// The bands of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FearGreedBand {
    /// 0 … 24.
    ExtremeFear,
    /// 25 … 44.
    Fear,
    /// 45 … 55.
    Neutral,
    /// 56 … 75.
    Greed,
    /// 76 … 100.
    ExtremeGreed,
}

impl FearGreed {
    /// Makes a value with its band. `None` above 100.
    #[must_use]
    pub fn new(value: u8, as_of: Timestamp) -> Option<Self> {
        let label = match value {
            0..=24 => FearGreedBand::ExtremeFear,
            25..=44 => FearGreedBand::Fear,
            45..=55 => FearGreedBand::Neutral,
            56..=75 => FearGreedBand::Greed,
            76..=100 => FearGreedBand::ExtremeGreed,
            _ => return None,
        };
        Some(Self {
            value,
            label,
            as_of,
        })
    }
}

impl FearGreedBand {
    fn words(self) -> &'static str {
        match self {
            Self::ExtremeFear => "extreme fear",
            Self::Fear => "fear",
            Self::Neutral => "neutral",
            Self::Greed => "greed",
            Self::ExtremeGreed => "extreme greed",
        }
    }
}

/// The digest of a news snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    /// The market in a few sentences.
    pub brief: Brief,
    /// The heaviest stories.
    pub headlines: Vec<Headline>,
    /// The number of stories.
    #[serde(default)]
    pub headlines_total: usize,
    /// All articles that are young enough, for searches by topic or token.
    pub articles: Vec<Article>,
}

/// A short text about the market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    /// The text: counts, and quotations of the first titles.
    pub text: String,
    /// The tone of all headlines.
    pub sentiment: Sentiment,
    /// The fear and greed index. `None` when its source has none for this day or the day before.
    pub fear_greed: Option<FearGreed>,
}

/// There are too few stories or sources for a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{headlines} headlines from {sources} sources, at least 5 from 2 are needed")]
pub struct TooThin {
    /// The number of stories.
    pub headlines: usize,
    /// The number of sources that list them.
    pub sources: usize,
}

/// Makes the digest of `articles` at `now`.
///
/// # Errors
///
/// [`TooThin`] with fewer than five stories or fewer than two sources.
pub fn compile(
    articles: Vec<Article>,
    fear_greed: Option<FearGreed>,
    now: Timestamp,
) -> Result<Digest, TooThin> {
    let articles: Vec<Article> = articles
        .into_iter()
        .filter(|article| article.is_news(now))
        .collect();
    let Ranking {
        mut headlines,
        sources,
        ..
    } = rank(articles.clone(), now);
    let thin = TooThin {
        headlines: headlines.len(),
        sources: sources.len(),
    };
    if thin.headlines < FEWEST_HEADLINES || thin.sources < FEWEST_SOURCES {
        return Err(thin);
    }
    let headlines_total = headlines.len();
    headlines.truncate(MOST_HEADLINES);
    let sentiment = overall(&headlines).ok_or(thin)?;
    Ok(Digest {
        brief: Brief {
            text: text(&headlines, sentiment, fear_greed),
            sentiment,
            fear_greed,
        },
        headlines,
        headlines_total,
        articles,
    })
}

fn text(headlines: &[Headline], sentiment: Sentiment, fear_greed: Option<FearGreed>) -> String {
    let count = |tone: Tone| {
        headlines
            .iter()
            .filter(|headline| headline.sentiment.label == tone)
            .count()
    };
    let publishers: BTreeSet<&str> = headlines
        .iter()
        .map(|headline| headline.source.as_str())
        .collect();
    let mut text = format!(
        "{} headlines from {} publishers: {} positive, {} neutral, {} negative; overall tone {} ({}).",
        headlines.len(),
        publishers.len(),
        count(Tone::Positive),
        count(Tone::Neutral),
        count(Tone::Negative),
        sentiment.label.as_str(),
        sentiment.score,
    );
    let quoted: Vec<String> = headlines
        .iter()
        .take(QUOTED)
        .map(|headline| format!("“{}” ({})", headline.title, headline.source))
        .collect();
    text.push_str(&format!(" Leading: {}.", quoted.join("; ")));
    if let Some(index) = fear_greed {
        text.push_str(&format!(
            " Fear and greed index: {} ({}).",
            index.value,
            index.label.words()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::news::{Publisher, SentimentMethod};

    fn now() -> Timestamp {
        Timestamp::from_second(1_795_222_800).unwrap()
    }

    fn articles(titles: &[(&str, &str)]) -> Vec<Article> {
        let article = |(minutes, (source, title)): (i64, &(&str, &str))| {
            let then = now() - SignedDuration::from_mins(minutes);
            Article::new(
                source,
                Publisher::of(source),
                (*title).into(),
                &format!("https://{source}.example/{minutes}"),
            )
            .unwrap()
            .published(Some(then), now())
        };
        (1..).zip(titles).map(article).collect()
    }

    const FIVE: [(&str, &str); 5] = [
        ("coindesk", "Bitcoin surges past a record"),
        ("coindesk", "Exchange opens an office in Spain"),
        ("decrypt", "Wallet maker ships new firmware"),
        ("decrypt", "Lender halts withdrawals"),
        ("decrypt", "Regulator asks for comments"),
    ];

    #[test]
    fn a_brief_quotes_and_counts() {
        let index = FearGreed::new(44, now());
        let digest = compile(articles(&FIVE), index, now()).unwrap();
        assert_eq!(
            digest.brief.text,
            "5 headlines from 2 publishers: 1 positive, 3 neutral, 1 negative; overall tone neutral (0.0217). \
             Leading: “Bitcoin surges past a record” (CoinDesk); “Exchange opens an office in Spain” (CoinDesk); \
             “Wallet maker ships new firmware” (Decrypt). Fear and greed index: 44 (fear)."
        );
        assert_eq!(
            digest.brief.sentiment.method,
            SentimentMethod::VaderFinanceLexicon
        );
        let stored = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<Digest>(&stored).unwrap(), digest);
    }

    #[test]
    fn too_little_is_no_digest() {
        let of = |titles: &[(&str, &str)]| compile(articles(titles), None, now()).map(|_| ());
        let thin = |headlines, sources| Err(TooThin { headlines, sources });
        assert_eq!(of(&FIVE), Ok(()));
        assert_eq!(of(&FIVE[..4]), thin(4, 2));
        let one_source: Vec<_> = FIVE.iter().map(|(_, title)| ("decrypt", *title)).collect();
        assert_eq!(of(&one_source), thin(5, 1));
        // Five reports of two events give two headlines.
        let repeated = [
            FIVE[0],
            ("decrypt", FIVE[0].1),
            FIVE[1],
            ("a", FIVE[1].1),
            ("b", FIVE[1].1),
        ];
        assert_eq!(of(&repeated), thin(2, 4));
        assert_eq!(of(&[]), thin(0, 0));
    }

    #[test]
    fn each_value_of_the_index_has_its_band() {
        for (value, band) in [
            (0, FearGreedBand::ExtremeFear),
            (24, FearGreedBand::ExtremeFear),
            (25, FearGreedBand::Fear),
            (44, FearGreedBand::Fear),
            (45, FearGreedBand::Neutral),
            (55, FearGreedBand::Neutral),
            (56, FearGreedBand::Greed),
            (75, FearGreedBand::Greed),
            (76, FearGreedBand::ExtremeGreed),
            (100, FearGreedBand::ExtremeGreed),
        ] {
            assert_eq!(
                FearGreed::new(value, now()).map(|index| index.label),
                Some(band),
                "{value}"
            );
        }
        assert_eq!(FearGreed::new(101, now()), None);
    }
}
