//! Opinion leaders: who they are, counted as they are, and the mood about what they talk about.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::Serialize;

use super::mood::{Mood, MoodLabel};
use crate::{Figure, symbol::SymbolKey};

/// Most opinion leaders that are counted.
pub const MAX_VOICES: usize = 50;
/// Most of them that are listed.
const LISTED: usize = 10;

/// Who talks about one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenVoices {
    /// The token's symbol: we asked by contract, so this is ours.
    pub symbol: String,
    /// The leaders, in the source's order.
    pub voices: Vec<Voice>,
}

/// An opinion leader, as a source tells of one for one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voice {
    /// The account's name on X, without `@`.
    pub handle: String,
    /// How many follow it.
    pub followers: Option<u64>,
    /// Reactions to what it posted about the token within the window.
    pub engagement: Option<u64>,
    /// Its posts about the token within the window.
    pub mentions: Option<u64>,
    /// When it first posted about the token, and where.
    pub first_post: Option<(Timestamp, String)>,
}

/// What is said of all leaders: `data` of the route, with the window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leaders {
    /// How many leaders were read.
    pub kol_count: usize,
    /// Over which time.
    pub window: String,
    /// The mood of everything they talk about, weighed by followers; `null` when no token has both.
    pub overall: Option<Overall>,
    /// How `overall` and `by_token` come about.
    pub method: &'static str,
    /// Symbols they talk about with a bullish mood.
    pub bullish: Vec<String>,
    /// The same with a bearish mood.
    pub bearish: Vec<String>,
    /// Each token.
    pub by_token: Vec<TokenStanding>,
    /// Those with most followers.
    pub top_voices: Vec<TopVoice>,
}

/// A mood with its score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Overall {
    /// −1 … 1.
    pub score: Figure,
    /// In one word.
    pub label: MoodLabel,
}

/// What is said of one token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenStanding {
    /// Its symbol.
    pub symbol: String,
    /// Bullish less bearish share of all mentions, −1 … 1.
    pub score: Option<Figure>,
    /// In one word.
    pub label: Option<MoodLabel>,
    /// How often it was mentioned by anybody.
    pub mentions: Option<u64>,
    /// Leaders who mention it.
    pub kols: usize,
    /// The followers together of those of whom they are known; `null` when of none.
    pub followers: Option<u64>,
}

/// One of the most followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopVoice {
    /// The account's name on X, without `@`.
    pub handle: String,
    /// How many follow it.
    pub followers: Option<u64>,
    /// Reactions to its posts within the window, over all tokens.
    pub engagement: Option<u64>,
    /// The account.
    pub url: String,
}

const METHOD: &str =
    "mood of all mentions of a token, weighed by the followers of the leaders who mention it";

impl Leaders {
    /// Whether there is a mood of any token at all.
    #[must_use]
    pub fn has_mood(&self) -> bool {
        self.by_token.iter().any(|token| token.score.is_some())
    }
}

/// Puts together who talks about what, and the mood about it. `None` without a single leader.
///
/// Leaders who talk about several tokens count once; those with most followers are kept when there
/// are more than [`MAX_VOICES`].
#[must_use]
pub fn leaders(tokens: &[TokenVoices], mood: &Mood, window: &str) -> Option<Leaders> {
    let mut by_handle: BTreeMap<String, TopVoice> = BTreeMap::new();
    for voice in tokens.iter().flat_map(|token| &token.voices) {
        let known = by_handle
            .entry(voice.handle.to_ascii_lowercase())
            .or_insert_with(|| TopVoice {
                handle: voice.handle.clone(),
                followers: None,
                engagement: None,
                url: format!("https://x.com/{}", voice.handle),
            });
        known.followers = known.followers.max(voice.followers);
        known.engagement = match (known.engagement, voice.engagement) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
    }
    if by_handle.is_empty() {
        return None;
    }
    let mut all: Vec<TopVoice> = by_handle.into_values().collect();
    all.sort_by(|a, b| {
        let key = |voice: &TopVoice| (voice.followers, voice.engagement);
        key(b).cmp(&key(a)).then_with(|| a.handle.cmp(&b.handle))
    });
    all.truncate(MAX_VOICES);
    let counted = |voice: &Voice| {
        all.iter()
            .any(|kept| kept.handle.eq_ignore_ascii_case(&voice.handle))
    };
    let by_token: Vec<TokenStanding> = tokens
        .iter()
        .map(|token| standing(token, &counted, mood))
        .filter(|token| token.kols > 0)
        .collect();
    let labelled = |label: MoodLabel| {
        let of = by_token.iter().filter(|token| token.label == Some(label));
        of.map(|token| token.symbol.clone()).collect()
    };
    Some(Leaders {
        kol_count: all.len(),
        window: window.to_owned(),
        overall: overall(&by_token),
        method: METHOD,
        bullish: labelled(MoodLabel::Bullish),
        bearish: labelled(MoodLabel::Bearish),
        by_token,
        top_voices: all.into_iter().take(LISTED).collect(),
    })
}

