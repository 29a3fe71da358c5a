//! Grades the risk of a yield by points. Every rule is published, so a reader can add up the points
//! again.

use rust_decimal::Decimal;
use serde::Serialize;

use super::{folded, market::Market};
use crate::share_pct;

/// A grade of risk by figures. No grade is a promise: a contract with good figures can still fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Grade {
    /// It has at most one point.
    A,
    /// It has two or three points.
    B,
    /// It has four or five points.
    C,
    /// It has six points or more.
    D,
}

/// The most risk that a caller accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Appetite {
    /// Accepts the grades A and B, without impermanent loss.
    Low,
    /// Accepts the grades A to C.
    Medium,
    /// Accepts every grade.
    High,
}

/// The facts from which a grade is computed. An unknown fact is `None`, and counts against the
/// market.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The protocol.
    pub project: &'a str,
    /// The value locked in it, in dollars.
    pub tvl_usd: Decimal,
    /// The yield that counts, in percent a year.
    pub apy_pct: Decimal,
    /// The part of the yield that is a reward, in percent a year.
    pub reward_pct: Option<Decimal>,
    /// Whether there is a reward that does not count.
    pub left_out: bool,
    /// Whether it loses value when the prices of its assets diverge.
    pub il_risk: Option<bool>,
    /// The number of daily observations.
    pub days: Option<u32>,
    /// The mean yield over 30 days, in percent.
    pub mean_30d_pct: Option<Decimal>,
}

/// A rule: its points, and what `why` says when it applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The points against the pool.
    pub points: u8,
    /// The words in `why` when it applies.
    pub says: &'static str,
}

const fn rule(points: u8, says: &'static str) -> Rule {
    Rule { points, says }
}

const DEEP: Rule = rule(0, "deep liquidity: 100 million dollars or more");
const MEDIUM: Rule = rule(1, "liquidity of 10 to 100 million dollars");
const THIN: Rule = rule(2, "thin liquidity: less than 10 million dollars");
const BASE_ONLY: Rule = rule(0, "base yield only");
const SOME_REWARD: Rule = rule(1, "less than half of the yield is a reward");
const MOSTLY_REWARD: Rule = rule(2, "half of the yield or more is a reward");
const SPLIT_UNKNOWN: Rule = rule(1, "split of base and reward not stated");
const LEFT_OUT: Rule = rule(
    0,
    "a reward is left out: its token is not on the list of liquid ones",
);
const LOSS: Rule = rule(2, "impermanent loss possible");
const LOSS_UNKNOWN: Rule = rule(1, "risk of impermanent loss not stated");
const HIGH: Rule = rule(1, "yield above 15 %");
const VERY_HIGH: Rule = rule(2, "yield above 30 %");
const EXTREME: Rule = rule(4, "yield above 100 %");
const YOUNG: Rule = rule(1, "less than 90 days of history");
const NO_HISTORY: Rule = rule(1, "length of history not known");
const SPIKE: Rule = rule(2, "yield more than twice its 30-day mean");
const NO_MEAN: Rule = rule(1, "30-day mean not known");
const NEW_PROTOCOL: Rule = rule(2, "protocol not on the list of long-established ones");

/// Every rule. `/yield-alpha` publishes them in this form.
pub const RULES: [Rule; 18] = [
    DEEP,
    MEDIUM,
    THIN,
    BASE_ONLY,
    SOME_REWARD,
    MOSTLY_REWARD,
    SPLIT_UNKNOWN,
    LEFT_OUT,
    LOSS,
    LOSS_UNKNOWN,
    HIGH,
    VERY_HIGH,
    EXTREME,
    YOUNG,
    NO_HISTORY,
    SPIKE,
    NO_MEAN,
    NEW_PROTOCOL,
];

