//! `[credit]`: limits for work that nobody has paid for yet.
//!
//! The checks make sure that every purse can hold the dearest call, so that no route is unusable by
//! its price. `credit` and the ledger enforce the limits.

use route_catalog::{Operation, WorkClass};
use serde::Deserialize;
use server_config::lenient;

use super::problem;
use crate::config::Problem;

/// `[credit]`. Amounts are millionths of a dollar.
///
/// A payer's settled payments earn credit, and work that ends uncharged spends it. Payers without
/// credit share a pool. While the pool is empty, each client address still has a small share of its
/// own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CreditSection {
    /// The cost of one request to a data upstream, retries included, in a call that ends uncharged.
    #[serde(deserialize_with = "lenient::scalar")]
    pub upstream_call_micro_usd: u64,
    /// The cost of one payment that was sent to the chain or the facilitator for verification and
    /// was not settled.
    #[serde(deserialize_with = "lenient::scalar")]
    pub verification_micro_usd: u64,
    /// The cost of one request to a model, retries included, in a call that ends uncharged.
    #[serde(deserialize_with = "lenient::scalar")]
    pub model_call_micro_usd: u64,
    /// The cost of one settlement transaction of the server's own account that moved no money.
    #[serde(deserialize_with = "lenient::scalar")]
    pub transaction_micro_usd: u64,
    /// The cost of one sub-wallet or mandate that stays although the call that made it ended
    /// uncharged.
    #[serde(deserialize_with = "lenient::scalar")]
    pub kept_micro_usd: u64,
    /// The most that the pool of payers without credit holds. Its spent part survives a restart.
    #[serde(deserialize_with = "lenient::scalar")]
    pub pool_micro_usd: u64,
    /// The pool's gain per second.
    #[serde(deserialize_with = "lenient::scalar")]
    pub pool_refill_micro_usd_per_second: u64,
    /// The most that one client address may spend while the pool is empty.
    #[serde(deserialize_with = "lenient::scalar")]
    pub address_share_micro_usd: u64,
    /// The gain of an address's share per second.
    #[serde(deserialize_with = "lenient::scalar")]
    pub address_refill_micro_usd_per_second: u64,
    /// The most credit that one payer can hold.
    #[serde(deserialize_with = "lenient::scalar")]
    pub cap_micro_usd: u64,
    /// The percentage of every budget and quota of an upstream that only payers with credit and the
    /// server itself may use.
    #[serde(deserialize_with = "lenient::scalar")]
    pub reserved_budget_percent: u8,
}

impl Default for CreditSection {
    fn default() -> Self {
        Self {
            upstream_call_micro_usd: 100,
            verification_micro_usd: 100,
            model_call_micro_usd: 25_000,
            transaction_micro_usd: 5_000,
            kept_micro_usd: 5_000,
            pool_micro_usd: 1_000_000,
            pool_refill_micro_usd_per_second: 500,
            address_share_micro_usd: 2_000,
            address_refill_micro_usd_per_second: 5,
            cap_micro_usd: 5_000_000,
            reserved_budget_percent: 50,
        }
    }
}

/// The most that may be reserved, so that newcomers can still buy.
const MOST_RESERVED_PERCENT: u8 = 90;

