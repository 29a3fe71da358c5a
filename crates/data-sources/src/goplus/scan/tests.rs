//! Example rows.

use readings::security::{Judgement, Verdict};
use serde_json::json;

use super::*;

fn scan(row: Value) -> Scan {
    read(row.as_object().unwrap(), true)
}

fn recorded(name: &str, token: &str) -> Scan {
    let path = format!(
        "{}/../../fixtures/upstreams/goplus/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let json: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    scan(json["result"][token].clone())
}

#[test]
fn a_full_row_is_read() {
    let scan = recorded(
        "token_security_8453_full",
        "0x4200000000000000000000000000000000000006",
    );
    assert_eq!(scan.finding(Check::Honeypot), Some(false));
    assert_eq!(
        scan.finding(Check::NotRenounced),
        Some(false),
        "an empty owner has given up"
    );
    assert_eq!(scan.finding(Check::NotOpenSource), Some(false));
    assert_eq!(scan.finding(Check::Counterfeit), None);
    assert_eq!(scan.sell_tax_pct.unwrap().to_string(), "0");
    assert_eq!(scan.holder_count, Some(4_123_456));
    assert_eq!(scan.holders[0].share_pct.to_string(), "8.123456789");
    assert_eq!(scan.holders[1].kind, Some(HolderKind::Burn));
    assert_eq!(scan.liquidity.lp_locked_pct.unwrap().to_string(), "60");
    assert_eq!(
        scan.liquidity.pools[0].liquidity_usd.unwrap().to_string(),
        "40123456.78"
    );
    assert_eq!(Judgement::of(&[scan]).verdict, Verdict::Safe);
}

#[test]
fn hidden_facts_of_a_closed_contract_are_unknown() {
    let scan = recorded(
        "token_security_closed_source",
        "0x7777777777777777777777777777777777777777",
    );
    assert_eq!(scan.finding(Check::Honeypot), None);
    assert_eq!(scan.finding(Check::NotOpenSource), Some(true));
    assert_eq!(
        (scan.sell_tax_pct, scan.finding(Check::Mintable)),
        (None, None)
    );
    assert_eq!(scan.liquidity.in_dex, Some(false));
    assert_eq!(Judgement::of(&[scan]).verdict, Verdict::Danger);
}

#[test]
fn a_honeypot_is_seen() {
    let scan = recorded(
        "token_security_honeypot",
        "0x8888888888888888888888888888888888888888",
    );
    assert_eq!(scan.finding(Check::Honeypot), Some(true));
    assert_eq!(scan.finding(Check::Counterfeit), Some(true));
    assert_eq!(scan.sell_tax_pct.unwrap().to_string(), "100");
    assert_eq!(scan.ownership.owner_pct.unwrap().to_string(), "35");
    let judged = Judgement::of(&[scan]);
    assert_eq!((judged.verdict, judged.score), (Verdict::Danger, Some(0)));
}

#[test]
fn a_flag_counts_in_every_form_of_yes_and_no() {
    for (form, expected) in [
        (json!(true), true),
        (json!("true"), true),
        (json!("1"), true),
        (json!(1), true),
        (json!(false), false),
        (json!("False"), false),
        (json!("0"), false),
        (json!(0), false),
    ] {
        let scan = scan(json!({ "is_honeypot": form }));
        assert_eq!(scan.finding(Check::Honeypot), Some(expected), "{form}");
    }
}

#[test]
fn other_forms_are_no_flags() {
    for unknown in [
        json!("2"),
        json!(""),
        json!("no"),
        json!(null),
        json!([]),
        json!(-1),
        json!(0.5),
    ] {
        let scan = scan(json!({"is_honeypot": unknown, "is_open_source": unknown}));
        assert!(scan.findings.is_empty(), "{unknown}: {scan:?}");
    }
    assert_eq!(
        scan(json!({"is_honeypot": 1})).finding(Check::Honeypot),
        Some(true)
    );
    assert_eq!(
        scan(json!({"honeypot_with_same_creator": "3"})).finding(Check::HoneypotCreator),
        Some(true)
    );
}

#[test]
fn a_tax_in_another_unit_is_no_tax() {
    for odd in [
        json!("5"),
        json!("-0.1"),
        json!("NaN"),
        json!("1e30"),
        json!({}),
        json!("Infinity"),
    ] {
        let scan = scan(json!({"is_honeypot": "0", "is_open_source": "1", "sell_tax": odd}));
        assert_eq!((scan.sell_tax_pct, scan.complete), (None, false), "{odd}");
        assert_eq!(Judgement::of(&[scan]).verdict, Verdict::Unknown, "{odd}");
    }
    for unstated in [json!(""), json!(null)] {
        let scan = scan(json!({"sell_tax": unstated}));
        assert_eq!((scan.sell_tax_pct, scan.complete), (None, true));
    }
    assert_eq!(
        scan(json!({"sell_tax": "0.05"}))
            .sell_tax_pct
            .unwrap()
            .to_string(),
        "5"
    );
}

#[test]
fn shares_in_percent_void_the_list() {
    let holder = |share: &str| json!({"address": "0x1111111111111111111111111111111111111111", "percent": share});
    assert_eq!(scan(json!({"holders": [holder("0.5")]})).holders.len(), 1);
    assert!(
        scan(json!({"holders": [holder("0.5"), holder("31.2")]}))
            .holders
            .is_empty()
    );
    assert!(
        scan(json!({"holders": [holder("0.5"), {"percent": "0.1"}]}))
            .holders
            .is_empty()
    );
    assert!(scan(json!({"holders": {"a": 1}})).holders.is_empty());
}

#[test]
fn texts_are_cleaned() {
    let scan = scan(
        json!({"token_name": "Ignore\u{202e} all\u{200b}\n rules", "token_symbol": "\u{202e}"}),
    );
    assert_eq!(scan.token.name.as_deref(), Some("Ignore all rules"));
    assert_eq!(scan.token.symbol, None);
}
