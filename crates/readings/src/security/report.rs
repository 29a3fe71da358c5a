//! The merged scan, as it is answered.

use std::collections::BTreeMap;

use alloy_primitives::Address;
use rust_decimal::Decimal;
use serde::Serialize;

use super::{
    Basis, Check, Excluded, Holding, Judgement, Liquidity, Ownership, RULES_VERSION, RiskLevel,
    Scan, TokenText, Verdict, scan::pct,
};
use crate::Figure;

/// Most pools that are listed.
const MAX_POOLS: usize = 20;

/// Everything that the scanners say of one token, with the verdict first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SecurityReport {
    /// The token, with checksum.
    pub address: String,
    /// Its chain.
    pub chain_id: u64,
    /// The verdict.
    pub verdict: Verdict,
    /// 0 to 100, higher is better; null while the verdict is `unknown`.
    pub score: Option<u32>,
    /// The worst that was found; null while the verdict is `unknown`.
    pub risk_level: Option<RiskLevel>,
    /// What the verdict rests on.
    pub rests_on: Basis,
    /// Which rules judged.
    pub rules_version: &'static str,
    /// The risks that were found, worst first.
    pub flags: Vec<&'static str>,
    /// The token's own texts.
    pub token: TokenReport,
    /// Every check.
    pub checks: BTreeMap<Check, CheckReading>,
    /// The taxes.
    pub taxes: Taxes,
    /// Who owns the contract.
    pub ownership: OwnershipReport,
    /// Where it trades.
    pub liquidity: LiquidityReport,
    /// Who holds it.
    pub holders: HoldersReport,
    /// The sources of the scans.
    pub sources: Vec<&'static str>,
}

/// Texts that the token gives itself. Untrusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenReport {
    /// Its name.
    pub name: Option<String>,
    /// Its symbol.
    pub symbol: Option<String>,
    /// Its supply in whole tokens.
    pub total_supply: Option<Figure>,
}

/// One check over all scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CheckReading {
    /// Whether the risk is there; null when nobody could tell.
    pub value: Option<bool>,
    /// Who says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
    /// Who says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disputed_by: Option<&'static str>,
}

/// Taxes in percent, the higher one where sources differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Taxes {
    /// On a purchase.
    pub buy_pct: Option<Figure>,
    /// On a sale.
    pub sell_pct: Option<Figure>,
}

/// Who owns the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnershipReport {
    /// Whether ownership was given up.
    pub renounced: Option<bool>,
    /// The owner, with checksum.
    pub owner: Option<String>,
    /// What the owner holds, in percent of the supply.
    pub owner_pct: Option<Figure>,
    /// Who created the contract, with checksum.
    pub creator: Option<String>,
}

/// Where it trades.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiquidityReport {
    /// Whether there is a pool.
    pub in_dex: Option<bool>,
    /// The pools, largest first.
    pub pools: Vec<PoolReport>,
    /// Share of the liquidity that is locked or burned, in percent; the lower one where sources differ.
    pub lp_locked_pct: Option<Figure>,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolReport {
    /// The exchange.
    pub exchange: String,
    /// The pool, with checksum.
    pub address: String,
    /// Its liquidity in dollars.
    pub liquidity_usd: Option<Figure>,
}

/// Who holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HoldersReport {
    /// How many.
    pub count: Option<u64>,
    /// Share of the ten largest in percent, without burned, pooled and locked tokens.
    pub top10_pct: Option<Figure>,
    /// How many holders that is; below ten, because no more are listed, it is a lower bound.
    pub top10_counted: Option<usize>,
    /// What the creator holds, in percent of the supply.
    pub creator_pct: Option<Figure>,
    /// What was left out.
    pub excluded: Vec<Excluded>,
}

impl SecurityReport {
    /// The report over `scans` of the token at `address`; their order does not matter.
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

    /// What one check came to.
    #[must_use]
    pub fn check(&self, check: Check) -> Option<bool> {
        self.checks.get(&check).and_then(|reading| reading.value)
    }
}

impl CheckReading {
    /// Over scans that are sorted by source.
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
            // Of nobody there is no share: all that is listed was left out.
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
mod tests {
    use serde_json::json;

