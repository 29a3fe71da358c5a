//! The tone of all headlines together.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::rank::Headline;
use super::sentiment::{SentimentMethod, Tone};
use crate::Figure;

/// The tone of all headlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentiment {
    /// The mean of the headlines' tones, weighted by their scores in the ranking, from −1 to 1.
    pub score: Figure,
    /// The tone in one word.
    pub label: Tone,
    /// How the tones of the headlines were found.
    pub method: SentimentMethod,
}

/// Computes the tone of all `headlines`. `None` when there are none.
#[must_use]
pub fn overall(headlines: &[Headline]) -> Option<Sentiment> {
    let first = headlines.first()?.sentiment.method;
    let one_way = headlines
        .iter()
        .all(|headline| headline.sentiment.method == first);
    let (mut sum, mut weights) = (Decimal::ZERO, Decimal::ZERO);
    for headline in headlines {
        // A story whose weight has fallen to zero still counts a little, so that there is always a
        // mean.
        let weight = headline.score.0.max(Decimal::new(1, 4));
        sum = sum.checked_add(headline.sentiment.score.0.checked_mul(weight)?)?;
        weights = weights.checked_add(weight)?;
    }
    let score = sum.checked_div(weights)?.round_dp(4);
    Some(Sentiment {
        score: Figure(score),
        label: Tone::of(score),
        method: if one_way {
            first
        } else {
            SentimentMethod::Mixed
        },
    })
}
