//! VADER's rules (Hutto and Gilbert, 2014, version 3.3.2) in exact decimals, with its lexicon and
//! ours. Idioms and emoji are left out, because titles have no idioms, and emoji say nothing about
//! markets.
//!
//! The lexicon is that of the crate `vader-sentimental`. The rules of that crate are not used. They
//! differ from the reference in ways that change the sign of a score; a test below shows where.

use rust_decimal::{Decimal, MathematicalOps};

use super::lexicon::{ALPHA, degree, degree_of_two, negates, valence};

/// How much a word in capitals gains when other words are not in capitals.
const CAPITALS: Decimal = Decimal::from_parts(733, 0, 0, false, 3);
/// The factor of a negation.
const NEGATION: Decimal = Decimal::from_parts(740, 0, 0, true, 3);
/// The factor of "never so".
const NEVER_SO: Decimal = Decimal::from_parts(125, 0, 0, false, 2);
/// The share of a degree word's amount that counts when zero, one or two words are between.
const DISTANCE: [Decimal; 3] = [
    Decimal::ONE,
    Decimal::from_parts(95, 0, 0, false, 2),
    Decimal::from_parts(9, 0, 0, false, 1),
];
/// The factors for words before and after a "but".
const BEFORE_BUT: Decimal = Decimal::from_parts(5, 0, 0, false, 1);
const AFTER_BUT: Decimal = Decimal::from_parts(15, 0, 0, false, 1);
/// How much each exclamation mark adds, for at most four of them.
const EXCLAMATION: Decimal = Decimal::from_parts(292, 0, 0, false, 3);
/// How much each question mark adds, for two or three of them.
const QUESTION: Decimal = Decimal::from_parts(180, 0, 0, false, 3);
/// How much more than three question marks add together.
const MANY_QUESTIONS: Decimal = Decimal::from_parts(960, 0, 0, false, 3);
/// The most words of a title that are read.
const MOST_WORDS: usize = 200;

/// One word of a title.
struct Word {
    lower: String,
    capitals: bool,
    valence: Option<Decimal>,
}

/// Returns the compound of a title, from −1 to 1.
pub(super) fn compound(title: &str) -> Decimal {
    let plain: String = title
        .chars()
        .map(|c| if is_emoji(c) { ' ' } else { c })
        .collect();
    let words: Vec<Word> = plain
        .split_whitespace()
        .take(MOST_WORDS)
        .map(Word::new)
        .collect();
    let shouted = words.iter().filter(|word| word.capitals).count();
    let mixed = shouted > 0 && shouted < words.len();
    let but = words.iter().position(|word| word.lower == "but");
    let mut sum = Decimal::ZERO;
    for place in 0..words.len() {
        let weight = match but {
            Some(but) if place < but => BEFORE_BUT,
            Some(but) if place > but => AFTER_BUT,
            _ => Decimal::ONE,
        };
        sum += weigh(&words, place, mixed) * weight;
    }
    normal(emphasised(sum, &plain))
}

impl Word {
    fn new(text: &str) -> Self {
        // Short words keep their punctuation, because they may be emoticons.
        let stripped = text.trim_matches(|c: char| c.is_ascii_punctuation());
        let word = if stripped.chars().count() <= 2 {
            text
        } else {
            stripped
        };
        let lower = word.to_lowercase();
        let degree = degree(&lower).is_some();
        Self {
            valence: if degree { None } else { valence(&lower) },
            capitals: word.chars().any(char::is_uppercase) && !word.chars().any(char::is_lowercase),
            lower,
        }
    }

    fn is(&self, text: &str) -> bool {
        self.lower == text
    }
}

/// Returns the weight of the word at `place` among its neighbours.
fn weigh(words: &[Word], place: usize, mixed: bool) -> Decimal {
    let Some(word) = words.get(place) else {
        return Decimal::ZERO;
    };
    let Some(mut weight) = word.valence else {
        return Decimal::ZERO;
    };
    let before = |distance: usize| {
        place
            .checked_sub(distance)
            .and_then(|place| words.get(place))
    };
    let next = words.get(place + 1);
    if word.is("kind") && next.is_some_and(|next| next.is("of")) {
        return Decimal::ZERO;
    }
    if word.is("no") && next.is_some_and(|next| next.valence.is_some()) {
        weight = Decimal::ZERO;
    }
    let no = |distance: usize| before(distance).is_some_and(|word| word.is("no"));
    let or = before(1).is_some_and(|word| word.is("or") || word.is("nor"));
    if no(1) || no(2) || (no(3) && or) {
        weight *= NEGATION;
    }
    if word.capitals && mixed {
        weight += with_sign_of(CAPITALS, weight);
    }
    for (distance, share) in (1..).zip(DISTANCE) {
        let Some(earlier) = before(distance).filter(|earlier| earlier.valence.is_none()) else {
            continue;
        };
        if let Some(degree) = degree(&earlier.lower) {
            let mut degree = with_sign_of(degree, weight);
            if earlier.capitals && mixed {
                degree += with_sign_of(CAPITALS, weight);
            }
            weight += degree * share;
        }
        weight = negated(weight, distance, &before);
        if distance == 3 {
            weight += of_two(&before);
        }
    }
    least(weight, &before)
}