/// Protocols that have held hundreds of millions for years, by folded name.
pub const ESTABLISHED: [&str; 22] = [
    "aavev2",
    "aavev3",
    "balancerv2",
    "benqilending",
    "compoundv2",
    "compoundv3",
    "convexfinance",
    "curvedex",
    "fluidlending",
    "lido",
    "makerdao",
    "moonwelllending",
    "morphoblue",
    "morphov1",
    "pancakeswapammv3",
    "rocketpool",
    "skylending",
    "sparklend",
    "uniswapv2",
    "uniswapv3",
    "venuscorepool",
    "yearnfinance",
];

impl Appetite {
    /// Whether `market` is acceptable. A low appetite accepts no market with a possible or unknown
    /// impermanent loss.
    #[must_use]
    pub fn takes(self, market: &Market) -> bool {
        self.takes_grade(market.risk_grade)
            && (self != Self::Low || market.without_impermanent_loss())
    }

    /// Whether `grade` is acceptable.
    #[must_use]
    pub fn takes_grade(self, grade: Grade) -> bool {
        let worst = match self {
            Self::Low => Grade::B,
            Self::Medium => Grade::C,
            Self::High => Grade::D,
        };
        grade <= worst
    }
}

impl Grade {
    /// Returns the grade for this many points.
    #[must_use]
    pub fn of_points(points: u8) -> Self {
        match points {
            0..=1 => Self::A,
            2..=3 => Self::B,
            4..=5 => Self::C,
            _ => Self::D,
        }
    }

    /// Returns the weight of a yield in a ranking, in percent. A risky yield must be much higher to
    /// come first.
    #[must_use]
    pub fn weight_pct(self) -> u8 {
        match self {
            Self::A => 100,
            Self::B => 80,
            Self::C => 50,
            Self::D => 20,
        }
    }
}

/// Returns the grade, and the rules that apply, the heaviest first.
#[must_use]
pub fn grade(facts: &Facts<'_>) -> (Grade, Vec<Rule>) {
    let mut why: Vec<Rule> = [
        Some(liquidity(facts.tvl_usd)),
        Some(reward(facts)),
        facts.left_out.then_some(LEFT_OUT),
        match facts.il_risk {
            Some(false) => None,
            Some(true) => Some(LOSS),
            None => Some(LOSS_UNKNOWN),
        },
        height(facts.apy_pct),
        match facts.days {
            None => Some(NO_HISTORY),
            Some(days) if days < 90 => Some(YOUNG),
            Some(_) => None,
        },
        steadiness(facts),
        (!ESTABLISHED.contains(&folded(facts.project).as_str())).then_some(NEW_PROTOCOL),
    ]
    .into_iter()
    .flatten()
    .collect();
    let points = why
        .iter()
        .fold(0_u8, |sum, rule| sum.saturating_add(rule.points));
    why.sort_by_key(|rule| std::cmp::Reverse(rule.points));
    (Grade::of_points(points), why)
}

fn liquidity(tvl_usd: Decimal) -> Rule {
    if tvl_usd >= Decimal::from(100_000_000) {
        DEEP
    } else if tvl_usd >= Decimal::from(10_000_000) {
        MEDIUM
    } else {
        THIN
    }
}

fn reward(facts: &Facts<'_>) -> Rule {
    let Some(reward_pct) = facts.reward_pct else {
        return SPLIT_UNKNOWN;
    };
    if reward_pct.is_zero() {
        return BASE_ONLY;
    }
    let half = Decimal::from(50);
    match share_pct(reward_pct, facts.apy_pct) {
        Some(share) if share < half => SOME_REWARD,
        _ => MOSTLY_REWARD,
    }
}

fn height(apy_pct: Decimal) -> Option<Rule> {
    let above = |limit: i64| apy_pct > Decimal::from(limit);
    if above(100) {
        Some(EXTREME)
    } else if above(30) {
        Some(VERY_HIGH)
    } else {
        above(15).then_some(HIGH)
    }
}

fn steadiness(facts: &Facts<'_>) -> Option<Rule> {
    let Some(mean) = facts.mean_30d_pct else {
        return Some(NO_MEAN);
    };
    let twice = mean.checked_mul(Decimal::TWO)?;
    (facts.apy_pct > twice).then_some(SPIKE)
}

#[cfg(test)]
mod tests;
