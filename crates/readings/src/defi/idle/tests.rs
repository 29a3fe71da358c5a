//! Tests of which balances are idle, and of the market that each one could use.

use super::{super::market::tests::market, *};

const USDG: &str = "0x4ae46a509f6b1d9056937ba4500cb143933d2dc8";
const WETH_ON_BASE: &str = "0x4200000000000000000000000000000000000006";

fn holding(chain_id: u64, token: Option<&str>, amount: &str, usd: Option<&str>) -> Holding {
    Holding {
        chain_id,
        token: token.map(str::to_owned),
        amount: amount.parse().unwrap(),
        usd: usd.map(|usd| usd.parse().unwrap()),
    }
}

fn of(symbol: &str, underlying: &str, apy: &str, tvl: &str) -> Market {
    Market {
        underlying: vec![underlying.to_owned()],
        ..market(&format!("{symbol}-{apy}"), symbol, apy, tvl)
    }
}

#[test]
fn the_best_calm_market_of_the_same_token_is_named() {
    let markets = [
        of("USDG", USDG, "4.1", "30000000"),
        of("USDG", USDG, "5.2", "18400000"),
        // These markets have a higher yield, but take another contract or are on another chain, are
        // small, or have a high risk.
        of(
            "USDG",
            "0x9999999999999999999999999999999999999999",
            "9",
            "30000000",
        ),
        Market {
            chain_id: Some(1),
            ..of("USDG", USDG, "9", "30000000")
        },
        of("USDG", USDG, "40", "1500000"),
        Market {
            single_asset: Some(false),
            ..of("USDG", USDG, "9", "30000000")
        },
    ];
    let rows = idle(
        &[holding(196, Some(USDG), "820.5", Some("820.509"))],
        &markets,
    );
    assert_eq!(
        serde_json::to_value(&rows).unwrap(),
        serde_json::json!([{
            "chain_id": 196, "token": "USDG", "token_address": USDG, "amount": "820.5", "usd": "820.5",
            "best": {"pool": "USDG-5.2", "project": "aave-v3", "apy_pct": "5.2", "expected_usd_year": "42.66"},
        }])
    );
    assert_eq!(total_usd(&rows).unwrap().to_string(), "820.5");
}

#[test]
fn a_deposit_takes_at_most_a_tenth_of_a_market() {
    let markets = [of("USDG", USDG, "5.2", "18400000")];
    let best = |usd: &str| {
        idle(&[holding(196, Some(USDG), "1", Some(usd))], &markets)[0]
            .best
            .is_some()
    };
    assert!(best("1840000"));
    assert!(!best("1840001"));
}

#[test]
fn symbols_prove_nothing_and_earning_tokens_are_not_idle() {
    let holdings = [
        // These tokens are an imitation of USDG, then aUSDG, then OKB.
        holding(
            196,
            Some("0x9999999999999999999999999999999999999999"),
            "1000000",
            Some("1000000"),
        ),
        holding(
            196,
            Some("0x228765a3C18065C923F23a0CCb6c7cEFB3eA2223"),
            "10",
            Some("10"),
        ),
        holding(196, None, "10", Some("1000")),
        // This token has USDG's address, but on another chain.
        holding(1, Some(USDG), "10", Some("10")),
        // These balances are dust and zero.
        holding(196, Some(USDG), "0.99", Some("0.99")),
        holding(196, Some(USDG), "0", Some("0")),
    ];
    assert_eq!(idle(&holdings, &[]), []);
    assert_eq!(total_usd(&[]).unwrap().to_string(), "0");
}

#[test]
fn ether_goes_into_markets_of_its_wrapped_form() {
    let base = |market: Market| Market {
        chain_id: Some(8453),
        ..market
    };
    let ether = [holding(8453, None, "1.5", Some("4500"))];
    let wrapped = base(of("WETH", WETH_ON_BASE, "2.1", "90000000"));
    assert_eq!(
        idle(&ether, &[wrapped])[0]
            .best
            .as_ref()
            .unwrap()
            .apy_pct
            .to_string(),
        "2.1"
    );
    let native = base(of(
        "ETH",
        "0x0000000000000000000000000000000000000000",
        "2.2",
        "90000000",
    ));
    assert!(idle(&ether, &[native])[0].best.is_some());
    let other = base(of(
        "OETH",
        "0x0000000000000000000000000000000000000000",
        "9",
        "90000000",
    ));
    assert_eq!(idle(&ether, &[other])[0].best, None);
}

#[test]
fn a_balance_without_a_price_is_shown_without_a_value() {
    let markets = [of("USDG", USDG, "5.2", "18400000")];
    let rows = idle(
        &[
            holding(196, Some(USDG), "5", None),
            holding(196, Some(USDG), "5", Some("5")),
        ],
        &markets,
    );
    assert_eq!(rows[1].usd, None);
    assert_eq!(rows[1].best.as_ref().unwrap().expected_usd_year, None);
    assert_eq!(total_usd(&rows).unwrap().to_string(), "5");
    assert_eq!(total_usd(&rows[1..]), None, "of an unknown value");
}
