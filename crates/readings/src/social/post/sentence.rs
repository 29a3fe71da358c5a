//! The sentences of a post, and whether the post itself states what they say.
//!
//! This is a rule of words and not an understanding. It leaves out more than it must: what a post
//! only asks, doubts, imagines, jokes about or repeats from others must not be told as its own.

use super::symbols_in;
use crate::news::words;

/// A sentence of a post.
pub(super) struct Sentence<'a> {
    /// Its text, without the point at its end.
    pub(super) text: &'a str,
    /// Its words in lower case, with a space before and after each.
    pub(super) padded: String,
    /// The tokens that it names.
    pub(super) symbols: Vec<String>,
    /// Whether it states something as the author's own view: it is no question, condition, guess,
    /// joke, memory or quotation.
    pub(super) is_own: bool,
    /// Whether it denies something.
    pub(super) is_denied: bool,
}

/// Words of sentences that state no fact of the author's own.
const NOT_OWN: &[&str] = &[
    // Conditions, wishes and guesses.
    "if",
    "would",
    "could",
    "might",
    "may",
    "should",
    "unless",
    "imagine",
    "suppose",
    "hypothetical",
    "hypothetically",
    "hope",
    "hopefully",
    "hoping",
    "wish",
    "maybe",
    "perhaps",
    "possible",
    "possibly",
    "potential",
    "potentially",
    "probably",
    "likely",
    "unlikely",
    "when",
    "whenever",
    "until",
    "once",
    "before",
    "whether",
    "risk",
    "risks",
    "expect",
    "expects",
    "expected",
    "expecting",
    "predict",
    "predicts",
    "predicting",
    "prediction",
    "bet",
    // What others say.
    "alleged",
    "allegedly",
    "reportedly",
    "apparently",
    "supposedly",
    "rumor",
    "rumors",
    "rumored",
    "rumour",
    "rumours",
    "unconfirmed",
    "according",
    "say",
    "says",
    "said",
    "saying",
    "claim",
    "claims",
    "claimed",
    "claiming",
    "told",
    "tells",
    "tweet",
    "tweets",
    "tweeted",
    "posted",
    "posts",
    "via",
    "rt",
    "heard",
    "hearing",
    "think",
    "thinks",
    "thought",
    "believe",
    "believes",
    "ask",
    "asks",
    "asked",
    "asking",
    "wrote",
    "writes",
    "report",
    "reports",
    "reported",
    "bots",
    "spam",
    "people",
    "everyone",
    "someone",
    "somebody",
    "they",
    // What has not happened, or long ago.
    "how to",
    "avoid",
    "prevent",
    "prevents",
    "prevented",
    "protect",
    "protects",
    "almost",
    "nearly",
    "attempt",
    "attempted",
    "attempts",
    "tried",
    "foiled",
    "averted",
    "simulated",
    "simulation",
    "drill",
    "pretend",
    "as if",
    "like",
    "remember",
    "ago",
    "back in",
    "history",
    "anniversary",
    "last year",
    "movie",
    "novel",
    // What is no market.
    "my",
    "wife",
    "mom",
    "grandma",
    "girlfriend",
    "boss",
    "dog",
    "cat",
];
/// Words with which questions without a question mark begin.
const ASKING: &[&str] = &[
    "was", "is", "are", "were", "did", "does", "do", "has", "have", "had", "will", "can", "why",
    "who", "how", "what", "where", "which",
];
/// Words of denials. `t` is the end of `don't`.
const DENIALS: &[&str] = &[
    "no",
    "not",
    "never",
    "none",
    "nothing",
    "nobody",
    "neither",
    "nor",
    "without",
    "cannot",
    "t",
    "dont",
    "isnt",
    "wasnt",
    "didnt",
    "doesnt",
    "wont",
    "cant",
    "hasnt",
    "havent",
    "arent",
    "werent",
    "deny",
    "denies",
    "denied",
    "denying",
    "wrong",
    "misinformation",
    "disinformation",
    "myth",
    "zero",
    "safe",
    "unaffected",
    "unharmed",
    "refuted",
    "refutes",
    "dismissed",
    "far from",
    "hardly",
    "barely",
    "stop",
];
/// Words after which nothing in a post can be taken as meant.
const UNSERIOUS: &[&str] = &[
    "fake",
    "fud",
    "hoax",
    "debunked",
    "untrue",
    "false",
    "not true",
    "lie",
    "lies",
    "kidding",
    "jk",
    "lol",
    "lmao",
    "lmfao",
    "rofl",
    "haha",
    "hahaha",
    "joke",
    "jokes",
    "joking",
    "sarcasm",
    "satire",
    "parody",
    "april fools",
    "trust me bro",
    "nope",
    "not really",
    "made up",
    "made that up",
    "dream",
    "dreamt",
    "nightmare",
];
/// Signs of a joke, or of another one's words.
const UNSERIOUS_SIGNS: &[char] = &[
    '"', '“', '”', '„', '«', '»', '‘', '😂', '🤣', '🙃', '😜', '🤡', '😉', '😏', '😆', '>',
];

