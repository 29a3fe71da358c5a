//! The content of a post, extracted from its text: tokens, topics, stances and claims. The text
//! itself is not kept, except single sentences that are quoted as claims with their link.

mod claim;
mod sentence;

use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize};

pub use self::claim::{Claim, ClaimKind};
use crate::{
    Figure, mean,
    news::{of_title, topic_named, topics_in, words},
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
    /// The tokens of which it has a view, each with the tone of the clauses that name it, from −1
    /// to 1.
    pub stances: Vec<(String, Figure)>,
    /// Its topics, by their names.
    #[serde(deserialize_with = "known_topics")]
    pub topics: Vec<&'static str>,
    /// Its claims.
    #[serde(deserialize_with = "known_claims")]
    pub claims: Vec<Claim>,
}

impl Content {
    /// Reads a text sentence by sentence, and the tone of each clause: "BTC looks strong, ETH weak"
    /// is in favour of one token and against the other. Only sentences that state the author's own
    /// view count. A tone that belongs to no single token, such as that of a comparison, is left
    /// out, and so is a token that only such clauses name.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let sentences = sentence::sentences(text);
        let own = sentences.iter().filter(|sentence| sentence.is_own);
        let clauses: Vec<(Vec<String>, Decimal)> = own
            .flat_map(|sentence| clauses(sentence.text))
            .filter(|clause| symbols_in(clause).len() < 2 || !compares(clause))
            .map(|clause| (symbols_in(clause), of_title(clause).score.0))
            .collect();
        let stances = symbols_in(text).into_iter().filter_map(|symbol| {
            let mut about = clauses
                .iter()
                .filter(|(symbols, _)| symbols.contains(&symbol))
                .map(|(_, score)| *score)
                .peekable();
            about.peek()?;
            let toned: Vec<Decimal> = about.filter(|score| !score.is_zero()).collect();
            let score = mean(&toned).unwrap_or(Decimal::ZERO);
            Some((symbol, Figure(score.round_dp(4))))
        });
        let stances: Vec<_> = stances.collect();
        let mut claims = Vec::new();
        for claim in sentences.iter().filter_map(claim::stated) {
            if !claims.contains(&claim) {
                claims.push(claim);
            }
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

/// Reads claims, and leaves out those of an earlier form.
fn known_claims<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Claim>, D::Error> {
    let claims: Vec<serde_json::Value> = Vec::deserialize(deserializer)?;
    let read = claims.into_iter().map(serde_json::from_value);
    Ok(read.filter_map(Result::ok).collect())
}

/// Whether a clause sets its tokens against each other.
fn compares(clause: &str) -> bool {
    const COMPARING: &[&str] = &[
        "against", "but", "for", "from", "instead", "into", "less", "more", "not", "over",
        "rather", "than", "then", "to", "unlike", "versus", "vs", "whereas", "while",
    ];
    let padded = format!(" {} ", words(clause).join(" "));
    sentence::has_any(&padded, COMPARING)
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
    use crate::social::mood::MoodLabel;

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
        // A tone of another sentence is not the tone about the token.
        let read = Content::read("$SUI. This is a disaster");
        assert_eq!(MoodLabel::of(read.stances[0].1.0), MoodLabel::Neutral);
        // Negation counts, and a comparison or a question has no tone of a single token.
        let read = Content::read("No, $AAVE was not hacked");
        assert!(read.stances[0].1.0 >= Decimal::ZERO && read.claims.is_empty());
        for open in [
            "BTC is great, unlike ETH or SOL against BTC",
            "Is $SUI weak?",
        ] {
            let read = Content::read(open);
            assert!(read.stances.len() < 2, "{:?}", read.stances);
        }
        assert!(Content::read("Is $SUI weak?").stances.is_empty());
    }

    #[test]
    fn the_content_of_a_post_can_be_stored_without_its_other_text() {
        let read = Content::read("BTC looks strong, ETF inflows hit $1.5. $SOL is weak");
        let kept = serde_json::to_string(&read).unwrap();
        assert!(!kept.contains("is weak"), "{kept}");
        assert_eq!(serde_json::from_str::<Content>(&kept).unwrap(), read);
        let other = r#"{"stances":[],"topics":["etf","a topic of another version"],
                        "claims":[{"kind":"positive","symbol":"BTC","price":null}]}"#;
        let read = serde_json::from_str::<Content>(other).unwrap();
        assert_eq!((read.topics, read.claims), (vec!["etf"], Vec::new()));
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

    /// Posts that state nothing of what their words could be taken for.
    const NO_CLAIM: [&str; 48] = [
        "No, $AAVE was not hacked",
        "$AAVE wasn't hacked. Sleep well",
        "$AAVE isn’t exploited, stop panicking",
        "Nobody drained the $UNI pool",
        "There was never an exploit on $LINK",
        "$USDT did not depeg",
        "$USDC never lost its peg",
        "False: $SOL halted",
        "$SOL halted. Fake news",
        "The team denies that $ARB was exploited",
        "$OKB unaffected by the exchange hacked today, funds are safe",
        "$ETH was hacked? No",
        "Was $AAVE hacked",
        "Is $BNB delisted?",
        "Did $XRP win the lawsuit",
        "If $AAVE gets hacked, DeFi is over",
        "Imagine $BTC at $1,000,000",
        "What would a $USDT depeg mean",
        "$SOL could be halted again",
        "$LINK might be delisted",
        "Unless fees fall, $AVAX liquidations follow",
        "Once $BTC hits $100k we celebrate",
        "Hopefully $SUI is listed on the exchange",
        "Maybe $PEPE is listed",
        "I wish $DOGE launched smart contracts",
        "Suppose the bridge is drained tomorrow",
        "When $HYPE unlocks come, sell",
        "lol $AAVE hacked again",
        "$ETH drained my wallet haha",
        "$SOL halted 😂",
        "$BTC to $1 trust me bro",
        "April fools: $LINK exploited",
        "$UNI hacked /s",
        "Just kidding, $ADA launched mainnet",
        "My wife exploited the vault",
        "I dreamt $BTC was listed at $5",
        "I exploited the breakfast buffet, drained the coffee",
        "@bob: $AAVE was hacked",
        "RT @bob $AAVE was hacked",
        "“$AAVE was hacked” is going around",
        "Bob says $AAVE was hacked",
        "According to a bot the $AAVE pool is drained",
        "Rumor: $USDC depeg",
        "$ARB allegedly exploited",
        "People claim $TON halted withdrawals",
        "Remember the exploit of the DAO on ETH",
        "Three years ago $UNI was drained",
        "How to avoid that $AAVE wallets get hacked",
    ];
    /// Posts with a claim, its kind and its token.
    const CLAIMS: [(&str, ClaimKind, Option<&str>); 12] = [
        ("$AAVE was hacked", ClaimKind::Exploit, Some("AAVE")),
        ("gm. The bridge is drained! Sad", ClaimKind::Exploit, None),
        ("$USDC lost its peg", ClaimKind::Depeg, Some("USDC")),
        ("SOL halted again", ClaimKind::Halt, Some("SOL")),
        ("Spot ETF inflows are back", ClaimKind::Flows, None),
        ("The SEC sues the exchange", ClaimKind::Regulation, None),
        (
            "$PEPE listed on the exchange",
            ClaimKind::Listing,
            Some("PEPE"),
        ),
        ("$ARB unlocks 92M tokens", ClaimKind::Unlock, Some("ARB")),
        (
            "Liquidations everywhere on SOL",
            ClaimKind::Liquidations,
            Some("SOL"),
        ),
        ("ETH hard fork is live", ClaimKind::Upgrade, Some("ETH")),
        ("$BTC to $100k by year end", ClaimKind::Price, Some("BTC")),
        (
            "BTC and ETH liquidated after the CPI",
            ClaimKind::Liquidations,
            None,
        ),
    ];

    #[test]
    fn nobody_is_quoted_with_what_they_did_not_say() {
        for text in NO_CLAIM {
            assert!(Content::read(text).claims.is_empty(), "{text}");
        }
        for (text, kind, symbol) in CLAIMS {
            let [claim] = Content::read(text).claims.try_into().unwrap();
            let Claim {
                kind: of,
                symbol: about,
                quote,
            } = claim;
            assert_eq!((of, about.as_deref()), (kind, symbol), "{text}");
            assert!(text.contains(&quote), "{text}: {quote}");
        }
    }
}
