//! Finds one price from several sources, of which a second one confirms the first.
//!
//! A price is confirmed, disputed, contradicted or from a single source. An old, uncertain or thin
//! price confirms nothing, and counts only when there is no other. The quotes come from the caller,
//! in the order of its preference. This module asks no source.

use jiff::Timestamp;
use serde::Serialize;

use crate::{Decimal, Figure, median};

/// By how many percent of the lower price two sources may differ and still confirm each other.
pub const TOLERANCE_PCT: Decimal = Decimal::TWO;
/// When sources differ by more than this, in percent of the lower price, they contradict each
/// other. Then there is no price, unless most of them agree.
pub const CONTRADICTION_PCT: Decimal = Decimal::from_parts(5, 0, 0, false, 0);
/// An older price confirms nothing about the present.
pub const MAX_AGE_SECONDS: i64 = 600;
/// The bounds of a shown price.
const BOUNDS: Bounds = Bounds {
    max_age_seconds: MAX_AGE_SECONDS,
    least_certainty: Decimal::from_parts(8, 0, 0, false, 1),
    // When pools have fewer dollars, anybody can move their price.
    least_liquidity_usd: Decimal::ONE_THOUSAND,
    needs_support: false,
};
/// The digits of a price that is computed from two others.
const DERIVED_DIGITS: u32 = 15;

/// A source's price of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quote {
    /// The source.
    pub source: &'static str,
    /// The dollars for one whole token, above zero.
    pub price_usd: Figure,
    /// When the source observed it. `None` when it states no time, and then it confirms nothing.
    /// For a pool, the earliest possible time of the last trade.
    #[serde(
        serialize_with = "super::written",
        skip_serializing_if = "Option::is_none"
    )]
    pub as_of: Option<Timestamp>,
    /// The dollars in the pools that give the price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liquidity_usd: Option<Figure>,
    /// How certain the source itself is, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certainty_ratio: Option<Figure>,
}

/// Why a single price is weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weakness {
    /// The price was observed too long ago.
    Old,
    /// Its time is unknown.
    Untimed,
    /// The source itself is uncertain.
    Unsure,
    /// Hardly any liquidity supports the price.
    Thin,
    /// No source lists the price. It is the result of a small trade.
    Traded,
}

/// How far a price was confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// At least two sources have a price, and all of them agree within [`TOLERANCE_PCT`].
    Confirmed,
    /// Sources differ by more. If most of them agree, their price counts, otherwise the median.
    Disputed,
    /// Sources differ by more than [`CONTRADICTION_PCT`], and most do not agree. There is no price.
    Contradicted,
    /// Only one source has a price that counts.
    SingleSource,
}

/// The price that several sources have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consensus {
    /// The dollars for one whole token. `None` when the sources contradict each other.
    pub price_usd: Option<Figure>,
    /// The source of that price. `None` for a median, and when there is no price.
    pub source: Option<&'static str>,
    /// How far it was confirmed.
    pub confidence: Confidence,
    /// The quotes that count, with the preferred one first.
    pub used: Vec<Quote>,
    /// The difference between the highest and the lowest, in percent of the lowest. `None` for one
    /// quote.
    pub spread_pct: Option<Figure>,
    /// Why the only price is weak.
    pub weakness: Option<Weakness>,
}

impl Consensus {
    /// Makes the price from a small trade, when no source lists one.
    #[must_use]
    pub fn traded(quote: Quote) -> Self {
        Self {
            price_usd: Some(quote.price_usd),
            source: Some(quote.source),
            confidence: Confidence::SingleSource,
            used: vec![quote],
            spread_pct: None,
            weakness: Some(Weakness::Traded),
        }
    }
}

/// What a quote must have to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The greatest age, in seconds.
    pub max_age_seconds: i64,
    /// The least certainty of the source itself, from 0 to 1.
    pub least_certainty: Decimal,
    /// The fewest dollars in the pools.
    pub least_liquidity_usd: Decimal,
    /// Whether the source must state a certainty or a liquidity. Without one, nothing supports the
    /// price: a missing certainty is no certainty.
    pub needs_support: bool,
}

impl Quote {
    /// Returns why the quote confirms nothing at `now`. `None` when it can confirm.
    #[must_use]
    pub fn weakness(&self, now: Timestamp) -> Option<Weakness> {
        self.weakness_within(&BOUNDS, now)
    }

