//! The decision of a check, from its inputs only. Anyone who has the inputs can make the decision
//! again.

use jiff::{SignedDuration, Timestamp};
use readings::defi::{grade::Appetite, market::Market};
use readings::{Decimal, Figure};
use rust_decimal::prelude::ToPrimitive as _;
use serde::{Deserialize, Serialize};

use crate::{MoveKey, Pool, Position, Proposal, Rules};

/// The seconds of a year of 365 days.
const YEAR_SECONDS: u64 = 31_536_000;
/// How many basis points one percent has.
const BPS_OF_PERCENT: i64 = 100;

/// The snapshot that a check read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Its id, as in the answers that contain the snapshot.
    pub id: String,
    /// When it was gathered.
    pub taken_at: Timestamp,
    /// The age in seconds after which it is too old for a decision.
    pub max_age_seconds: u64,
}

impl Snapshot {
    /// Whether the snapshot can be used for a decision at `now`. A snapshot from the future cannot,
    /// because one of the clocks is wrong.
    #[must_use]
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.taken_at).as_secs();
        u64::try_from(age).is_ok_and(|age| age <= self.max_age_seconds)
    }
}

/// The bounds of a move, and what is compared with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoveBounds {
    /// The most moves in any 24 hours, by the rules.
    pub max_moves_per_day: u32,
    /// How many moves of the mandate have begun in the last 24 hours.
    pub moved_within_day: u32,
    /// The fewest dollars that a move must gain, by the rules.
    pub min_gain_usd: Figure,
    /// The most dollars of one move, by the rules.
    pub max_move_usd: Figure,
    /// The seconds until the mandate's end.
    pub seconds_left: u64,
    /// The estimated cost of a move, in dollars.
    pub cost_usd: Figure,
}

/// All inputs of a decision. A record of the audit contains all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    /// When the check was made.
    pub checked_at: Timestamp,
    /// The protocols that were allowed.
    pub allowed_protocols: Vec<String>,
    /// The smallest gain that counts, in basis points.
    pub min_apy_delta_bps: u32,
    /// The snapshot that was read. `None` when there was none.
    pub snapshot: Option<Snapshot>,
    /// The best allowed market at the last notification, or at the first check that found one. A
    /// mandate that acts has none, because it compares with `position`.
    pub baseline: Option<Pool>,
    /// The best allowed market now. For a mandate that acts, the best one into which the wallet can
    /// move.
    pub best: Option<Pool>,
    /// The position of the wallet's money. Only a mandate that acts has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// The bounds of a move. Only a mandate that acts has them, once its wallet was read. Records
    /// of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<MoveBounds>,
}

/// The decision of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The best market yields enough more than the compared one, or the wallet of a mandate that
    /// acts holds idle money.
    Opportunity,
    /// The gain is too small, or the mandate has made its moves of the day.
    NoChange,
    /// The snapshot is too old, so nothing is decided.
    StaleData,
    /// There is no snapshot, or no allowed market in it, or the wallet could not be read.
    Unavailable,
}

impl Inputs {
    /// Makes the decision.
    #[must_use]
    pub fn decide(&self) -> Decision {
        let Some(snapshot) = &self.snapshot else {
            return Decision::Unavailable;
        };
        if !snapshot.is_fresh(self.checked_at) {
            return Decision::StaleData;
        }
        let Some(best) = &self.best else {
            return Decision::Unavailable;
        };
        let gains = self
            .delta_bps()
            .is_some_and(|delta| delta >= i64::from(self.min_apy_delta_bps));
        let is_opportunity = match &self.position {
            Some(Position::Unread { .. }) => return Decision::Unavailable,
            Some(Position::Idle { idle_usd }) => idle_usd.0 > Decimal::ZERO,
            // Two readings of one market may differ, but a move from a market into itself makes no
            // sense.
            Some(Position::Held { pool, .. }) => gains && pool.pool != best.pool,
            None => gains,
        };
        match is_opportunity && self.is_within_bounds() {
            true => Decision::Opportunity,
            false => Decision::NoChange,
        }
    }

    /// Whether a move is within its bounds. A mandate that only notifies has none.
    fn is_within_bounds(&self) -> bool {
        self.bounds.as_ref().is_none_or(|bounds| {
            bounds.moved_within_day < bounds.max_moves_per_day
                && self
                    .gain_usd()
                    .is_some_and(|gain| gain >= bounds.min_gain_usd.0)
        })
    }