/// Negates or strengthens a weight by the words that are `distance` before.
fn negated<'a>(
    weight: Decimal,
    distance: usize,
    before: &impl Fn(usize) -> Option<&'a Word>,
) -> Decimal {
    let is = |distance: usize, text: &str| before(distance).is_some_and(|word| word.is(text));
    let so = |distance: usize| is(distance, "so") || is(distance, "this");
    let negates = before(distance).is_some_and(|word| negates(&word.lower));
    let never_so = match distance {
        2 => is(2, "never") && so(1),
        3 => (is(3, "never") && so(2)) || so(1),
        _ => false,
    };
    let without_doubt = match distance {
        2 => is(2, "without") && is(1, "doubt"),
        3 => is(3, "without") && (is(2, "doubt") || is(1, "doubt")),
        _ => false,
    };
    if never_so {
        weight * NEVER_SO
    } else if negates && !without_doubt {
        weight * NEGATION
    } else {
        weight
    }
}

/// Returns how much "kind of" and similar phrases before a word add to it.
fn of_two<'a>(before: &impl Fn(usize) -> Option<&'a Word>) -> Decimal {
    let pair = |far: usize, near: usize| degree_of_two(&before(far)?.lower, &before(near)?.lower);
    [pair(3, 2), pair(2, 1)].into_iter().flatten().sum()
}

/// Negates a weight after "least", but not after "at least" and "very least".
fn least<'a>(weight: Decimal, before: &impl Fn(usize) -> Option<&'a Word>) -> Decimal {
    let least = before(1).is_some_and(|word| word.is("least") && word.valence.is_none());
    let spared = before(2).is_some_and(|word| word.is("at") || word.is("very"));
    if least && !spared {
        weight * NEGATION
    } else {
        weight
    }
}

/// Strengthens a tone by exclamation and question marks. Without a tone they change nothing.
fn emphasised(sum: Decimal, text: &str) -> Decimal {
    let count = |mark: char| text.chars().filter(|c| *c == mark).count();
    let exclamation = EXCLAMATION * Decimal::from(count('!').min(4));
    let question = match count('?') {
        0 | 1 => Decimal::ZERO,
        few @ 2..=3 => QUESTION * Decimal::from(few),
        _ => MANY_QUESTIONS,
    };
    if sum.is_zero() {
        sum
    } else {
        sum + with_sign_of(exclamation + question, sum)
    }
}

/// Computes `x / sqrt(x² + 15)`.
fn normal(sum: Decimal) -> Decimal {
    let root = (sum * sum + ALPHA).sqrt();
    root.and_then(|root| sum.checked_div(root))
        .unwrap_or(Decimal::ZERO)
}

fn with_sign_of(value: Decimal, sign: Decimal) -> Decimal {
    if sign.is_sign_negative() && !sign.is_zero() {
        -value
    } else {
        value
    }
}

/// Whether a character is an emoji, or joins or varies emoji.
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

    /// The expected values come from the reference implementation, vaderSentiment 3.3.2.
    #[test]
    fn other_words_are_scored_as_the_reference_does() {
        for (title, expected) in [
            ("VADER is smart, handsome, and funny.", "0.8316"),
            ("VADER is smart, handsome, and funny!", "0.8439"),
            ("VADER is very smart, handsome, and funny.", "0.8545"),
            ("VADER is VERY SMART, handsome, and FUNNY.", "0.9227"),
            ("VADER is VERY SMART, handsome, and FUNNY!!!", "0.9342"),
            (
                "VADER is VERY SMART, uber handsome, and FRIGGIN FUNNY!!!",
                "0.9469",
            ),
            ("VADER is not smart, handsome, nor funny.", "-0.7424"),
            ("The book was good.", "0.4404"),
            ("At least it isn't a horrible book.", "0.431"),
            ("The book was only kind of good.", "0.3832"),
            (
                "The plot was good, but the characters are uncompelling and the dialog is not great.",
                "-0.7042",
            ),
            ("Today SUX!", "-0.5461"),
            ("Today only kinda sux! But I'll get by, lol", "0.5249"),
            ("Make sure you :) or :D today!", "0.8633"),
            ("Not bad at all", "0.431"),
            ("", "0"),
            ("Nothing to see here?!", "0"),
        ] {
            assert_eq!(of(title), expected, "{title}");
        }
    }

    /// The crate whose lexicon is used has other rules, so they are implemented here. If one of
    /// these assertions fails, the crate has changed, and this module may no longer be needed.
    #[test]
    fn the_rules_of_the_crate_are_not_those_of_the_reference() {
        let of_the_crate = |text: &str| {
            let analyzer = vader_sentimental::SentimentIntensityAnalyzer::new();
            format!("{:.4}", analyzer.polarity_scores(text).compound)
        };
        for (text, reference, of_crate) in [
            // The crate gives a tone to punctuation without a word of tone.
            ("Nothing to see here?!", "0", "-0.1210"),
            // In the crate, "at least" negates as "least" does.
            ("This is at least good news", "0.4404", "-0.3412"),
            // In the crate, "no" does not negate.
            ("It has no good effect", "-0.3412", "0.1779"),
            // In the crate, a degree word three words before a word counts twice.
            (
                "VADER is very smart, handsome, and funny.",
                "0.8545",
                "0.8737",
            ),
        ] {
            assert_eq!(of(text), reference, "{text}");
            assert_eq!(of_the_crate(text), of_crate, "{text}");
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
        assert!(compound("very bullish") > plain && compound("slightly bullish") < plain);
        assert!(compound("not bullish") < Decimal::ZERO);
        assert!(compound("ETF outflows and no rally") < Decimal::ZERO);
        assert_eq!(compound("rug-pulled"), compound("rug"));
        assert!(compound("depegs!!!!") < compound("depegs"));
        assert!(compound("never so bullish") > plain);
    }

    proptest! {
        #[test]
        fn every_text_has_a_compound(text in any::<String>()) {
            let compound = compound(&text);
            prop_assert!(compound.abs() <= Decimal::ONE);
        }
    }
}
