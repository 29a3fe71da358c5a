//! The content of a post, extracted from its text: tokens, topics, stances and claims. The text
//! itself is not kept, because it is not ours to sell.

mod claim;

use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize};

pub use self::claim::{Claim, ClaimKind};
use super::mood::MoodLabel;
use crate::{
    Figure, mean,
    news::{of_title, topic_named, topics_in},
};

/// Words in capitals that count as a token's symbol in a post.
const SYMBOLS: &[&str] = &[
    "BTC", "ETH", "SOL", "XRP", "BNB", "ADA", "DOGE", "TRX", "AVAX", "LINK", "LTC", "HYPE", "SUI",
    "TON", "ARB", "AAVE", "UNI", "USDT", "USDC", "OKB", "PEPE", "SHIB", "NEAR",
];
/// The most symbols of a post that are read.
const MOST: usize = 5;
/// The longest symbol after a `$`.
const LONGEST: usize = 12;

/// A leader's post: its address, its reach and its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    /// The author, without `@`.
    pub handle: String,
    /// The number of the account's followers.
    pub followers: Option<u64>,
    /// The address of the post.
    pub url: String,
    /// When it was posted.
    pub at: Timestamp,
    /// The sum of likes, reposts, replies and quotes.
    pub reactions: Option<u64>,
    /// Its content.
    pub content: Content,
}

/// The posts of some accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Posts {
    /// The posts, the newest first.
    pub posts: Vec<Post>,
    /// The time from which on all posts are present. Earlier ones may be missing.
    pub covered_from: Timestamp,
}

/// The content of a text: its stances, topics and claims.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The tokens that it names, each with the tone of the clauses that name it, from −1 to 1.
    pub stances: Vec<(String, Figure)>,
    /// Its topics, by their names.
    #[serde(deserialize_with = "known_topics")]
    pub topics: Vec<&'static str>,
    /// Its claims.
    pub claims: Vec<Claim>,
}

impl Content {
    /// Reads a text clause by clause: "BTC looks strong, ETH weak" is in favour of one token and
    /// against the other. A clause without a tone gets the tone of the whole text, if the text
    /// names no other token.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let clauses: Vec<(Vec<String>, Decimal, &str)> = clauses(text)
            .map(|clause| (symbols_in(clause), of_title(clause).score.0, clause))
            .collect();
        let named = symbols_in(text);
        let whole = of_title(text).score.0;
        let stances = named.iter().map(|symbol| {
            let scores = clauses
                .iter()
                .filter(|(symbols, ..)| symbols.contains(symbol))
                .map(|(_, score, _)| *score);
            let toned: Vec<Decimal> = scores.filter(|score| !score.is_zero()).collect();
            let mean = mean(&toned);
            let alone = named.len() == 1;
            let score = mean.unwrap_or(if alone { whole } else { Decimal::ZERO });
            (symbol.clone(), Figure(score.round_dp(4)))
        });
        let stances: Vec<_> = stances.collect();
        let mut claims = Vec::new();
        for (symbols, _, clause) in &clauses {
            for claim in claim::stated(clause, symbols) {
                if !claims.contains(&claim) {
                    claims.push(claim);
                }
            }
        }
        for (symbol, score) in &stances {
            claims.extend(claim::leaning(symbol, MoodLabel::of(score.0)));
        }
        Self {
            stances,
            topics: topics_in(text),
            claims,
        }
    }

    /// Returns the mean of its stances. `None` when it names no token.
    #[must_use]
    pub fn tone(&self) -> Option<Decimal> {
        let scores: Vec<_> = self.stances.iter().map(|(_, score)| score.0).collect();
        mean(&scores)
    }
}

/// Reads topics by their names, and leaves out unknown names.
fn known_topics<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<&'static str>, D::Error> {
    let names: Vec<String> = Vec::deserialize(deserializer)?;
    Ok(names.iter().filter_map(|name| topic_named(name)).collect())
}

/// Splits a text into clauses. A point or a comma inside a number does not end a clause.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = end_of_clause(rest);
            let (clause, after) = rest.split_at_checked(end)?;
            let skip = after.chars().next().map_or(0, char::len_utf8);
            rest = after.get(skip..).unwrap_or_default();
            let clause = clause.trim();
            if !clause.is_empty() {
                return Some(clause);
            }
        }
        None
    })
}

fn end_of_clause(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '\n' | ';' | '!' | '?' => true,
            '.' | ',' | ':' => next.is_none_or(char::is_whitespace),
            _ => false,
        };
        if ends {
            return at;
        }
    }
    text.len()
}

/// Returns the symbols of tokens in a text, in their order.
fn symbols_in(text: &str) -> Vec<String> {
    let mut symbols: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '$');
        let symbol = match word.strip_prefix('$') {
            Some(tag) => {
                let letters = tag.chars().all(|c| c.is_ascii_alphanumeric());
                let symbol = letters
                    && tag.len() <= LONGEST
                    && tag.starts_with(|c: char| c.is_ascii_alphabetic());
                symbol.then(|| tag.to_ascii_uppercase())
            }
            None => SYMBOLS.contains(&word).then(|| word.to_owned()),
        };
        if let Some(symbol) = symbol
            && !symbols.contains(&symbol)
            && symbols.len() < MOST
        {
            symbols.push(symbol);
        }
    }
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_tagged_or_well_known() {
        assert_eq!(
            symbols_in("BTC looks strong, $eth too; $100k? LINK in bio $BTC"),
            ["BTC", "ETH", "LINK"]
        );
        assert!(symbols_in("link to one suit, ADAM $ $$ $<b>").is_empty());
    }

    #[test]
    fn each_token_has_the_tone_of_its_own_clauses() {
        let read = Content::read("BTC looks strong, but $SOL is weak and dumping. ETH");
        let label = |of: &str| {
            let found = read.stances.iter().find(|(symbol, _)| symbol == of);
            MoodLabel::of(found.unwrap().1.0)
        };
        assert_eq!(label("BTC"), MoodLabel::Bullish);
        assert_eq!(label("SOL"), MoodLabel::Bearish);
        assert_eq!(label("ETH"), MoodLabel::Neutral);
        // The whole text is about the only token that it names.
        let read = Content::read("$SUI. This is a disaster");
        assert_eq!(MoodLabel::of(read.stances[0].1.0), MoodLabel::Bearish);
    }

    #[test]
    fn the_content_of_a_post_can_be_stored_without_its_text() {
        let read = Content::read("BTC looks strong, ETF inflows hit $1.5. $SOL is weak");
        let kept = serde_json::to_string(&read).unwrap();
        assert!(!kept.contains("looks"), "{kept}");
        assert_eq!(serde_json::from_str::<Content>(&kept).unwrap(), read);
        let other = r#"{"stances":[],"topics":["etf","a topic of another version"],"claims":[]}"#;
        assert_eq!(
            serde_json::from_str::<Content>(other).unwrap().topics,
            ["etf"]
        );
    }

    #[test]
    fn numbers_do_not_end_a_clause() {
        let found: Vec<_> = clauses("BTC at $1.5 or 1,000. ETH: no! ok").collect();
        assert_eq!(found, ["BTC at $1.5 or 1,000", "ETH", "no", "ok"]);
        assert_eq!(clauses(" . , ").count(), 0);
    }

    #[test]
    fn a_text_without_tokens_has_topics_and_no_tone() {
        let read = Content::read("Spot ETF inflows hit a record");
        assert!(read.stances.is_empty() && read.tone().is_none());
        assert_eq!(read.topics, ["etf"]);
    }
}