    /// Returns why the quote does not count at `now` within these bounds. `None` when it counts.
    #[must_use]
    pub fn weakness_within(&self, bounds: &Bounds, now: Timestamp) -> Option<Weakness> {
        let age = |as_of: Timestamp| now.duration_since(as_of).as_secs();
        match self.as_of {
            None => return Some(Weakness::Untimed),
            Some(as_of) if age(as_of) > bounds.max_age_seconds => return Some(Weakness::Old),
            Some(_) => {}
        }
        let unsure = |ratio: Figure| ratio.get() < bounds.least_certainty;
        let is_supported = self.certainty_ratio.is_some() || self.liquidity_usd.is_some();
        if self.certainty_ratio.is_some_and(unsure) || (bounds.needs_support && !is_supported) {
            return Some(Weakness::Unsure);
        }
        self.liquidity_usd
            .is_some_and(|usd| usd.get() < bounds.least_liquidity_usd)
            .then_some(Weakness::Thin)
    }
}

/// Finds the common price of `quotes`, which have the preferred source first. `None` without a
/// quote.
///
/// When all or most of the sources agree, the preferred one's own digits are the price. Weak quotes
/// count only when there is no other.
#[must_use]
pub fn agree(quotes: &[Quote], now: Timestamp) -> Option<Consensus> {
    let strong: Vec<Quote> = quotes
        .iter()
        .filter(|quote| quote.weakness(now).is_none())
        .cloned()
        .collect();
    let used = if strong.is_empty() {
        quotes.get(..1)?.to_vec()
    } else {
        strong
    };
    let preferred = used.first()?;
    let source = Some(preferred.source);
    if used.len() == 1 {
        return Some(Consensus {
            price_usd: Some(preferred.price_usd),
            source,
            confidence: Confidence::SingleSource,
            spread_pct: None,
            weakness: preferred.weakness(now),
            used,
        });
    }
    let prices: Vec<Decimal> = used.iter().map(|quote| quote.price_usd.get()).collect();
    let spread = spread_pct(&prices)?;
    let (price_usd, source, confidence) = if spread <= TOLERANCE_PCT {
        (Some(preferred.price_usd), source, Confidence::Confirmed)
    } else if let Some(of_most) = of_most(&used) {
        let source = Some(of_most.source);
        (Some(of_most.price_usd), source, Confidence::Disputed)
    } else if spread <= CONTRADICTION_PCT {
        let median = Figure(median(&prices)?.round_sf(DERIVED_DIGITS)?);
        (Some(median), None, Confidence::Disputed)
    } else {
        (None, None, Confidence::Contradicted)
    };
    Some(Consensus {
        price_usd,
        source,
        confidence,
        spread_pct: Some(Figure(spread.round_dp(4))),
        weakness: None,
        used,
    })
}

/// Returns the preferred quote, if more than half of all quotes agree with each other.
fn of_most(quotes: &[Quote]) -> Option<&Quote> {
    let agreeing = |quote: &&Quote| {
        let close = |other: &&Quote| {
            let pair = [quote.price_usd.get(), other.price_usd.get()];
            spread_pct(&pair).is_some_and(|spread| spread <= TOLERANCE_PCT)
        };
        quotes.iter().filter(close).count().saturating_mul(2) > quotes.len()
    };
    quotes.iter().find(agreeing)
}

