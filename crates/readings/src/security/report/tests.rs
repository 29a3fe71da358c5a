//! Tests of merged scans.

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
fn pools_beyond_the_largest_are_counted() {
    let pool = |number: u8| Pool {
        exchange: "X".to_owned(),
        address: Address::repeat_byte(number),
        liquidity_usd: Some(Figure(Decimal::from(number))),
    };
    let scan = Scan {
        liquidity: Liquidity {
            pools: (1..=25).map(pool).collect(),
            ..Liquidity::default()
        },
        ..okx()
    };
    let listed = SecurityReport::new(1, TOKEN, &[scan], &Holding::default()).liquidity;
    assert_eq!((listed.pools.len(), listed.pools_total), (MAX_POOLS, 25));
    let largest = listed.pools[0].liquidity_usd.unwrap();
    assert_eq!(largest.to_string(), "25");
}

#[test]
fn a_report_without_holders_has_no_share() {
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