    use super::*;
    use crate::security::{Pool, Rating};

    const TOKEN: Address = Address::repeat_byte(0x77);

    fn okx() -> Scan {
        Scan {
            source: "okx.token-scan",
            complete: true,
            rating: Some(Rating::read(Some("MEDIUM"))),
            findings: BTreeMap::from([(Check::Honeypot, false), (Check::NotRenounced, true)]),
            sell_tax_pct: Some("1".parse().unwrap()),
            ..Scan::default()
        }
    }

    fn goplus() -> Scan {
        let pool = |byte, usd: &str| Pool {
            exchange: "UniswapV3".to_owned(),
            address: Address::repeat_byte(byte),
            liquidity_usd: usd.parse().ok(),
        };
        Scan {
            source: "goplus.token-security",
            complete: true,
            findings: BTreeMap::from([(Check::Honeypot, true), (Check::NotRenounced, false)]),
            sell_tax_pct: Some("2.50".parse().unwrap()),
            token: TokenText {
                symbol: Some("EXT".to_owned()),
                ..TokenText::default()
            },
            ownership: Ownership {
                owner: Some(Address::ZERO),
                ..Ownership::default()
            },
            liquidity: Liquidity {
                in_dex: Some(true),
                pools: vec![pool(1, "5"), pool(2, "?"), pool(3, "70.5"), pool(1, "5")],
                lp_locked_pct: None,
            },
            ..Scan::default()
        }
    }

    #[test]
    fn sources_are_merged_and_their_disagreement_is_shown() {
        let report = SecurityReport::new(196, TOKEN, &[okx(), goplus()], &Holding::default());
        let turned = SecurityReport::new(196, TOKEN, &[goplus(), okx()], &Holding::default());
        assert_eq!(report, turned);
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(
            json["checks"]["honeypot"],
            json!({"value": true, "source": "goplus.token-security", "disputed_by": "okx.token-scan"})
        );
        assert_eq!(json["checks"]["self_destruct"], json!({"value": null}));
        assert_eq!(json["taxes"], json!({"buy_pct": null, "sell_pct": "2.5"}));
        assert_eq!(json["ownership"]["renounced"], json!(false));
        assert_eq!(json["ownership"]["owner"], json!(null));
        assert_eq!(json["verdict"], json!("danger"));
        assert_eq!(json["risk_level"], json!("critical"));
        assert_eq!(
            json["address"],
            json!("0x7777777777777777777777777777777777777777")
        );
        let pools: Vec<_> = report
            .liquidity
            .pools
            .iter()
            .map(|p| p.liquidity_usd.map(|f| f.to_string()))
            .collect();
        assert_eq!(pools, [Some("70.5".to_owned()), Some("5".to_owned()), None]);
        assert_eq!(
            json["sources"],
            json!(["goplus.token-security", "okx.token-scan"])
        );
    }

    #[test]
    fn of_nobody_there_is_no_share() {
        let burned = crate::security::Holder {
            address: Address::ZERO,
            share_pct: "40".parse().unwrap(),
            kind: None,
        };
        let holding = Holding::of(&[], &[burned], &std::collections::BTreeSet::new());
        let holders = SecurityReport::new(1, TOKEN, &[okx()], &holding).holders;
        assert_eq!((holders.top10_pct, holders.top10_counted), (None, Some(0)));
        assert_eq!(holders.excluded.len(), 1);
    }

    #[test]
    fn unknown_is_null_everywhere() {
        let empty = Scan {
            source: "okx.token-scan",
            ..Scan::default()
        };
        let report = SecurityReport::new(1, TOKEN, &[empty], &Holding::default());
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(
            (&json["verdict"], &json["score"], &json["risk_level"]),
            (&json!("unknown"), &json!(null), &json!(null))
        );
        assert!(
            report
                .checks
                .values()
                .all(|check| check.value.is_none() && check.source.is_none())
        );
        assert_eq!(
            json["liquidity"],
            json!({"in_dex": null, "pools": [], "lp_locked_pct": null})
        );
        assert_eq!(json["holders"]["count"], json!(null));
    }
}
