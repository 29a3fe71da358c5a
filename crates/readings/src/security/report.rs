//! Merges the scans of a token into one report, in the form of an answer.

use std::collections::BTreeMap;

use alloy_primitives::Address;
use rust_decimal::Decimal;
use serde::Serialize;

use super::{
    Basis, Check, Excluded, Holding, Judgement, Liquidity, Ownership, RULES_VERSION, RiskLevel,
    Scan, TokenText, Verdict, scan::pct,
};
use crate::Figure;

/// The most pools that are listed.
const MAX_POOLS: usize = 20;

/// The findings of all scanners about one token, with the verdict first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SecurityReport {
    /// The token's address, with the checksum.
    pub address: String,
    /// Its chain.
    pub chain_id: u64,
    /// The verdict.
    pub verdict: Verdict,
    /// The score from 0 to 100, higher is better. Null while the verdict is `unknown`.
    pub score: Option<u32>,
    /// The highest level that was found. Null while the verdict is `unknown`.
    pub risk_level: Option<RiskLevel>,
    /// The basis of the verdict.
    pub rests_on: Basis,
    /// The version of the rules.
    pub rules_version: &'static str,
    /// The risks that were found, the worst first.
    pub flags: Vec<&'static str>,
    /// The token's own texts.
    pub token: TokenReport,
    /// Every check.
    pub checks: BTreeMap<Check, CheckReading>,
    /// The taxes.
    pub taxes: Taxes,
    /// The owner and the creator of the contract.
    pub ownership: OwnershipReport,
    /// The markets of the token.
    pub liquidity: LiquidityReport,
    /// The holders of the token.
    pub holders: HoldersReport,
    /// The sources of the scans.
    pub sources: Vec<&'static str>,
}

/// The token's own texts, which are untrusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenReport {
    /// Its name.
    pub name: Option<String>,
    /// Its symbol.
    pub symbol: Option<String>,
    /// Its supply in whole tokens.
    pub total_supply: Option<Figure>,
}

/// One check, merged over all scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CheckReading {
    /// Whether the risk is present. Null when no source could tell.
    pub value: Option<bool>,
    /// The source of that value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
    /// The source that disagrees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disputed_by: Option<&'static str>,
}

/// The taxes in percent. When sources differ, the higher one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Taxes {
    /// The tax on a purchase.
    pub buy_pct: Option<Figure>,
    /// The tax on a sale.
    pub sell_pct: Option<Figure>,
}

/// The owner and the creator of the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnershipReport {
    /// Whether the ownership was renounced.
    pub renounced: Option<bool>,
    /// The owner's address, with the checksum.
    pub owner: Option<String>,
    /// The owner's share of the supply, in percent.
    pub owner_pct: Option<Figure>,
    /// The address of the contract's creator, with the checksum.
    pub creator: Option<String>,
}

/// The markets of the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiquidityReport {
    /// Whether there is a pool.
    pub in_dex: Option<bool>,
    /// The pools, the largest first.
    pub pools: Vec<PoolReport>,
    /// How many pools are known. [`Self::pools`] has the largest ones.
    #[serde(skip)]
    pub pools_total: usize,
    /// The share of the liquidity that is locked or burned, in percent. When sources differ, the
    /// lower one.
    pub lp_locked_pct: Option<Figure>,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolReport {
    /// The exchange.
    pub exchange: String,
    /// The pool's address, with the checksum.
    pub address: String,
    /// Its liquidity in dollars.
    pub liquidity_usd: Option<Figure>,
}

/// The holders of the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HoldersReport {
    /// The number of holders.
    pub count: Option<u64>,
    /// The share of the ten largest holders in percent, without burned, pooled and locked tokens.
    pub top10_pct: Option<Figure>,
    /// How many holders are in that share. Below ten the share is a lower bound, because no more
    /// are listed.
    pub top10_counted: Option<usize>,
    /// The creator's share of the supply, in percent.
    pub creator_pct: Option<Figure>,
    /// The holders that were left out.
    pub excluded: Vec<Excluded>,
}

impl SecurityReport {
    /// Makes the report of `scans` of the token at `address`. The order of the scans does not
    /// matter.
    #[must_use]
    pub fn new(chain_id: u64, address: Address, scans: &[Scan], holding: &Holding) -> Self {
        let mut scans: Vec<&Scan> = scans.iter().collect();
        scans.sort_by_key(|scan| scan.source);
        let all: Vec<_> = scans.iter().copied().cloned().collect();
        let judgement = Judgement::of(&all);
        let checks: BTreeMap<_, _> = Check::ALL
            .into_iter()
            .map(|check| (check, CheckReading::over(&scans, check)))
            .collect();
        let not_renounced = checks.get(&Check::NotRenounced).and_then(|read| read.value);
        Self {
            address: address.to_string(),
            chain_id,
            verdict: judgement.verdict,
            score: judgement.score,
            risk_level: judgement.risk_level,
            rests_on: Basis::of(&all, &judgement),
            rules_version: RULES_VERSION,
            flags: judgement.flags(),
            token: TokenReport::over(&scans),
            checks,
            taxes: Taxes {
                buy_pct: highest(scans.iter().filter_map(|scan| pct(scan.buy_tax_pct))),
                sell_pct: highest(scans.iter().filter_map(|scan| pct(scan.sell_tax_pct))),
            },
            ownership: OwnershipReport::over(&scans, not_renounced),
            liquidity: LiquidityReport::over(&scans),
            holders: HoldersReport::over(&scans, holding),
            sources: scans.iter().map(|scan| scan.source).collect(),
        }
    }