    /// Returns how many dollars a move gains until the mandate's end, at present yields and after
    /// its cost. `None` without bounds or without something to move, and when it overflows.
    #[must_use]
    pub fn gain_usd(&self) -> Option<Decimal> {
        let (bounds, best) = (self.bounds.as_ref()?, self.best.as_ref()?);
        let (moved, present) = match self.position.as_ref()? {
            Position::Idle { idle_usd } => (idle_usd, Decimal::ZERO),
            Position::Held { pool, amount_usd } => (amount_usd, pool.apy_pct.0),
            Position::Unread { .. } => return None,
        };
        let moved = moved.0.min(bounds.max_move_usd.0);
        let more_pct = best.apy_pct.0.checked_sub(present)?;
        let a_year = moved
            .checked_mul(more_pct)?
            .checked_div(Decimal::ONE_HUNDRED)?;
        let lasting = a_year
            .checked_mul(Decimal::from(bounds.seconds_left))?
            .checked_div(Decimal::from(YEAR_SECONDS))?;
        lasting.checked_sub(bounds.cost_usd.0)
    }

    /// Returns the market with which the best one is compared: the baseline, or the wallet's
    /// product. `None` when there is none.
    #[must_use]
    pub fn compared_with(&self) -> Option<&Pool> {
        match &self.position {
            Some(position) => position.pool(),
            None => self.baseline.as_ref(),
        }
    }

    /// Whether the inputs state the rules of a mandate.
    pub(crate) fn is_under(&self, rules: &Rules) -> bool {
        let bounds_are = |bounds: &MoveBounds| {
            bounds.max_moves_per_day == rules.max_moves_per_day
                && bounds.min_gain_usd == rules.min_gain_usd
                && bounds.max_move_usd == rules.max_move_usd
        };
        self.allowed_protocols == rules.allowed_protocols
            && self.min_apy_delta_bps == rules.min_apy_delta_bps
            && self.bounds.as_ref().is_none_or(bounds_are)
    }

    /// Returns the move that an opportunity of a mandate that acts requests under `key`, within the
    /// mandate's rules. `None` for every other decision, and for a mandate that only notifies.
    #[must_use]
    pub fn proposal(&self, key: MoveKey, rules: &Rules) -> Option<Proposal> {
        let position = self.position.as_ref()?;
        let snapshot = self.snapshot.as_ref()?;
        if self.decide() != Decision::Opportunity {
            return None;
        }
        let lasts = i64::try_from(snapshot.max_age_seconds).ok()?;
        Some(Proposal {
            key,
            from: position.pool().cloned(),
            to: self.best.clone()?,
            max_move_usd: rules.max_move_usd,
            max_slippage_bps: rules.max_slippage_bps,
            valid_until: snapshot
                .taken_at
                .checked_add(SignedDuration::from_secs(lasts))
                .ok()?,
        })
    }

    /// Returns how many basis points more the best market yields than the compared one, rounded
    /// down. `None` when one of them is missing.
    #[must_use]
    pub fn delta_bps(&self) -> Option<i64> {
        let (best, baseline) = (self.best.as_ref()?, self.compared_with()?);
        let percent = best.apy_pct.0.checked_sub(baseline.apy_pct.0)?;
        let bps = percent.checked_mul(Decimal::from(BPS_OF_PERCENT))?;
        bps.floor().to_i64()
    }

    /// Returns the baseline of the next check. A mandate that acts has none, because its wallet is
    /// read again.
    #[must_use]
    pub fn next_baseline(&self) -> Option<&Pool> {
        if self.position.is_some() {
            return None;
        }
        match (self.decide(), &self.baseline) {
            (Decision::Opportunity, _) | (Decision::NoChange, None) => self.best.as_ref(),
            _ => self.baseline.as_ref(),
        }
    }
}

