//! The weight of a story: publisher, importance, corroboration and age. Each is a factor between 0
//! and 1.

use jiff::Timestamp;
use rust_decimal::{Decimal, MathematicalOps};

use super::{
    article::{Article, Importance},
    dedupe::Story,
};

/// After how many hours a story has 1/e of its first weight.
pub const DECAY_HOURS: i64 = 12;
/// How old a story without a credible time counts. So it is ranked down, and never up.
pub const UNDATED_HOURS: i64 = 48;

/// At which remainder the series of `exp` stops.
const TOLERANCE: Decimal = Decimal::from_parts(1, 0, 0, false, 15);

/// Computes `exp(-age / 12 h)`, exact to twelve digits. Without any age it is 1.
#[must_use]
pub fn decay(age_seconds: i64) -> Decimal {
    let age = Decimal::from(age_seconds.clamp(0, 30 * 24 * 3600));
    let folds = age.checked_div(Decimal::from(DECAY_HOURS * 3600));
    folds
        .and_then(|folds| (-folds).checked_exp_with_tolerance(TOLERANCE))
        .unwrap_or(Decimal::ZERO)
        .round_dp(12)
}

/// Returns the weight of `story` at `now`, from 0 to 1.
pub(super) fn score(story: &Story, now: Timestamp) -> Decimal {
    let weight = story.reports().map(weight).max().unwrap_or(0);
    let age = story
        .first
        .published_at
        .map_or(UNDATED_HOURS * 3600, |time| {
            now.duration_since(time).as_secs()
        });
    let factors = [
        importance_factor(stated_importance(story)),
        corroboration_factor(story.publishers().len()),
        decay(age),
    ];
    // Every factor is at most 1 and has at most twelve digits, so nothing overflows.
    let weight = Decimal::new(i64::from(weight), 2);
    factors.into_iter().fold(weight, |product, factor| {
        product.checked_mul(factor).unwrap_or(Decimal::ZERO)
    })
}

/// Returns the highest importance that a source states for a story.
pub(super) fn stated_importance(story: &Story) -> Option<Importance> {
    story.reports().filter_map(|report| report.importance).max()
}

/// Returns the importance that is published: that of the sources, otherwise one that is derived
/// from the number of publishers.
pub(super) fn importance(story: &Story) -> Importance {
    stated_importance(story).unwrap_or_else(|| match story.publishers().len() {
        0 | 1 => Importance::Low,
        2 => Importance::Medium,
        _ => Importance::High,
    })
}

fn weight(article: &Article) -> u8 {
    article
        .weight
        .unwrap_or_else(|| article.publisher.weight())
        .min(100)
}

fn importance_factor(importance: Option<Importance>) -> Decimal {
    match importance {
        Some(Importance::High) => Decimal::ONE,
        Some(Importance::Medium) => Decimal::new(7, 1),
        // A source that does not rate a story says less than one that rates it as unimportant.
        None => Decimal::new(5, 1),
        Some(Importance::Low) => Decimal::new(4, 1),
    }
}

fn corroboration_factor(publishers: usize) -> Decimal {
    match publishers {
        0 | 1 => Decimal::new(6, 1),
        2 => Decimal::new(8, 1),
        3 => Decimal::new(9, 1),
        _ => Decimal::ONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decay_is_the_exponential() {
        // The expected values are e^-x to twelve digits.
        for (seconds, expected) in [
            (0, "1"),
            (-5, "1"),
            (1, "0.99997685212"),
            (12 * 3600, "0.367879441171"),
            (6 * 3600, "0.606530659713"),
            (24 * 3600, "0.135335283237"),
            (72 * 3600, "0.002478752177"),
            (i64::MAX, "0"),
        ] {
            assert_eq!(
                decay(seconds).normalize().to_string(),
                expected,
                "{seconds}"
            );
        }
    }

    #[test]
    fn older_never_weighs_more() {
        let mut last = Decimal::TWO;
        for hour in 0..=100 {
            let now = decay(hour * 3600);
            assert!(now < last || now.is_zero(), "{hour}");
            last = now;
        }
    }
}