    /// The result of one check.
    #[must_use]
    pub fn check(&self, check: Check) -> Option<bool> {
        self.checks.get(&check).and_then(|reading| reading.value)
    }
}

impl CheckReading {
    /// Merges the results of one check. The scans must be sorted by source.
    fn over(scans: &[&Scan], check: Check) -> Self {
        let says = |value: bool| {
            let scan = scans.iter().find(|scan| scan.finding(check) == Some(value));
            scan.map(|scan| scan.source)
        };
        match (says(true), says(false)) {
            (Some(source), other) => Self {
                value: Some(true),
                source: Some(source),
                disputed_by: other,
            },
            (None, Some(source)) => Self {
                value: Some(false),
                source: Some(source),
                disputed_by: None,
            },
            (None, None) => Self {
                value: None,
                source: None,
                disputed_by: None,
            },
        }
    }
}

impl TokenReport {
    fn over(scans: &[&Scan]) -> Self {
        fn first<T>(scans: &[&Scan], of: impl Fn(&TokenText) -> Option<T>) -> Option<T> {
            scans.iter().find_map(|scan| of(&scan.token))
        }
        Self {
            name: first(scans, |token| token.name.clone()),
            symbol: first(scans, |token| token.symbol.clone()),
            total_supply: first(scans, |token| token.total_supply),
        }
    }
}

impl OwnershipReport {
    fn over(scans: &[&Scan], not_renounced: Option<bool>) -> Self {
        let owned = |owner: &Ownership| owner.owner.filter(|owner| !owner.is_zero());
        let owner = scans.iter().find_map(|scan| owned(&scan.ownership));
        let creator = scans.iter().find_map(|scan| scan.ownership.creator);
        Self {
            renounced: not_renounced.map(|owned| !owned),
            owner: owner.map(|owner| owner.to_string()),
            owner_pct: highest(
                scans
                    .iter()
                    .filter_map(|scan| pct(scan.ownership.owner_pct)),
            ),
            creator: creator.map(|creator| creator.to_string()),
        }
    }
}

impl LiquidityReport {
    fn over(scans: &[&Scan]) -> Self {
        let all = || scans.iter().map(|scan| &scan.liquidity);
        let in_dex = |value| all().any(|liquidity: &Liquidity| liquidity.in_dex == Some(value));
        let mut pools = BTreeMap::new();
        for pool in all().flat_map(|liquidity| &liquidity.pools) {
            let known = pools.entry(pool.address).or_insert(pool);
            if pool.liquidity_usd > known.liquidity_usd {
                *known = pool;
            }
        }
        let mut pools: Vec<_> = pools.into_values().collect();
        pools.sort_by_key(|pool| (std::cmp::Reverse(pool.liquidity_usd), pool.address));
        let pools_total = pools.len();
        pools.truncate(MAX_POOLS);
        let report = |pool: &super::Pool| PoolReport {
            exchange: pool.exchange.clone(),
            address: pool.address.to_string(),
            liquidity_usd: pool.liquidity_usd,
        };
        Self {
            in_dex: match (in_dex(true), in_dex(false)) {
                (true, _) => Some(true),
                (false, true) => Some(false),
                (false, false) => None,
            },
            pools: pools.into_iter().map(report).collect(),
            pools_total,
            lp_locked_pct: all()
                .filter_map(|liquidity| pct(liquidity.lp_locked_pct))
                .min()
                .map(Figure),
        }
    }
}

impl HoldersReport {
    fn over(scans: &[&Scan], holding: &Holding) -> Self {
        let found = holding.concentration.as_ref();
        Self {
            count: scans.iter().find_map(|scan| scan.holder_count),
            // When every listed holder was left out, there is no share.
            top10_pct: found
                .filter(|found| found.counted > 0)
                .map(|found| found.top10_pct),
            top10_counted: found.map(|found| found.counted),
            creator_pct: highest(scans.iter().filter_map(|scan| pct(scan.creator_pct))),
            excluded: found
                .map(|found| found.excluded.clone())
                .unwrap_or_default(),
        }
    }
}

fn highest(figures: impl Iterator<Item = Decimal>) -> Option<Figure> {
    figures.max().map(Figure)
}

#[cfg(test)]
mod tests;