fn standing(token: &TokenVoices, counted: &dyn Fn(&Voice) -> bool, mood: &Mood) -> TokenStanding {
    let found = SymbolKey::new(&token.symbol).and_then(|symbol| mood.of(&symbol));
    let balance = found.and_then(|found| found.balance());
    let voices = || token.voices.iter().filter(|voice| counted(voice));
    TokenStanding {
        symbol: token.symbol.clone(),
        score: balance.map(|balance| Figure(balance.round_dp(4))),
        label: balance.map(MoodLabel::of),
        mentions: found.map(|found| found.mentions),
        kols: voices().count(),
        followers: voices()
            .filter_map(|voice| voice.followers)
            .reduce(u64::saturating_add),
    }
}

/// The mean of the tokens' scores, weighed by followers; `None` when no token has both.
fn overall(tokens: &[TokenStanding]) -> Option<Overall> {
    let (mut sum, mut weights) = (Decimal::ZERO, Decimal::ZERO);
    for token in tokens {
        let (Some(score), Some(followers)) = (token.score, token.followers) else {
            continue;
        };
        let weight = Decimal::from(followers);
        sum = sum.checked_add(score.0.checked_mul(weight)?)?;
        weights = weights.checked_add(weight)?;
    }
    let score = sum.checked_div(weights)?.round_dp(4);
    Some(Overall {
        score: Figure(score),
        label: MoodLabel::of(score),
    })
}

#[cfg(test)]
mod tests {
    use super::{super::mood::tests::mood, *};

    fn voice(handle: &str, followers: u64) -> Voice {
        Voice {
            handle: handle.into(),
            followers: Some(followers),
            engagement: Some(10),
            mentions: Some(1),
            first_post: None,
        }
    }

    fn token(symbol: &str, voices: Vec<Voice>) -> TokenVoices {
        TokenVoices {
            symbol: symbol.into(),
            voices,
        }
    }

    fn moods() -> Mood {
        Mood {
            window: "24h".into(),
            as_of: Timestamp::UNIX_EPOCH,
            tokens: vec![
                mood("BTC", "0.5", "0.2"),
                mood("SOL", "0.2", "0.5"),
                mood("ETH", "0.43", "0.41"),
            ],
        }
    }

    #[test]
    fn leaders_count_once_and_weigh_by_followers() {
        let tokens = [
            token("BTC", vec![voice("one", 900), voice("two", 100)]),
            token("SOL", vec![voice("One", 900)]),
            token("ETH", vec![]),
        ];
        let told = leaders(&tokens, &moods(), "24h").unwrap();
        assert_eq!(told.kol_count, 2);
        // (0.3 × 1000 − 0.3 × 900) ÷ 1900
        let overall = told.overall.unwrap();
        assert_eq!(
            (overall.score.to_string().as_str(), overall.label),
            ("0.0158", MoodLabel::Neutral)
        );
        assert_eq!(
            (told.bullish, told.bearish),
            (vec!["BTC".to_owned()], vec!["SOL".to_owned()])
        );
        assert_eq!(told.by_token.len(), 2);
        let top = &told.top_voices[0];
        assert_eq!((top.handle.as_str(), top.engagement), ("one", Some(20)));
        assert_eq!(top.url, "https://x.com/one");
    }

    #[test]
    fn without_a_mood_there_is_a_count_and_no_verdict() {
        let told = leaders(&[token("XYZ", vec![voice("one", 1)])], &moods(), "24h").unwrap();
        assert!(!told.has_mood());
        assert_eq!((told.kol_count, told.overall), (1, None));
        assert_eq!(
            (told.by_token[0].score, told.by_token[0].mentions),
            (None, None)
        );
        assert!(told.bullish.is_empty() && told.bearish.is_empty());
        assert_eq!(leaders(&[token("BTC", vec![])], &moods(), "24h"), None);
        assert_eq!(leaders(&[], &moods(), "24h"), None);
    }

    #[test]
    fn at_most_fifty_are_counted_those_with_most_followers() {
        let many = (0..80).map(|n| voice(&format!("v{n}"), n)).collect();
        let told = leaders(&[token("BTC", many)], &moods(), "24h").unwrap();
        assert_eq!((told.kol_count, told.by_token[0].kols), (50, 50));
        assert_eq!(told.by_token[0].followers, Some((30..80).sum::<u64>()));
        assert_eq!(told.top_voices.len(), 10);
    }

    #[test]
    fn unknown_followers_weigh_nothing() {
        let silent = Voice {
            followers: None,
            ..voice("silent", 0)
        };
        let told = leaders(&[token("BTC", vec![silent])], &moods(), "24h").unwrap();
        assert_eq!((told.kol_count, told.overall), (1, None));
        assert_eq!(told.by_token[0].followers, None);
        let huge = voice("huge", u64::MAX);
        let told = leaders(
            &[
                token("BTC", vec![huge.clone(), voice("x", 7)]),
                token("SOL", vec![huge]),
            ],
            &moods(),
            "24h",
        );
        assert!(told.is_some());
    }
}
