//! VADER with the words of markets.
//!
//! The words of our own lexicon are scored here and taken out of the text; the rest goes to the
//! analyser. Both sums are added and made a compound as VADER does: `x / sqrt(x² + 15)`. What the
//! analyser calls a float is read from its text at once; all arithmetic is exact.

use std::sync::LazyLock;

use rust_decimal::{Decimal, MathematicalOps};
use vader_sentimental::SentimentIntensityAnalyzer;

use super::lexicon;

static ANALYZER: LazyLock<SentimentIntensityAnalyzer<'static>> =
    LazyLock::new(SentimentIntensityAnalyzer::new);

/// VADER's constant under the root.
const ALPHA: Decimal = Decimal::from_parts(15, 0, 0, false, 0);
/// What a degree word before a word adds to it.
const BOOST: Decimal = Decimal::from_parts(293, 0, 0, false, 3);
/// What a negation before a word multiplies it with.
const NEGATION: Decimal = Decimal::from_parts(740, 0, 0, true, 3);
/// What each of at most four exclamation marks adds.
const EXCLAMATION: Decimal = Decimal::from_parts(292, 0, 0, false, 3);
/// What each of two or three question marks adds.
const QUESTION: Decimal = Decimal::from_parts(180, 0, 0, false, 3);
/// What more than three question marks add together.
const MANY_QUESTIONS: Decimal = Decimal::from_parts(960, 0, 0, false, 3);

const NEGATIONS: &[&str] = &[
    "no", "not", "never", "without", "nor", "neither", "cannot", "isn't", "don't", "doesn't", "didn't", "won't",
    "wasn't", "aren't", "can't", "hardly", "rarely", "despite",
];
const BOOSTERS: &[&str] = &[
    "very", "extremely", "hugely", "highly", "massively", "most", "more", "really", "especially", "deeply",
];
/// Stands where a word was taken out, so that distances between words stay.
const TAKEN: &str = "it";

/// The compound of a title, −1 … 1. Emoji carry none of it.
pub(super) fn compound(title: &str) -> Decimal {
    let plain: String = title.chars().map(|c| if is_emoji(c) { ' ' } else { c }).collect();
    let tokens: Vec<String> = plain.split_whitespace().map(bare).collect();
    let mut ours = Decimal::ZERO;
    let mut rest = Vec::with_capacity(tokens.len());
    for (place, word) in plain.split_whitespace().enumerate() {
        let before = tokens.get(place.saturating_sub(3)..place).unwrap_or_default();
        match own_valence(tokens.get(place).map_or("", String::as_str)) {
            Some(valence) => {
                ours += in_context(valence, before);
                rest.push(TAKEN.to_owned());
            }
            // Without marks: the analyser counts them even where there is no tone to strengthen.
            None => rest.push(word.replace(['!', '?'], "")),
        }
    }
    let theirs = sum_of(ANALYZER.polarity_scores(&rest.join(" ")).compound);
    normal(emphasised(ours + theirs, &plain))
}

/// The valence of a word, or of the first part of a joined one that has any.
fn own_valence(word: &str) -> Option<Decimal> {
    let of = |word: &str| lexicon::valence(word).map(|tenths| Decimal::new(tenths, 1));
    of(word).or_else(|| word.split('-').find_map(of))
}

/// VADER's rules for what stands before a word: the nearest degree word strengthens it, a negation
/// among the last three turns it round and weakens it.
fn in_context(valence: Decimal, before: &[String]) -> Decimal {
    let boosted = before.last().is_some_and(|word| BOOSTERS.contains(&word.as_str()));
    let negated = before.iter().any(|word| NEGATIONS.contains(&word.as_str()));
    let boost = match (boosted, valence.is_sign_negative()) {
        (false, _) => Decimal::ZERO,
        (true, false) => BOOST,
        (true, true) => -BOOST,
    };
    let valence = valence + boost;
    if negated { valence * NEGATION } else { valence }
}

/// A tone is strengthened by exclamation and question marks; no tone stays none.
fn emphasised(sum: Decimal, text: &str) -> Decimal {
    let count = |mark: char| text.chars().filter(|c| *c == mark).count();
    let exclamation = EXCLAMATION * Decimal::from(count('!').min(4));
    let question = match count('?') {
        0 | 1 => Decimal::ZERO,
        few @ 2..=3 => QUESTION * Decimal::from(few),
        _ => MANY_QUESTIONS,
    };
    let emphasis = exclamation + question;
    if sum.is_zero() {
        sum
    } else if sum.is_sign_negative() {
        sum - emphasis
    } else {
        sum + emphasis
    }
}

/// The sum behind a compound: `c · sqrt(15 / (1 − c²))`.
fn sum_of(compound: f64) -> Decimal {
    let limit = Decimal::new(9_999, 4);
    let compound: Decimal = format!("{compound:.12}").parse().unwrap_or(Decimal::ZERO);
    let compound = compound.clamp(-limit, limit);
    let root = ALPHA.checked_div(Decimal::ONE - compound * compound).and_then(|under| under.sqrt());
    compound * root.unwrap_or(Decimal::ZERO)
}

/// `x / sqrt(x² + 15)`.
fn normal(sum: Decimal) -> Decimal {
    // A title has a bounded number of words; this bound is far above what they can add up to.
    let sum = sum.clamp(Decimal::from(-10_000), Decimal::from(10_000));
    let root = (sum * sum + ALPHA).sqrt();
    root.and_then(|root| sum.checked_div(root)).unwrap_or(Decimal::ZERO)
}

/// A word in lower case without the marks around it.
fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

/// Pictures and what joins or varies them.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{2300}'..='\u{23ff}'
        | '\u{2190}'..='\u{21ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{200d}' | '\u{20e3}' | '\u{e0000}'..='\u{e007f}'
        | '\u{a9}' | '\u{ae}' | '\u{2122}' | '\u{203c}' | '\u{2049}' | '\u{3030}' | '\u{303d}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(title: &str) -> String {
        compound(title).round_dp(4).normalize().to_string()
    }

    /// Compounds of the reference implementation, vaderSentiment 3.3.2.
    #[test]
    fn other_words_are_scored_as_the_reference_does() {
        for (title, expected) in [
            ("VADER is smart, handsome, and funny.", "0.8316"),
            ("VADER is smart, handsome, and funny!", "0.8439"),
            ("VADER is not smart, handsome, nor funny.", "-0.7424"),
            ("The book was good.", "0.4404"),
            ("At least it isn't a horrible book.", "0.431"),
            ("The plot was good, but the characters are uncompelling and the dialog is not great.", "-0.7042"),
            ("", "0"),
            ("Nothing to see here?!", "0"),
        ] {
            assert_eq!(of(title), expected, "{title}");
        }
    }

    #[test]
    fn emoji_and_marks_alone_have_no_tone() {
        for title in ["🚀🚀🚀", "Bitcoin 🔥!!!", "???!!!", "👍🏽 BTC ™"] {
            assert_eq!(of(title), "0", "{title}");
        }
    }

    #[test]
    fn negation_turns_and_degree_strengthens() {
        let plain = compound("bullish");
        assert!(compound("very bullish") > plain);
        assert!(compound("not bullish") < Decimal::ZERO);
        assert!(compound("ETF outflows, no rally") < Decimal::ZERO);
        assert_eq!(compound("rug-pulled"), compound("rug"));
        assert!(compound("depegs!!!!") < compound("depegs"));
    }

    proptest! {
        #[test]
        fn every_text_has_a_compound(text in any::<String>()) {
            let compound = compound(&text);
            prop_assert!(compound.abs() <= Decimal::ONE);
        }
    }
}