/// Returns the difference between the highest and the lowest, in percent of the lowest. An overflow
/// counts as the greatest difference.
pub(crate) fn spread_pct(prices: &[Decimal]) -> Option<Decimal> {
    let (low, high) = (prices.iter().min()?, prices.iter().max()?);
    Some(crate::percent_change(*low, *high).unwrap_or(Decimal::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_795_222_920;

    fn now() -> Timestamp {
        Timestamp::from_second(NOW).unwrap()
    }

    fn figure(text: &str) -> Figure {
        text.parse().unwrap()
    }

    fn quote(source: &'static str, price: &str) -> Quote {
        Quote {
            source,
            price_usd: figure(price),
            as_of: Some(now()),
            liquidity_usd: None,
            certainty_ratio: None,
        }
    }

    fn price(consensus: &Consensus) -> String {
        consensus
            .price_usd
            .map_or("none".to_owned(), |price| price.to_string())
    }

    #[test]
    fn sources_that_agree_confirm_the_preferred_one() {
        let agreed = agree(&[quote("a", "118.42"), quote("b", "118.41")], now()).unwrap();
        assert_eq!(
            (price(&agreed).as_str(), agreed.source),
            ("118.42", Some("a"))
        );
        assert_eq!(agreed.confidence, Confidence::Confirmed);
        assert_eq!(agreed.spread_pct.unwrap().to_string(), "0.0084");
        // A difference of exactly two percent still counts as agreement.
        let edge = agree(&[quote("a", "102"), quote("b", "100")], now()).unwrap();
        assert_eq!(edge.confidence, Confidence::Confirmed);
    }

    #[test]
    fn sources_that_differ_give_their_median() {
        let two = agree(&[quote("a", "103"), quote("b", "100")], now()).unwrap();
        assert_eq!((price(&two).as_str(), two.source), ("101.5", None));
        assert_eq!(two.confidence, Confidence::Disputed);
        assert_eq!(two.spread_pct.unwrap().to_string(), "3");
        let three = agree(
            &[quote("a", "1"), quote("b", "100"), quote("c", "101")],
            now(),
        )
        .unwrap();
        // Two of three agree, so the third does not change the price.
        assert_eq!(
            (price(&three).as_str(), three.source, three.confidence),
            ("100", Some("b"), Confidence::Disputed)
        );
    }

    #[test]
    fn sources_that_contradict_each_other_give_no_price() {
        let prices = |prices: &[&str]| {
            let quotes: Vec<_> = prices.iter().map(|price| quote("a", price)).collect();
            agree(&quotes, now()).unwrap()
        };
        let two = prices(&["1", "100"]);
        assert_eq!(
            (two.price_usd, two.source, two.confidence),
            (None, None, Confidence::Contradicted)
        );
        // Both are shown, with their difference.
        assert_eq!(two.used.len(), 2);
        assert_eq!(two.spread_pct.unwrap().to_string(), "9900");
        assert_eq!(price(&prices(&["100", "105"])), "102.5");
        assert_eq!(price(&prices(&["100", "105.01"])), "none");
        // Three quotes that all differ are no better than two.
        assert_eq!(price(&prices(&["1", "50", "100"])), "none");
        assert_eq!(price(&prices(&["1", "50", "50.5"])), "50");
    }

    #[test]
    fn one_source_confirms_nothing_and_no_source_gives_no_price() {
        let alone = agree(&[quote("a", "5")], now()).unwrap();
        assert_eq!(
            (alone.confidence, alone.weakness),
            (Confidence::SingleSource, None)
        );
        assert_eq!(alone.spread_pct, None);
        assert_eq!(agree(&[], now()), None);
    }

    #[test]
    fn weak_quotes_neither_confirm_nor_dispute() {
        let old = Quote {
            as_of: Timestamp::from_second(NOW - 601).ok(),
            ..quote("b", "50")
        };
        let unsure = Quote {
            certainty_ratio: Some(figure("0.79")),
            ..quote("b", "50")
        };
        let thin = Quote {
            liquidity_usd: Some(figure("999.99")),
            ..quote("b", "50")
        };
        let untimed = Quote {
            as_of: None,
            ..quote("b", "50")
        };
        let weak = [
            (old, Weakness::Old),
            (untimed, Weakness::Untimed),
            (unsure, Weakness::Unsure),
            (thin, Weakness::Thin),
        ];
        for (weak, why) in weak {
            assert_eq!(weak.weakness(now()), Some(why));
            for order in [
                [weak.clone(), quote("a", "100")],
                [quote("a", "100"), weak.clone()],
            ] {
                let consensus = agree(&order, now()).unwrap();
                assert_eq!(consensus.confidence, Confidence::SingleSource, "{why:?}");
                assert_eq!(
                    (price(&consensus).as_str(), consensus.weakness),
                    ("100", None)
                );
            }
            let alone = agree(std::slice::from_ref(&weak), now()).unwrap();
            assert_eq!((price(&alone).as_str(), alone.weakness), ("50", Some(why)));
        }
    }

    #[test]
    fn prices_worlds_apart_do_not_overflow() {
        let huge = agree(
            &[
                quote("a", "79228162514264337593543950335"),
                quote("b", "1e-28"),
            ],
            now(),
        );
        assert_eq!(huge.unwrap().confidence, Confidence::Contradicted);
    }

    proptest! {
        #[test]
        fn the_price_lies_between_the_quotes(prices in prop::collection::vec(1u64..1_000_000_000, 1..4)) {
            let quotes: Vec<Quote> = prices
                .iter()
                .map(|price| quote("a", &format!("{}.{:03}", price / 1000, price % 1000)))
                .filter(|quote| !quote.price_usd.get().is_zero())
                .collect();
            prop_assume!(!quotes.is_empty());
            let consensus = agree(&quotes, now()).unwrap();
            let low = quotes.iter().map(|quote| quote.price_usd).min().unwrap();
            let high = quotes.iter().map(|quote| quote.price_usd).max().unwrap();
            match consensus.price_usd {
                Some(price) => prop_assert!(low <= price && price <= high),
                None => prop_assert_eq!(consensus.confidence, Confidence::Contradicted),
            }
            // When prices contradict each other, no price between them is invented.
            if consensus.source.is_none() && consensus.price_usd.is_some() {
                prop_assert!(consensus.spread_pct.unwrap().get() <= CONTRADICTION_PCT);
            }
        }
    }
}
