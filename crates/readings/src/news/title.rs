//! Titles as sets of words, by which two titles that report the same event are found.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;

/// Words that say nothing about the event.
const FILLERS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "but", "by", "for", "from", "has", "have", "in", "into",
    "is", "it", "its", "of", "on", "or", "over", "s", "says", "that", "the", "their", "this", "to",
    "was", "will", "with",
];

/// The names of each asset. The first one stands for all. A title is about as many assets as it has
/// of these names.
const ASSETS: &[&[&str]] = &[
    &["bitcoin", "btc", "xbt"],
    &["ethereum", "eth", "ether"],
    &["solana", "sol"],
    &["xrp", "ripple"],
    &["bnb", "binancecoin"],
    &["cardano", "ada"],
    &["dogecoin", "doge"],
    &["tron", "trx"],
    &["avalanche", "avax"],
    &["polkadot", "dot"],
    &["chainlink", "link"],
    &["litecoin", "ltc"],
    &["hyperliquid", "hype"],
    &["sui"],
    &["toncoin", "ton"],
    &["arbitrum", "arb"],
    &["optimism", "op"],
    &["aave"],
    &["uniswap", "uni"],
    &["tether", "usdt"],
    &["circle", "usdc"],
];

/// Returns the words of `text`: in lower case, without punctuation, with compatibility forms
/// folded.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let folded: String = text.nfkc().flat_map(char::to_lowercase).collect();
    folded
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The significant words of a title, as a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TitleTokens {
    words: BTreeSet<String>,
    numbers: BTreeSet<String>,
    assets: BTreeSet<&'static str>,
}

impl TitleTokens {
    /// Returns the significant words of `title`: without fillers, in the singular, with the names
    /// of one asset merged, and with the two spellings of "exchange-traded fund" merged.
    #[must_use]
    pub fn of(title: &str) -> Self {
        let all = words(title);
        let mut tokens = Self {
            words: BTreeSet::new(),
            numbers: BTreeSet::new(),
            assets: BTreeSet::new(),
        };
        let mut rest = all.as_slice();
        while let Some((word, tail)) = rest.split_first() {
            rest = match tail {
                [second, third, after @ ..]
                    if word == "exchange" && second == "traded" && singular(third) == "fund" =>
                {
                    tokens.words.insert("etf".to_owned());
                    after
                }
                _ => {
                    tokens.take(word);
                    tail
                }
            };
        }
        tokens
    }

    fn take(&mut self, word: &str) {
        if FILLERS.contains(&word) {
            return;
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            self.numbers.insert(word.to_owned());
            self.words.insert(word.to_owned());
            return;
        }
        let asset = ASSETS.iter().find(|names| names.contains(&word));
        match asset.and_then(|names| names.first()) {
            Some(name) => {
                self.assets.insert(name);
                self.words.insert((*name).to_owned());
            }
            None => {
                self.words.insert(singular(word).to_owned());
            }
        }
    }

    /// Returns the Jaccard index of the words in percent, rounded down. Two empty titles have
    /// nothing in common.
    #[must_use]
    pub fn likeness_pct(&self, other: &Self) -> usize {
        let common = self.words.intersection(&other.words).count();
        let all = self.words.len() + other.words.len() - common;
        common.saturating_mul(100).checked_div(all).unwrap_or(0)
    }

    /// Whether the two titles cannot report the same event, however similar they sound. That is so
    /// when both name assets and share none, or when both have numbers and share none.
    #[must_use]
    pub fn contradicts(&self, other: &Self) -> bool {
        fn apart<T: Ord>(ours: &BTreeSet<T>, theirs: &BTreeSet<T>) -> bool {
            !ours.is_empty() && !theirs.is_empty() && ours.is_disjoint(theirs)
        }
        apart(&self.assets, &other.assets) || apart(&self.numbers, &other.numbers)
    }
}

/// Removes the `s` of a plural. Short words, and words in `ss`, `us` or `is`, keep it.
fn singular(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(stem) if word.len() > 3 && !stem.ends_with(['s', 'u', 'i']) => stem,
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likeness(a: &str, b: &str) -> usize {
        TitleTokens::of(a).likeness_pct(&TitleTokens::of(b))
    }

    #[test]
    fn the_same_story_in_other_words_is_alike() {
        assert_eq!(
            likeness(
                "Exchange-traded funds extend inflow streak & open interest climbs",
                "Bitcoin ETFs extend inflow streak as open interest climbs",
            ),
            87
        );
        assert_eq!(
            likeness("Layer-2 fee cut passes", "Layer-2 fee cut proposal passes"),
            83
        );
        assert!(
            likeness(
                "Protocol halts market after oracle fault",
                "Lending market pauses one collateral"
            ) < 60
        );
        assert_eq!(likeness("", ""), 0);
        assert_eq!(likeness("BTC up", "ＢＩＴＣＯＩＮ UP!"), 100);
    }

    #[test]
    fn titles_with_other_assets_or_other_numbers_are_other_stories() {
        let apart = |a: &str, b: &str| TitleTokens::of(a).contradicts(&TitleTokens::of(b));
        assert!(apart(
            "Solana ETF inflows hit a record",
            "Bitcoin ETF inflows hit a record"
        ));
        assert!(apart(
            "Bitcoin falls below $90k",
            "Bitcoin falls below $80k"
        ));
        assert!(!apart("Bitcoin ETFs extend streak", "ETFs extend streak"));
        assert!(!apart("BTC and ETH climb", "Ether climbs"));
        assert!(!apart("40M drained", "Protocol drained of 40M"));
    }

    #[test]
    fn plurals_are_folded_with_care() {
        for (word, expected) in [
            ("inflows", "inflow"),
            ("etfs", "etf"),
            ("gas", "gas"),
            ("loss", "loss"),
            ("status", "status"),
            ("crisis", "crisis"),
            ("is", "is"),
        ] {
            assert_eq!(singular(word), expected);
        }
    }
}
