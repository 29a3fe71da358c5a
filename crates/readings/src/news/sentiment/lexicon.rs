//! The weights of words. VADER's lexicon is the base. Words of markets that it does not know or
//! misreads replace its entries. There are also the words that modify the words after them.

use std::sync::LazyLock;

use rust_decimal::{Decimal, MathematicalOps};
use vader_sentimental::SentimentIntensityAnalyzer;

/// Gives access to the lexicon: the score of a text of one word is the word's score.
static ANALYZER: LazyLock<SentimentIntensityAnalyzer<'static>> =
    LazyLock::new(SentimentIntensityAnalyzer::new);

/// The constant under the square root in VADER's formula.
pub(super) const ALPHA: Decimal = Decimal::from_parts(15, 0, 0, false, 0);
/// How much a degree word adds to the next word.
const DEGREE: Decimal = Decimal::from_parts(293, 0, 0, false, 3);

/// The valences of words of markets, in tenths, from −40 to 40 as VADER has them.
const MARKETS: &[(i64, &[&str])] = &[
    (20, &["surge", "surges", "surged", "surging"]),
    (15, &["inflow", "inflows"]),
    (18, &["breakout", "breakouts"]),
    (20, &["ath", "aths"]),
    (22, &["bullish", "bullishly"]),
    (20, &["rally", "rallies", "rallied", "rallying"]),
    (-22, &["bearish", "bearishly"]),
    (
        -24,
        &[
            "exploit",
            "exploits",
            "exploited",
            "exploiting",
            "exploiter",
        ],
    ),
    (-26, &["drain", "drains", "drained", "draining", "drainer"]),
    (-18, &["halt", "halts", "halted", "halting"]),
    (-28, &["depeg", "depegs", "depegged", "depegging"]),
    (-28, &["rug", "rugs", "rugged", "rugpull", "rugpulls"]),
    (
        -20,
        &["liquidated", "liquidation", "liquidations", "liquidates"],
    ),
    (-20, &["delist", "delists", "delisted", "delisting"]),
    (-15, &["outflow", "outflows"]),
];

/// Degree words that strengthen.
const MORE: &[&str] = &[
    "absolutely",
    "amazingly",
    "awfully",
    "completely",
    "considerable",
    "considerably",
    "decidedly",
    "deeply",
    "enormous",
    "enormously",
    "entirely",
    "especially",
    "exceptional",
    "exceptionally",
    "extreme",
    "extremely",
    "fabulously",
    "friggin",
    "frigging",
    "fully",
    "greatly",
    "hella",
    "highly",
    "hugely",
    "incredible",
    "incredibly",
    "intensely",
    "major",
    "majorly",
    "more",
    "most",
    "particularly",
    "purely",
    "quite",
    "really",
    "remarkably",
    "so",
    "substantially",
    "thoroughly",
    "total",
    "totally",
    "tremendous",
    "tremendously",
    "uber",
    "unbelievably",
    "unusually",
    "utter",
    "utterly",
    "very",
];
/// Degree words that weaken.
const LESS: &[&str] = &[
    "almost",
    "barely",
    "hardly",
    "kinda",
    "kindof",
    "kind-of",
    "less",
    "little",
    "marginal",
    "marginally",
    "occasional",
    "occasionally",
    "partly",
    "scarce",
    "scarcely",
    "slight",
    "slightly",
    "somewhat",
    "sorta",
    "sortof",
    "sort-of",
];
/// Degree phrases of two words that weaken the next word.
const LESS_IN_TWO: &[[&str; 2]] = &[["just", "enough"], ["kind", "of"], ["sort", "of"]];
/// Words that negate the words after them. Words with `n't` do so as well.
const NEGATIONS: &[&str] = &[
    "aint", "arent", "cannot", "cant", "couldnt", "darent", "didnt", "doesnt", "dont", "hadnt",
    "hasnt", "havent", "isnt", "mightnt", "mustnt", "neither", "neednt", "never", "none", "nope",
    "nor", "not", "nothing", "nowhere", "oughtnt", "shant", "shouldnt", "uhuh", "wasnt", "werent",
    "uh-uh", "without", "wont", "wouldnt", "rarely", "seldom", "despite",
];

/// Returns the weight of a word in lower case, if it has one.
pub(super) fn valence(word: &str) -> Option<Decimal> {
    let of_markets = |word: &str| {
        let found = MARKETS.iter().find(|(_, words)| words.contains(&word));
        found.map(|(tenths, _)| Decimal::new(*tenths, 1))
    };
    of_markets(word)
        .or_else(|| word.split('-').find_map(of_markets))
        .or_else(|| general(word))
}

/// Returns how much a degree word adds to a positive word after it.
pub(super) fn degree(word: &str) -> Option<Decimal> {
    if MORE.contains(&word) {
        Some(DEGREE)
    } else if LESS.contains(&word) {
        Some(-DEGREE)
    } else {
        None
    }
}

/// Returns how much a degree phrase of two words adds.
pub(super) fn degree_of_two(first: &str, second: &str) -> Option<Decimal> {
    LESS_IN_TWO.contains(&[first, second]).then_some(-DEGREE)
}

/// Whether a word negates the words after it.
pub(super) fn negates(word: &str) -> bool {
    NEGATIONS.contains(&word) || word.contains("n't")
}

/// Returns VADER's own valence in tenths, derived from the compound of a text of this one word.
fn general(word: &str) -> Option<Decimal> {
    // The marks would count as emphasis, although there is no tone to emphasise.
    if word.contains(['!', '?']) {
        return None;
    }
    let compound = ANALYZER.polarity_scores(word).compound;
    let compound: Decimal = format!("{compound:.12}").parse().ok()?;
    if compound.is_zero() || compound.abs() >= Decimal::ONE {
        return None;
    }
    let square = compound.checked_mul(compound)?;
    let root = ALPHA
        .checked_div(Decimal::ONE.checked_sub(square)?)?
        .sqrt()?;
    Some(compound.checked_mul(root)?.round_dp(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_weigh_what_the_lexicons_say() {
        for (word, expected) in [
            ("good", Some("1.9")),
            ("great", Some("3.1")),
            ("horrible", Some("-2.5")),
            ("hacked", Some("-1.7")),
            (":)", Some("2.0")),
            ("exploit", Some("-2.4")),
            ("rug-pulled", Some("-2.8")),
            ("surges", Some("2")),
            ("bitcoin", None),
            ("very", None),
            ("", None),
            ("a", None),
        ] {
            let expected = expected.map(|text| text.parse::<Decimal>().unwrap());
            assert_eq!(valence(word), expected, "{word}");
        }
    }

    #[test]
    fn words_of_markets_are_lower_case_and_unique() {
        let mut all: Vec<&str> = MARKETS
            .iter()
            .flat_map(|(_, words)| words.iter().copied())
            .collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(
            all.iter()
                .all(|word| word.chars().all(|c| c.is_ascii_lowercase()))
        );
    }
}
