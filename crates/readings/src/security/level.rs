//! The severity of a risk.

use rust_decimal::Decimal;
use serde::Serialize;

/// The severity of a risk, the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RiskLevel {
    /// No decision should depend on it.
    Low,
    /// Harm is possible later: the supply can grow, or there is an owner or a block list.
    Medium,
    /// Harm is likely, or prepared.
    High,
    /// Money that goes in does not come out.
    Critical,
}

impl RiskLevel {
    /// Every level, mildest first.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Critical];

    /// Returns the level that a scanner's word means. A missing or unknown word is
    /// [`RiskLevel::High`], because its meaning is unknown.
    #[must_use]
    pub fn stated(word: Option<&str>) -> Self {
        let word = word.map(|word| word.trim().to_ascii_uppercase());
        match word.as_deref() {
            Some("LOW") => Self::Low,
            Some("MEDIUM") => Self::Medium,
            Some("CRITICAL") => Self::Critical,
            _ => Self::High,
        }
    }

    /// The points that a risk of this level subtracts from the score.
    #[must_use]
    pub const fn penalty(self) -> u32 {
        match self {
            Self::Low => 2,
            Self::Medium => 10,
            Self::High => 40,
            Self::Critical => 100,
        }
    }

    /// The highest score at this level.
    #[must_use]
    pub const fn ceiling(self) -> u32 {
        match self {
            Self::Low => 100,
            Self::Medium => 85,
            Self::High => 35,
            Self::Critical => 5,
        }
    }
}

/// Returns the level of a tax in percent: `None` at zero, [`RiskLevel::Medium`] below 10,
/// [`RiskLevel::High`] below 50, and [`RiskLevel::Critical`] from there on.
#[must_use]
pub fn tax_level(pct: Decimal) -> Option<RiskLevel> {
    if pct <= Decimal::ZERO {
        None
    } else if pct < Decimal::TEN {
        Some(RiskLevel::Medium)
    } else if pct < Decimal::from(50) {
        Some(RiskLevel::High)
    } else {
        Some(RiskLevel::Critical)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_cannot_be_read_is_high() {
        for (word, level) in [
            (Some("LOW"), RiskLevel::Low),
            (Some(" medium "), RiskLevel::Medium),
            (Some("CRITICAL"), RiskLevel::Critical),
            (Some("HIGH"), RiskLevel::High),
            (Some("SAFE"), RiskLevel::High),
            (Some(""), RiskLevel::High),
            (Some("0"), RiskLevel::High),
            (None, RiskLevel::High),
        ] {
            assert_eq!(RiskLevel::stated(word), level, "{word:?}");
        }
    }

    #[test]
    fn taxes_rise_in_steps() {
        let of = |text: &str| tax_level(text.parse().unwrap());
        assert_eq!(of("0"), None);
        assert_eq!(of("0.01"), Some(RiskLevel::Medium));
        assert_eq!(of("9.99"), Some(RiskLevel::Medium));
        assert_eq!(of("10"), Some(RiskLevel::High));
        assert_eq!(of("50"), Some(RiskLevel::Critical));
    }
}