/// Returns the best of the markets that `rules` allow: of their protocols and of low risk, the one
/// with the highest yield. Among equals, the one whose id sorts first.
#[must_use]
pub fn best_allowed<'a>(
    markets: impl IntoIterator<Item = &'a Market>,
    rules: &Rules,
) -> Option<Pool> {
    let allowed = markets.into_iter().filter(|market| {
        rules.allowed_protocols.contains(&market.project) && Appetite::Low.takes(market)
    });
    let best = allowed.max_by(|a, b| a.apy_pct.cmp(&b.apy_pct).then(b.pool.cmp(&a.pool)))?;
    Some(Pool {
        pool: best.pool.clone(),
        project: best.project.clone(),
        chain: best.chain.clone(),
        symbol: best.symbol.clone(),
        apy_pct: best.apy_pct,
    })
}

#[cfg(test)]
mod tests {
    use readings::defi::grade::Grade;

    use super::*;

    fn pool(apy: &str) -> Option<Pool> {
        Some(Pool {
            pool: "p".to_owned(),
            project: "aave-v3".to_owned(),
            chain: "Base".to_owned(),
            symbol: "USDC".to_owned(),
            apy_pct: apy.parse().unwrap(),
        })
    }

    fn inputs(baseline: Option<Pool>, best: Option<Pool>) -> Inputs {
        Inputs {
            checked_at: "2026-11-21T01:00:00Z".parse().unwrap(),
            allowed_protocols: vec!["aave-v3".to_owned()],
            min_apy_delta_bps: 50,
            snapshot: Some(Snapshot {
                id: "s".to_owned(),
                taken_at: "2026-11-21T00:00:00Z".parse().unwrap(),
                max_age_seconds: 3_600,
            }),
            baseline,
            best,
            position: None,
            bounds: None,
        }
    }

    fn market(pool: &str, project: &str, apy: &str, grade: Grade, il: &'static str) -> Market {
        Market {
            pool: pool.to_owned(),
            chain: "Base".to_owned(),
            chain_id: Some(8453),
            project: project.to_owned(),
            symbol: "USDC".to_owned(),
            apy_pct: apy.parse().unwrap(),
            apy_base_pct: None,
            apy_reward_pct: None,
            tvl_usd: "1000000".parse().unwrap(),
            il_risk: Some(il),
            stablecoin: Some(true),
            risk_grade: grade,
            why: Vec::new(),
            source: "defillama",
            also_reported: Vec::new(),
            underlying: Vec::new(),
            single_asset: Some(true),
            reward_known: true,
        }
    }

    #[test]
    fn a_gain_counts_from_the_smallest_delta_on() {
        let decided = |best| inputs(pool("5"), pool(best)).decide();
        assert_eq!(decided("5.4999"), Decision::NoChange);
        assert_eq!(decided("5.5"), Decision::Opportunity);
        assert_eq!(decided("4"), Decision::NoChange);
        assert_eq!(inputs(pool("5"), pool("5.4999")).delta_bps(), Some(49));
    }

    #[test]
    fn the_baseline_changes_only_with_a_notification_or_when_there_is_none() {
        let next = |baseline, best| inputs(baseline, best).next_baseline().cloned();
        assert_eq!(next(None, pool("5")), pool("5"));
        assert_eq!(next(pool("5"), pool("6")), pool("6"));
        assert_eq!(next(pool("5"), pool("4")), pool("5"));
        assert_eq!(next(pool("5"), None), pool("5"));
    }

    #[test]
    fn old_data_and_data_from_the_future_decide_nothing() {
        let mut inputs = inputs(pool("5"), pool("9"));
        inputs.checked_at = "2026-11-21T01:00:01Z".parse().unwrap();
        assert_eq!(inputs.decide(), Decision::StaleData);
        assert_eq!(inputs.next_baseline().cloned(), pool("5"));
        inputs.checked_at = "2026-11-20T23:59:59Z".parse().unwrap();
        assert_eq!(inputs.decide(), Decision::StaleData);
    }

    #[test]
    fn without_a_snapshot_or_an_allowed_market_there_is_nothing_to_decide() {
        let mut inputs = inputs(pool("5"), None);
        assert_eq!(inputs.decide(), Decision::Unavailable);
        inputs.snapshot = None;
        assert_eq!(inputs.decide(), Decision::Unavailable);
    }

