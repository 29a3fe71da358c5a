//! The findings of one scanner about one token.

use std::collections::BTreeMap;

use alloy_primitives::Address;
use rust_decimal::Decimal;

use super::{Check, Holder, RiskLevel};
use crate::{Figure, token::market::TokenOrigin};

/// The findings of one scanner about one token. A fact that the scanner does not state is absent,
/// which means unknown and not `false`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Scan {
    /// The source, for example `okx.token-scan`.
    pub source: &'static str,
    /// Whether the scanner had finished.
    pub complete: bool,
    /// The scanner's own level, if it states one.
    pub rating: Option<Rating>,
    /// The checks that it made.
    pub findings: BTreeMap<Check, bool>,
    /// The tax on a purchase in percent, from 0 to 100.
    pub buy_tax_pct: Option<Figure>,
    /// The tax on a sale in percent, from 0 to 100.
    pub sell_tax_pct: Option<Figure>,
    /// The token's own texts.
    pub token: TokenText,
    /// The owner and the creator of the contract.
    pub ownership: Ownership,
    /// The markets of the token.
    pub liquidity: Liquidity,
    /// The number of holders.
    pub holder_count: Option<u64>,
    /// The largest holders, in any order.
    pub holders: Vec<Holder>,
    /// The creator's share of the supply in percent, from 0 to 100.
    pub creator_pct: Option<Figure>,
}

/// A level that a scanner states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rating {
    /// The level. [`RiskLevel::High`] when the word cannot be read.
    pub level: RiskLevel,
    /// Whether it was one of the scanner's words.
    pub readable: bool,
}

impl Rating {
    /// Reads the word of a scanner that states a level.
    #[must_use]
    pub fn read(word: Option<&str>) -> Self {
        let level = RiskLevel::stated(word);
        let high = word.is_some_and(|word| word.trim().eq_ignore_ascii_case("high"));
        Self {
            level,
            readable: level != RiskLevel::High || high,
        }
    }
}

/// The token's own texts. They are untrusted: they are shown and never interpreted.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TokenText {
    /// Its name.
    pub name: Option<String>,
    /// Its symbol.
    pub symbol: Option<String>,
    /// Its supply in whole tokens.
    pub total_supply: Option<Figure>,
}

/// The owner and the creator of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Ownership {
    /// The owner. The zero address when the ownership was renounced.
    pub owner: Option<Address>,
    /// The owner's share of the supply in percent, from 0 to 100.
    pub owner_pct: Option<Figure>,
    /// The creator of the contract.
    pub creator: Option<Address>,
}

/// The markets of the token.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Liquidity {
    /// Whether there is a pool at all.
    pub in_dex: Option<bool>,
    /// Its pools.
    pub pools: Vec<Pool>,
    /// The share of the liquidity that is locked or burned, in percent, from 0 to 100.
    pub lp_locked_pct: Option<Figure>,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The name of the exchange, cleaned.
    pub exchange: String,
    /// The pool.
    pub address: Address,
    /// Its liquidity in dollars.
    pub liquidity_usd: Option<Figure>,
}

impl Scan {
    /// Makes a scan of a market's warnings about a token's origin: the token is a honeypot, its
    /// creator emptied other pools, or the market rates it as a risk. Only findings against the
    /// token count, because a market that found nothing may not have looked. `None` when there are
    /// none.
    #[must_use]
    pub fn of_origin(source: &'static str, origin: &TokenOrigin) -> Option<Self> {
        let tagged = |tag: &str| {
            origin
                .tags
                .iter()
                .any(|told| told.eq_ignore_ascii_case(tag))
        };
        let found = [
            (Check::Honeypot, tagged("honeypot")),
            (
                Check::LinkedToRugPulls,
                origin.creator_rug_pulls.is_some_and(|count| count > 0),
            ),
        ];
        let level = match origin.risk_level {
            None | Some(0 | 1) => None,
            Some(2 | 3) => Some(RiskLevel::Medium),
            Some(4..) => Some(RiskLevel::High),
        };
        let scan = Self {
            source,
            rating: level.map(|level| Rating {
                level,
                readable: true,
            }),
            findings: found.into_iter().filter(|(_, found)| *found).collect(),
            ..Self::default()
        };
        (!scan.is_empty()).then_some(scan)
    }

    /// The result of one check.
    #[must_use]
    pub fn finding(&self, check: Check) -> Option<bool> {
        self.findings.get(&check).copied()
    }