/// Reads the sentences of a post.
pub(super) fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let whole = padded(text);
    let is_speaker = |word: &str| word.starts_with('@') && word.ends_with(':');
    let is_serious = !has_any(&whole, UNSERIOUS)
        && !text.contains(UNSERIOUS_SIGNS)
        && !text
            .split_whitespace()
            .any(|word| word == "/s" || is_speaker(word));
    split(text)
        .map(|(text, ends_with)| {
            let padded = padded(text);
            let asks = ends_with == Some('?')
                || ASKING
                    .iter()
                    .any(|word| padded.starts_with(&format!(" {word} ")));
            Sentence {
                is_own: is_serious && !asks && !text.contains('@') && !has_any(&padded, NOT_OWN),
                is_denied: has_any(&padded, DENIALS),
                symbols: symbols_in(text),
                text,
                padded,
            }
        })
        .collect()
}

fn padded(text: &str) -> String {
    format!(" {} ", words(text).join(" "))
}

/// Whether a padded text has one of the phrases, as whole words.
pub(super) fn has_any(padded: &str, phrases: &[&str]) -> bool {
    let found = |phrase: &&str| padded.contains(&format!(" {phrase} "));
    phrases.iter().any(found)
}

/// Splits a text into sentences, each with the sign that ends it. A point inside a number does not
/// end a sentence.
fn split(text: &str) -> impl Iterator<Item = (&str, Option<char>)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let mut chars = rest.char_indices().peekable();
            let mut end = (rest.len(), None);
            while let Some((at, c)) = chars.next() {
                let next = chars.peek().map(|(_, next)| *next);
                let ends = match c {
                    '\n' | '!' | '?' | '…' => true,
                    '.' => next.is_none_or(|next| next.is_whitespace() || next == '.'),
                    _ => false,
                };
                if ends {
                    end = (at, Some(c));
                    break;
                }
            }
            let (sentence, after) = rest.split_at_checked(end.0)?;
            rest = after
                .get(end.1.map_or(0, char::len_utf8)..)
                .unwrap_or_default();
            let sentence = sentence.trim();
            if !sentence.is_empty() {
                return Some((sentence, end.1));
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_do_not_end_a_sentence() {
        let found: Vec<_> = split("BTC at $1.5 or 1,000, ok. ETH: no! Why? gm\nend")
            .map(|(text, _)| text)
            .collect();
        assert_eq!(
            found,
            ["BTC at $1.5 or 1,000, ok", "ETH: no", "Why", "gm", "end"]
        );
        assert_eq!(split(" . ! ").count(), 0);
    }

    #[test]
    fn a_question_is_not_the_authors_view() {
        let own = |text: &str| sentences(text)[0].is_own;
        assert!(own("$AAVE was hacked") && own("ETH looks strong!"));
        for other in [
            "$AAVE was hacked?",
            "was $AAVE hacked",
            "@bob: $AAVE was hacked",
            "“$AAVE was hacked”",
        ] {
            assert!(!own(other), "{other}");
        }
    }
}