    #[test]
    fn a_mandate_that_acts_compares_with_the_wallets_product() {
        let decided = |position, best: Option<Pool>| {
            let mut inputs = inputs(None, best);
            inputs.position = Some(position);
            assert_eq!(inputs.next_baseline(), None);
            (inputs.decide(), inputs.delta_bps())
        };
        let held = |id: &str, apy: &str| Position::Held {
            pool: Pool {
                pool: id.to_owned(),
                ..pool(apy).unwrap()
            },
            amount_usd: "10".parse().unwrap(),
        };
        let idle = |usd: &str| Position::Idle {
            idle_usd: usd.parse().unwrap(),
        };
        let gain = (Decision::Opportunity, Some(50));
        assert_eq!(decided(held("q", "5"), pool("5.5")), gain);
        let too_little = (Decision::NoChange, Some(49));
        assert_eq!(decided(held("q", "5"), pool("5.4999")), too_little);
        let itself = (Decision::NoChange, Some(400));
        assert_eq!(decided(held("p", "5"), pool("9")), itself);
        assert_eq!(decided(idle("1"), pool("5")).0, Decision::Opportunity);
        assert_eq!(decided(idle("0"), pool("5")).0, Decision::NoChange);
        assert_eq!(decided(idle("1"), None).0, Decision::Unavailable);
        let unread = Position::Unread {
            reason: "no_node_answers".to_owned(),
        };
        assert_eq!(decided(unread, pool("5")).0, Decision::Unavailable);
        let mut stale = inputs(None, pool("9"));
        stale.position = Some(idle("1"));
        stale.checked_at = "2026-11-21T01:00:01Z".parse().unwrap();
        assert_eq!(stale.decide(), Decision::StaleData);
    }

    #[test]
    fn a_move_must_gain_enough_after_its_cost_and_has_a_limit_a_day() {
        let figure = |text: &str| text.parse::<Figure>().unwrap();
        // Ten percent of 1,000 dollars are 100 in a year, and five percent were 50.
        let decided = |held: bool, moved: u32, days: u64, cost: &str, least: &str| {
            let mut inputs = inputs(None, pool("10"));
            inputs.position = Some(match held {
                true => Position::Held {
                    pool: Pool {
                        pool: "q".to_owned(),
                        ..pool("5").unwrap()
                    },
                    amount_usd: figure("5000"),
                },
                false => Position::Idle {
                    idle_usd: figure("5000"),
                },
            });
            inputs.bounds = Some(MoveBounds {
                max_moves_per_day: 2,
                moved_within_day: moved,
                min_gain_usd: figure(least),
                max_move_usd: figure("1000"),
                seconds_left: days * 86_400,
                cost_usd: figure(cost),
            });
            inputs.decide()
        };
        let (moves, stays) = (Decision::Opportunity, Decision::NoChange);
        assert_eq!(decided(false, 0, 365, "0.5", "99.5"), moves);
        assert_eq!(decided(false, 0, 365, "0.51", "99.5"), stays);
        assert_eq!(decided(true, 0, 365, "0.5", "49.5"), moves);
        assert_eq!(decided(true, 0, 365, "0.5", "49.51"), stays);
        // A day of five percent is 14 cents.
        assert_eq!(decided(true, 0, 1, "0", "0.13"), moves);
        assert_eq!(decided(true, 0, 1, "0.05", "0.13"), stays);
        assert_eq!(decided(true, 1, 365, "0", "1"), moves);
        assert_eq!(decided(true, 2, 365, "0", "1"), stays);
    }

    #[test]
    fn only_markets_of_low_risk_and_of_the_protocols_are_compared() {
        let rules = Rules {
            min_apy_delta_bps: 50,
            max_slippage_bps: 50,
            max_move_usd: "1".parse().unwrap(),
            allowed_protocols: vec!["aave-v3".to_owned()],
            check_interval: 3_600,
            max_moves_per_day: 1,
            min_gain_usd: "1".parse().unwrap(),
        };
        let markets = [
            market("other", "morpho-blue", "9", Grade::A, "no"),
            market("risky", "aave-v3", "8", Grade::C, "no"),
            market("loses", "aave-v3", "7", Grade::A, "yes"),
            market("second", "aave-v3", "6", Grade::B, "no"),
            market("first", "aave-v3", "6", Grade::A, "no"),
        ];
        assert_eq!(best_allowed(&markets, &rules).unwrap().pool, "first");
        assert_eq!(best_allowed(&markets[..3], &rules), None);
    }
}
