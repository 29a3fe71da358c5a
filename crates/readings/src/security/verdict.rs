//! The verdict over a contract.

use std::{cmp::Reverse, collections::BTreeMap};

use serde::Serialize;

use super::{Check, RiskLevel, Scan, scan::pct, tax_level};

/// How many points each severe check that is not ruled out subtracts from the highest score.
pub const SEVERE_STEP: u32 = 8;

/// The verdict about a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The token was checked, and no finding is against it.
    Safe,
    /// Harm is possible later.
    Caution,
    /// It is not ruled out that the token is a trap.
    Unknown,
    /// Do not buy it.
    Danger,
}

/// A risk that was found, by its name in `flags`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sign {
    /// How severe it is.
    pub level: RiskLevel,
    /// Its name.
    pub name: &'static str,
}

/// A verdict with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The score from 0 to 100, higher is better. None while the verdict is [`Verdict::Unknown`].
    pub score: Option<u32>,
    /// The highest level that was found. None while the verdict is [`Verdict::Unknown`].
    pub risk_level: Option<RiskLevel>,
    /// Every risk that was found, the worst first. Each occurs once.
    pub signs: Vec<Sign>,
    /// The severe checks that no finished scan made, the worst first.
    pub severe_unknown: Vec<Check>,
    /// The highest score that the severe checks allow.
    ceiling: u32,
}

impl Judgement {
    /// Judges what the scanners found about one token. The order of the scans does not matter.
    #[must_use]
    pub fn of(scans: &[Scan]) -> Self {
        let cleared = scans.iter().any(Scan::clears)
            && scans
                .iter()
                .all(|scan| scan.finding(Check::Honeypot) != Some(true));
        let severe = Severe::over(scans);
        let unknown = (!severe.unknown.is_empty()).then_some(Sign {
            level: RiskLevel::Medium,
            name: "severe_checks_unknown",
        });
        let signs = scans.iter().flat_map(signs).chain(unknown);
        Self::from_signs(signs, cleared, RiskLevel::Low, severe)
    }

    /// Adds further `signs` to this verdict. `cleared` says whether a honeypot is still ruled out.
    pub(super) fn and(&self, signs: impl IntoIterator<Item = Sign>, cleared: bool) -> Self {
        let all = self.signs.iter().copied().chain(signs);
        let cleared = cleared && self.verdict != Verdict::Unknown;
        let least = self.risk_level.unwrap_or(RiskLevel::Low);
        let severe = Severe {
            unknown: self.severe_unknown.clone(),
            ceiling: self.ceiling,
        };
        Self::from_signs(all, cleared, least, severe)
    }

    /// Makes the verdict from `signs`. `cleared` says whether a honeypot was ruled out. `least` is
    /// the lowest level that the verdict may show.
    fn from_signs(
        signs: impl IntoIterator<Item = Sign>,
        cleared: bool,
        least: RiskLevel,
        severe: Severe,
    ) -> Self {
        let mut worst: BTreeMap<&'static str, RiskLevel> = BTreeMap::new();
        for sign in signs {
            let level = worst.entry(sign.name).or_insert(sign.level);
            *level = sign.level.max(*level);
        }
        let mut signs: Vec<_> = worst
            .into_iter()
            .map(|(name, level)| Sign { level, name })
            .collect();
        signs.sort_unstable_by_key(|sign| (Reverse(sign.level), sign.name));
        let level = signs.first().map_or(least, |sign| sign.level.max(least));
        let verdict = match level {
            RiskLevel::High | RiskLevel::Critical => Verdict::Danger,
            _ if !cleared => Verdict::Unknown,
            RiskLevel::Medium => Verdict::Caution,
            RiskLevel::Low => Verdict::Safe,
        };
        let taken = signs
            .iter()
            .fold(0u32, |sum, sign| sum.saturating_add(sign.level.penalty()));
        let known = verdict != Verdict::Unknown;
        Self {
            verdict,
            score: known.then(|| {
                let left = 100u32.saturating_sub(taken);
                left.min(level.ceiling()).min(severe.ceiling)
            }),
            risk_level: known.then_some(level),
            signs,
            severe_unknown: severe.unknown,
            ceiling: severe.ceiling,
        }
    }

    /// Returns the names of the risks that were found, the worst first.
    #[must_use]
    pub fn flags(&self) -> Vec<&'static str> {
        self.signs.iter().map(|sign| sign.name).collect()
    }
}

/// How the severe checks affect a verdict.
#[derive(Clone, Debug)]
struct Severe {
    /// The severe checks that no finished scan made.
    unknown: Vec<Check>,
    /// The highest score that they allow.
    ceiling: u32,
}

impl Severe {
    fn over(scans: &[Scan]) -> Self {
        let found = |check| scans.iter().any(|scan| scan.finding(check) == Some(true));
        let finished = |scan: &&Scan| scan.complete;
        let looked = |check| {
            let mut finished = scans.iter().filter(finished);
            finished.any(|scan| scan.finding(check).is_some())
        };
        let mut unknown: Vec<_> = Check::SEVERE
            .into_iter()
            .filter(|check| !found(*check) && !looked(*check))
            .collect();
        unknown.sort_unstable();
        let open = Check::SEVERE
            .into_iter()
            .filter(|check| found(*check) || !looked(*check));
        let ceiling = open.fold(100u32, |left, _| left.saturating_sub(SEVERE_STEP));
        Self { unknown, ceiling }
    }
}

/// Returns the signs in what one scanner found.
fn signs(scan: &Scan) -> impl Iterator<Item = Sign> {
    let found = scan.findings.iter().filter(|(_, found)| **found);
    let checks = found.map(|(check, _)| Sign {
        level: check.severity(),
        name: check.name(),
    });
    let taxes = [
        ("buy_tax", scan.buy_tax_pct),
        ("sell_tax", scan.sell_tax_pct),
    ];
    let taxes = taxes.into_iter().filter_map(|(name, tax)| {
        let level = tax_level(pct(tax)?)?;
        Some(Sign { level, name })
    });
    let rating = scan.rating.and_then(|rating| {
        let name = match (rating.readable, rating.level) {
            (false, _) => "rating_unreadable",
            (true, RiskLevel::Low) => return None,
            (true, RiskLevel::Medium) => "rated_medium",
            (true, RiskLevel::High) => "rated_high",
            (true, RiskLevel::Critical) => "rated_critical",
        };
        Some(Sign {
            level: rating.level,
            name,
        })
    });
    checks.chain(taxes).chain(rating)
}

#[cfg(test)]
mod tests;