impl CreditSection {
    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        for (key, micro_usd) in self.capacities() {
            if micro_usd == 0 {
                problem(problems, key, "expected at least 1");
            }
            // The store uses signed 64-bit counters.
            if i64::try_from(micro_usd).is_err() {
                problem(problems, key, format!("expected at most {}", i64::MAX));
            }
        }
        for (class, micro_usd) in self.costs() {
            for (holder, holds) in [
                ("credit.pool_micro_usd", self.pool_micro_usd),
                ("credit.cap_micro_usd", self.cap_micro_usd),
            ] {
                if micro_usd > holds {
                    let message = format!("expected at least {micro_usd}, so that {class} fits");
                    problem(problems, holder, message);
                }
            }
        }
        let (dearest, held) = self.dearest();
        for (holder, holds) in [
            ("credit.pool_micro_usd", self.pool_micro_usd),
            ("credit.cap_micro_usd", self.cap_micro_usd),
        ] {
            let costs_fit = self.costs().iter().all(|(_, cost)| *cost <= holds);
            if costs_fit && holds < held {
                let path = dearest.route().path;
                let message = format!("expected at least {held}, so that a call of {path} fits");
                problem(problems, holder, message);
            }
        }
        if self.reserved_budget_percent > MOST_RESERVED_PERCENT {
            let message =
                format!("expected at most {MOST_RESERVED_PERCENT}: newcomers need the rest");
            problem(problems, "credit.reserved_budget_percent", message);
        }
        let least = self
            .upstream_call_micro_usd
            .saturating_add(self.verification_micro_usd);
        if self.address_share_micro_usd < least {
            let message =
                format!("expected at least {least}: a verification and an upstream call must fit");
            problem(problems, "credit.address_share_micro_usd", message);
        }
    }

    /// The operation whose call reserves most before its work, and that amount.
    fn dearest(&self) -> (Operation, u64) {
        let held = |operation: Operation| {
            let calls = operation.most_calls();
            let own = match operation.route().work {
                WorkClass::Transaction => self.transaction_micro_usd,
                WorkClass::Data | WorkClass::Model => 0,
            };
            let upstream = self
                .upstream_call_micro_usd
                .saturating_mul(calls.upstream.into());
            let models = self.model_call_micro_usd.saturating_mul(calls.model.into());
            let kept = match operation.keeps() {
                true => self.kept_micro_usd,
                false => 0,
            };
            self.verification_micro_usd
                .saturating_add(upstream)
                .saturating_add(models)
                .saturating_add(kept)
                .saturating_add(own)
        };
        let all = Operation::ALL.into_iter();
        let held = all.map(|operation| (operation, held(operation)));
        held.max_by_key(|(_, held)| *held)
            .unwrap_or((Operation::Swap, 0))
    }

    /// The cost of each kind of uncharged work, by key.
    fn costs(&self) -> [(&'static str, u64); 5] {
        [
            (
                "credit.upstream_call_micro_usd",
                self.upstream_call_micro_usd,
            ),
            ("credit.verification_micro_usd", self.verification_micro_usd),
            ("credit.model_call_micro_usd", self.model_call_micro_usd),
            ("credit.transaction_micro_usd", self.transaction_micro_usd),
            ("credit.kept_micro_usd", self.kept_micro_usd),
        ]
    }

    /// Every amount that must be above zero, by key.
    fn capacities(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let holders = [
            ("credit.pool_micro_usd", self.pool_micro_usd),
            (
                "credit.pool_refill_micro_usd_per_second",
                self.pool_refill_micro_usd_per_second,
            ),
            (
                "credit.address_share_micro_usd",
                self.address_share_micro_usd,
            ),
            (
                "credit.address_refill_micro_usd_per_second",
                self.address_refill_micro_usd_per_second,
            ),
            ("credit.cap_micro_usd", self.cap_micro_usd),
        ];
        self.costs().into_iter().chain(holders)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(section: &CreditSection) -> Vec<String> {
        let mut problems = Vec::new();
        section.check(&mut problems);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_defaults_can_be_used() {
        assert_eq!(problems(&CreditSection::default()), [""; 0]);
    }

    #[test]
    fn newcomers_keep_a_part_of_the_budgets() {
        let section = CreditSection {
            reserved_budget_percent: 91,
            ..CreditSection::default()
        };
        assert_eq!(
            problems(&section),
            ["credit.reserved_budget_percent: expected at most 90: newcomers need the rest"]
        );
    }

    #[test]
    fn every_cost_has_to_fit_into_the_pool_and_under_the_cap() {
        let section = CreditSection {
            model_call_micro_usd: 6_000_000,
            ..CreditSection::default()
        };
        assert_eq!(
            problems(&section),
            [
                "credit.pool_micro_usd: expected at least 6000000, so that credit.model_call_micro_usd fits",
                "credit.cap_micro_usd: expected at least 6000000, so that credit.model_call_micro_usd fits",
            ]
        );
    }

    /// A call that exceeds every purse would never be served.
    #[test]
    fn the_dearest_call_has_to_fit_into_the_pool_and_under_the_cap() {
        let usual = CreditSection::default();
        let (dearest, held) = usual.dearest();
        let section = CreditSection {
            pool_micro_usd: held - 1,
            cap_micro_usd: held - 1,
            ..usual
        };
        let path = dearest.route().path;
        let expected = |key: &str| {
            format!("credit.{key}: expected at least {held}, so that a call of {path} fits")
        };
        assert_eq!(
            problems(&section),
            [expected("pool_micro_usd"), expected("cap_micro_usd")]
        );
        let section = CreditSection {
            pool_micro_usd: held,
            cap_micro_usd: held,
            ..section
        };
        assert_eq!(problems(&section), [""; 0]);
    }

    #[test]
    fn a_share_holds_one_verified_upstream_call() {
        let section = CreditSection {
            address_share_micro_usd: 199,
            ..CreditSection::default()
        };
        assert_eq!(
            problems(&section),
            [
                "credit.address_share_micro_usd: expected at least 200: a verification and an upstream call must fit"
            ]
        );
    }
}