    /// Whether the scan rules out a honeypot. It must be complete, must have looked for one and
    /// found none. It must also rate the token as a whole, or have seen the source code and the tax
    /// on a sale.
    #[must_use]
    pub fn clears(&self) -> bool {
        let saw_enough = self.rating.is_some_and(|rating| rating.readable)
            || (self.finding(Check::NotOpenSource).is_some() && self.sell_tax_pct.is_some());
        self.complete && self.finding(Check::Honeypot) == Some(false) && saw_enough
    }

    /// Whether the scan has no finding about the contract. An empty owner is not a finding, because
    /// a scanner without data also writes one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let mut findings = self.findings.keys();
        findings.all(|check| *check == Check::NotRenounced)
            && self.rating.is_none_or(|rating| !rating.readable)
    }
}

/// Returns a tax in percent. `None` for an impossible one.
pub(crate) fn pct(figure: Option<Figure>) -> Option<Decimal> {
    let pct = figure?.get();
    (Decimal::ZERO..=Decimal::ONE_HUNDRED)
        .contains(&pct)
        .then_some(pct)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(rating: Option<&str>) -> Scan {
        Scan {
            source: "okx.token-scan",
            complete: true,
            rating: Some(Rating::read(rating)),
            findings: BTreeMap::from([(Check::Honeypot, false)]),
            ..Scan::default()
        }
    }

    #[test]
    fn only_a_complete_scan_that_looked_clears_a_token() {
        assert!(scan(Some("LOW")).clears());
        assert!(!scan(None).clears(), "an unreadable rating is no rating");
        let partial = Scan {
            complete: false,
            ..scan(Some("LOW"))
        };
        assert!(!partial.clears());
        let silent = Scan {
            findings: BTreeMap::new(),
            ..scan(Some("LOW"))
        };
        assert!(!silent.clears());
        let mut unrated = Scan {
            rating: None,
            ..scan(None)
        };
        assert!(!unrated.clears());
        unrated.findings.insert(Check::NotOpenSource, false);
        assert!(!unrated.clears());
        unrated.sell_tax_pct = Some(Figure::default());
        assert!(unrated.clears());
    }

    #[test]
    fn an_origin_can_only_count_against_a_token() {
        let origin = |risk_level, creator_rug_pulls, tags: &[&str]| {
            let origin = TokenOrigin {
                risk_level,
                creator_rug_pulls,
                tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
                ..TokenOrigin::default()
            };
            Scan::of_origin("okx.advanced-info", &origin)
        };
        assert_eq!(origin(None, None, &[]), None);
        assert_eq!(origin(Some(1), Some(0), &["communityRecognized"]), None);
        let level = |level| {
            origin(Some(level), None, &[])
                .unwrap()
                .rating
                .unwrap()
                .level
        };
        assert_eq!([2, 3].map(level), [RiskLevel::Medium; 2]);
        assert_eq!([4, 5, 9].map(level), [RiskLevel::High; 3]);
        let rugged = origin(Some(1), Some(2), &["Honeypot"]).unwrap();
        assert_eq!(
            rugged.findings,
            BTreeMap::from([(Check::Honeypot, true), (Check::LinkedToRugPulls, true)])
        );
        assert!(rugged.rating.is_none() && !rugged.clears());
        // Together with a scan without findings, it decides the verdict. Alone it never clears a
        // token.
        let verdict = |scans: &[Scan]| crate::security::Judgement::of(scans).verdict;
        let clean = scan(Some("LOW"));
        assert_eq!(
            verdict(&[clean.clone(), rugged]),
            crate::security::Verdict::Danger
        );
        let doubtful = origin(Some(2), None, &[]).unwrap();
        assert_eq!(
            verdict(&[clean, doubtful.clone()]),
            crate::security::Verdict::Caution
        );
        assert_eq!(verdict(&[doubtful]), crate::security::Verdict::Unknown);
    }

    #[test]
    fn a_scan_without_checks_and_level_is_empty() {
        assert!(Scan::default().is_empty());
        let unreadable = Scan {
            rating: Some(Rating::read(None)),
            ..Scan::default()
        };
        assert!(unreadable.is_empty());
        assert!(!scan(None).is_empty());
        let ownerless = Scan {
            findings: [(Check::NotRenounced, false)].into(),
            ..Scan::default()
        };
        assert!(ownerless.is_empty());
        let rated = Scan {
            rating: Some(Rating::read(Some("HIGH"))),
            ..Scan::default()
        };
        assert!(!rated.is_empty());
    }
}
