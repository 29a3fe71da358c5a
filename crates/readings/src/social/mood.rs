//! The mood about tokens, as a source counts posts and articles.

use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::Serialize;

use crate::{Figure, symbol::SymbolKey};

/// From which balance on a mood is not neutral. A headline's tone has the same threshold.
const LEANING: Decimal = Decimal::from_parts(5, 0, 0, false, 2);

/// The moods about all tokens in a source's ranking, over one window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mood {
    /// The window, by the source's name, for example `24h`.
    pub window: String,
    /// The source's own time.
    pub as_of: Timestamp,
    /// The tokens, the most mentioned first.
    pub tokens: Vec<SymbolMood>,
}

/// The mood about one token. Its counts are of posts and articles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolMood {
    /// Its symbol, in the source's spelling.
    pub symbol: String,
    /// How often it was mentioned.
    pub mentions: u64,
    /// How many of these mentions are on X.
    pub x_mentions: Option<u64>,
    /// How many of these mentions are in the news.
    pub news_mentions: Option<u64>,
    /// The share of bullish mentions, from 0 to 1.
    pub bullish_ratio: Option<Figure>,
    /// The share of bearish mentions, from 0 to 1.
    pub bearish_ratio: Option<Figure>,
    /// How the mood changed within the window, the oldest section first.
    pub trend: Vec<TrendPoint>,
}

/// One section of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TrendPoint {
    /// When it begins.
    pub at: Timestamp,
    /// How many mentions are within it.
    pub mentions: u64,
    /// The share of bullish mentions, from 0 to 1.
    pub bullish_ratio: Option<Figure>,
    /// The share of bearish mentions, from 0 to 1.
    pub bearish_ratio: Option<Figure>,
}

/// A mood in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MoodLabel {
    /// More bullish than bearish.
    Bullish,
    /// Neither bullish nor bearish.
    Neutral,
    /// More bearish than bullish.
    Bearish,
}

impl Mood {
    /// Returns the mood about one symbol. `None` when the source does not rank it. Also `None` when
    /// two of its rows have the symbol, because it is then unknown which token is meant.
    #[must_use]
    pub fn of(&self, symbol: &SymbolKey) -> Option<&SymbolMood> {
        let mut found = self
            .tokens
            .iter()
            .filter(|token| symbol.names(&token.symbol));
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }
}

impl SymbolMood {
    /// Returns the bullish share less the bearish one, from −1 to 1. `None` when either is unknown.
    #[must_use]
    pub fn balance(&self) -> Option<Decimal> {
        self.bullish_ratio?.0.checked_sub(self.bearish_ratio?.0)
    }
}

impl MoodLabel {
    /// Returns the word for a balance from −1 to 1.
    #[must_use]
    pub fn of(balance: Decimal) -> Self {
        if balance >= LEANING {
            Self::Bullish
        } else if balance <= -LEANING {
            Self::Bearish
        } else {
            Self::Neutral
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn mood(symbol: &str, bullish: &str, bearish: &str) -> SymbolMood {
        SymbolMood {
            symbol: symbol.to_owned(),
            mentions: 100,
            x_mentions: Some(80),
            news_mentions: Some(20),
            bullish_ratio: bullish.parse().ok(),
            bearish_ratio: bearish.parse().ok(),
            trend: Vec::new(),
        }
    }

    #[test]
    fn a_symbol_that_two_tokens_have_gives_no_mood() {
        let mood = Mood {
            window: "24h".into(),
            as_of: Timestamp::UNIX_EPOCH,
            tokens: vec![
                mood("BTC", "0.5", "0.2"),
                mood("X", "0.5", "0.2"),
                mood("x", "0", "1"),
            ],
        };
        let of = |symbol: &str| {
            mood.of(&SymbolKey::new(symbol).unwrap())
                .map(|token| token.symbol.as_str())
        };
        assert_eq!(of("$btc"), Some("BTC"));
        assert_eq!((of("X"), of("ETH")), (None, None));
    }

    #[test]
    fn an_unknown_share_is_no_balance() {
        assert_eq!(
            mood("A", "0.4942", "0.2261").balance().unwrap().to_string(),
            "0.2681"
        );
        assert_eq!(mood("A", "0.4942", "").balance(), None);
        for (balance, label) in [
            ("0.05", MoodLabel::Bullish),
            ("0.0499", MoodLabel::Neutral),
            ("-0.05", MoodLabel::Bearish),
        ] {
            assert_eq!(MoodLabel::of(balance.parse().unwrap()), label);
        }
    }
}
