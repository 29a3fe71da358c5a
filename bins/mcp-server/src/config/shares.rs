//! `[plans.shares]`.

use calldata_checks::Rail;
use serde::Deserialize;
use server_config::{Problem, lenient};

use crate::shares::{ShareRules, least, most};

/// `[plans.shares]`: the callers' shares of the limits of each rail's upstreams. The defaults fit a
/// server without keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SharesSection {
    /// Shares of the aggregator.
    pub swap: ShareTable,
    /// Shares of the source of bridge fees.
    pub bridge: ShareTable,
    /// Shares of the prediction market.
    pub pm_order: ShareTable,
    /// Shares of the perpetuals venue.
    pub perp_order: ShareTable,
}

/// The shares of one rail, in upstream requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ShareTable {
    /// The most that all callers together may use at once.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub pool: Option<u32>,
    /// The pool's refill in an hour.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub pool_per_hour: Option<u32>,
    /// The most that one client address may use at once while the pool is dry.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub address: Option<u32>,
    /// An address's refill in an hour.
    #[serde(deserialize_with = "lenient::optional_scalar")]
    pub address_per_hour: Option<u32>,
}

impl SharesSection {
    /// The shares of a rail, with defaults for absent keys.
    #[must_use]
    pub fn rules(&self, rail: Rail) -> ShareRules {
        let (table, usual) = (self.table(rail), ShareRules::usual(rail));
        ShareRules {
            pool: table.pool.unwrap_or(usual.pool),
            pool_per_hour: table.pool_per_hour.unwrap_or(usual.pool_per_hour),
            address: table.address.unwrap_or(usual.address),
            address_per_hour: table.address_per_hour.unwrap_or(usual.address_per_hour),
        }
    }

    fn table(&self, rail: Rail) -> &ShareTable {
        match rail {
            Rail::Swap => &self.swap,
            Rail::Bridge => &self.bridge,
            Rail::PmOrder => &self.pm_order,
            Rail::PerpOrder => &self.perp_order,
        }
    }

    pub(super) fn check(&self, problems: &mut Vec<Problem>) {
        for rail in Rail::ALL {
            let (rules, name) = (self.rules(rail), rail.as_str());
            for (key, requests, needed) in [
                ("pool", rules.pool, most(rail)),
                ("address", rules.address, least(rail)),
            ] {
                if requests < needed {
                    let message = format!("expected at least {needed}: one plan can cost as much");
                    let key = format!("plans.shares.{name}.{key}");
                    problems.push(Problem::new(&key, message));
                }
            }
            for (key, requests) in [
                ("pool_per_hour", rules.pool_per_hour),
                ("address_per_hour", rules.address_per_hour),
            ] {
                if requests == 0 {
                    let key = format!("plans.shares.{name}.{key}");
                    problems.push(Problem::new(&key, "expected at least 1"));
                }
            }
        }
    }
}
