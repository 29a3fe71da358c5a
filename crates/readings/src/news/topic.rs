//! Topics that a reader searches for, and the phrases that match them.

mod table;

use self::table::TOPICS;
use super::{article::Article, title::words};
use crate::symbol::SymbolKey;

/// A topic to search for in the news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    terms: Vec<String>,
}

impl Topic {
    /// Returns the topic that `text` names: its phrases if it is a known one, otherwise the words
    /// themselves. `None` for a text without a letter or digit.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let asked = words(text);
        if asked.is_empty() {
            return None;
        }
        let key = asked.concat();
        let known = TOPICS
            .iter()
            .find(|(names, _)| names.contains(&key.as_str()));
        let terms = match known {
            Some((_, terms)) => terms.iter().map(|term| (*term).to_owned()).collect(),
            None => vec![asked.join(" ")],
        };
        Some(Self { terms })
    }

    /// The phrases of the topic.
    #[must_use]
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// Returns the topic's phrases that occur, as whole words, in an article's title, categories or
    /// symbols.
    #[must_use]
    pub fn matches(&self, article: &Article) -> Vec<&str> {
        let title = padded(&article.title);
        let filed: Vec<String> = article
            .categories
            .iter()
            .chain(&article.symbols)
            .map(|text| padded(text))
            .collect();
        let carries = |term: &&String| {
            let term = format!(" {term} ");
            title.contains(&term) || filed.iter().any(|text| text.contains(&term))
        };
        self.terms
            .iter()
            .filter(carries)
            .map(String::as_str)
            .collect()
    }
}

/// Returns the known topics of which a text has a phrase, by their first names.
#[must_use]
pub fn topics_in(text: &str) -> Vec<&'static str> {
    let text = padded(text);
    let carried = TOPICS
        .iter()
        .filter(|(_, terms)| terms.iter().any(|term| text.contains(&format!(" {term} "))));
    carried
        .filter_map(|(names, _)| names.first().copied())
        .collect()
}

/// Returns the known topic with this first name.
#[must_use]
pub fn topic_named(name: &str) -> Option<&'static str> {
    let mut firsts = TOPICS.iter().filter_map(|(names, _)| names.first());
    firsts.find(|first| **first == name).copied()
}

/// Puts a space around each word, so that only whole words match.
fn padded(text: &str) -> String {
    format!(" {} ", words(text).join(" "))
}

/// Whether an article is about the token `symbol`. It is if a source says so, or if the title has
/// the symbol as `$SYM` or as a word in capitals of at least three letters. A title that is all in
/// capitals is no evidence.
#[must_use]
pub fn mentions_symbol(article: &Article, symbol: &SymbolKey) -> bool {
    if article.symbols.iter().any(|of| symbol.names(of)) {
        return true;
    }
    let shouted = !article.title.chars().any(char::is_lowercase);
    article.title.split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '$');
        match word.strip_prefix('$') {
            Some(named) => symbol.names(named),
            None => !shouted && word.chars().count() >= 3 && word == symbol.as_str(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::news::Publisher;

    fn article(title: &str) -> Article {
        Article::new("x", Publisher::of("x"), title.into(), "https://a.example/1").unwrap()
    }

    #[test]
    fn a_topic_has_many_names() {
        for (name, title, terms) in [
            (
                "DeFi",
                "Lending market pauses one collateral after oracle deviation",
                vec!["lending", "oracle"],
            ),
            (
                " Layer-2 ",
                "Layer-2 fee cut proposal passes",
                vec!["layer 2"],
            ),
            ("L2", "Rollups get cheaper", vec!["rollups"]),
            (
                "ETFs",
                "Exchange-traded funds extend inflow streak",
                vec!["exchange traded"],
            ),
            (
                "real world assets",
                "Tokenized treasuries pass a billion",
                vec!["tokenized", "treasuries", "tokenized treasuries"],
            ),
            ("AI", "Airline accepts stablecoins", vec![]),
            ("AI", "AI agents pay each other", vec!["ai", "ai agents"]),
            (
                "hack",
                "Protocol hacked, $40M drained",
                vec!["hacked", "drained"],
            ),
            (
                "quantum computing",
                "Quantum-computing fears return",
                vec!["quantum computing"],
            ),
            ("quantum computing", "Computing quantum", vec![]),
        ] {
            assert_eq!(
                Topic::new(name).unwrap().matches(&article(title)),
                terms,
                "{name}: {title}"
            );
        }
        assert_eq!(Topic::new(" !? "), None);
    }

    #[test]
    fn categories_and_symbols_count() {
        let mut filed = article("Nothing in the title");
        filed.categories = vec!["Real-World Assets".into()];
        filed.symbols = vec!["AAVE".into()];
        assert_eq!(
            Topic::new("rwa").unwrap().matches(&filed),
            ["real world assets"]
        );
        assert_eq!(Topic::new("defi").unwrap().matches(&filed), ["aave"]);
    }

    #[test]
    fn every_name_of_a_topic_is_in_the_form_of_the_look_up() {
        for (names, terms) in TOPICS {
            for name in *names {
                assert_eq!(words(name).concat(), *name);
            }
            for term in *terms {
                assert_eq!(words(term).join(" "), *term);
            }
        }
    }

    #[test]
    fn symbols_are_found_only_where_a_token_is_meant() {
        let symbol = |text: &str| SymbolKey::new(text).unwrap();
        let mut tagged = article("A quiet day");
        tagged.symbols = vec!["USD₮0".into()];
        assert!(mentions_symbol(&tagged, &symbol("usdt0")));
        for (title, of, expected) in [
            ("BTC climbs", "btc", true),
            ("Buy $one now", "ONE", true),
            ("One protocol to rule them", "ONE", false),
            ("ONE PROTOCOL TO RULE THEM", "ONE", false),
            ("The link is down", "LINK", false),
            ("LINK, up 5 %", "LINK", true),
            ("OP stack ships", "OP", false),
            ("WBTC grows", "BTC", false),
        ] {
            assert_eq!(
                mentions_symbol(&article(title), &symbol(of)),
                expected,
                "{title}"
            );
        }
    }
}
