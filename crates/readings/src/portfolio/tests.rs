//! Tests of balances: values, sums, missing readings, flagged tokens, and indexes.

use alloy_primitives::address;
use serde_json::json;

use super::*;

const ACCOUNT: Address = address!("1111111111111111111111111111111111111111");
const USDT0: Address = address!("779Ded0c9e1022225f8E0630b35a9b54bE713736");

fn holding(asset: Asset, symbol: &str, raw: u64, decimals: u8, price: &str) -> Holding {
    Holding {
        asset,
        symbol: Some(symbol.to_owned()),
        decimals: Some(decimals),
        raw: Some(U256::from(raw)),
        amount: None,
        price_usd: price.parse().ok(),
        risk: Risk::Low,
    }
}

/// The reading of a chain, to which its own coin is added.
fn read(chain_id: u64, mut holdings: Vec<Holding>) -> ChainReading {
    if holdings
        .iter()
        .all(|holding| holding.asset != Asset::Native)
    {
        holdings.push(holding(Asset::Native, "ETH", 0, 18, "1"));
    }
    ChainReading {
        chain_id,
        holdings: Ok(holdings),
        coverage: Coverage::Indexed,
    }
}

fn token(n: u8) -> Asset {
    Asset::Token(Address::repeat_byte(n))
}

#[test]
fn values_are_exact_and_add_up() {
    let found = portfolio(
        ACCOUNT,
        vec![
            read(
                196,
                vec![
                    holding(Asset::Token(USDT0), "USD₮0", 42_500_000, 6, "1.0001"),
                    holding(
                        Asset::Native,
                        "OKB",
                        1_250_000_000_000_000_000,
                        18,
                        "118.42",
                    ),
                    holding(token(9), "NONE", 0, 6, "1"),
                ],
            ),
            read(
                8453,
                vec![holding(token(1), "USDC", 10_000_000, 6, "0.9999")],
            ),
        ],
    );
    let shown = serde_json::to_value(&found).unwrap();
    assert_eq!(shown["total_usd"], "200.52825");
    assert_eq!(shown["total_usd_complete"], true);
    assert_eq!(shown["flagged_usd"], "0");
    let tokens = shown["chains"][0]["tokens"].as_array().unwrap();
    assert_eq!(tokens.len(), 2);
    assert_eq!(
        tokens[0],
        json!({"address": "", "symbol": "OKB", "decimals": 18, "raw": "1250000000000000000", "amount": "1.25", "price_usd": "118.42", "value_usd": "148.025", "risk": "low"})
    );
    assert_eq!(
        tokens[1]["address"],
        "0x779Ded0c9e1022225f8E0630b35a9b54bE713736"
    );
    assert_eq!(tokens[1]["value_usd"], "42.50425");
}

#[test]
fn a_failed_chain_makes_the_total_partial_and_never_zero() {
    let down = |chain_id| ChainReading {
        chain_id,
        holdings: Err("upstream_timeout".to_owned()),
        coverage: Coverage::Indexed,
    };
    let some = portfolio(
        ACCOUNT,
        vec![read(196, vec![holding(token(1), "A", 1, 0, "3")]), down(1)],
    );
    assert_eq!(
        some.total_usd.map(|total| total.to_string()).as_deref(),
        Some("3")
    );
    assert!(!some.total_usd_complete);
    let shown = serde_json::to_value(&some).unwrap();
    assert_eq!(
        shown["chains"][1],
        json!({"chain_id": 1, "status": "unavailable", "reasons": ["upstream_timeout"], "coverage": "indexed", "usd": null, "tokens": null, "tokens_total": null})
    );
    let none = portfolio(ACCOUNT, vec![down(1), down(10)]);
    assert_eq!((none.total_usd, none.total_usd_complete), (None, false));
}

#[test]
fn an_unknown_value_is_named_and_not_counted_as_zero() {
    let mut unread = holding(token(1), "A", 0, 6, "1");
    unread.raw = None;
    let mut unpriced = holding(token(2), "B", 5, 0, "1");
    unpriced.price_usd = None;
    let mut no_unit = holding(token(3), "C", 5, 0, "1");
    no_unit.decimals = None;
    let found = portfolio(
        ACCOUNT,
        vec![read(
            1,
            vec![unread, unpriced, no_unit, holding(token(4), "D", 2, 0, "1")],
        )],
    );
    let chain = &found.chains[0];
    assert_eq!(
        chain.reasons,
        ["balance_unavailable", "decimals_unknown", "price_unknown"]
    );
    assert_eq!(chain.status, ChainStatus::Partial);
    assert!(!found.total_usd_complete);
    assert_eq!(found.total_usd.unwrap().to_string(), "2");
    let tokens = chain.tokens.as_ref().unwrap();
    assert_eq!(tokens[0].symbol.as_deref(), Some("D"));
    assert!(tokens[1..].iter().all(|token| token.value_usd.is_none()));
    let listed = ChainReading {
        coverage: Coverage::ListedTokens,
        ..read(1, Vec::new())
    };
    assert_eq!(
        portfolio(ACCOUNT, vec![listed]).chains[0].reasons,
        ["only_listed_tokens"]
    );
}

#[test]
fn a_chain_whose_own_coin_was_not_read_is_not_empty() {
    let of = |holdings: Vec<Holding>| {
        let reading = ChainReading {
            chain_id: 1,
            holdings: Ok(holdings),
            coverage: Coverage::Indexed,
        };
        portfolio(ACCOUNT, vec![reading])
    };
    let usd = |found: &Portfolio| found.chains[0].usd.map(|usd| usd.to_string());
    // An index that lists nothing does not prove that the account is empty.
    let silent = of(Vec::new());
    assert_eq!(silent.chains[0].status, ChainStatus::Partial);
    assert_eq!(silent.chains[0].reasons, ["native_balance_unread"]);
    assert_eq!((usd(&silent), silent.total_usd), (None, None));
    assert!(!silent.total_usd_complete);
    let token_only = of(vec![holding(token(1), "A", 2, 0, "1")]);
    assert_eq!(token_only.chains[0].reasons, ["native_balance_unread"]);
    assert_eq!(usd(&token_only).as_deref(), Some("2"));
    let empty = of(vec![holding(Asset::Native, "ETH", 0, 18, "1")]);
    assert_eq!(empty.chains[0].status, ChainStatus::Ok);
    assert_eq!(usd(&empty).as_deref(), Some("0"));
    assert!(empty.total_usd_complete);
    // A balance without a price is not worthless.
    let mut unpriced = holding(Asset::Native, "ETH", 5, 18, "1");
    unpriced.price_usd = None;
    let unpriced = of(vec![unpriced]);
    assert_eq!((usd(&unpriced), unpriced.total_usd), (None, None));
}

#[test]
fn flagged_tokens_are_shown_last_and_not_counted() {
    let mut scam = holding(token(1), "US\u{0421}D", 1_000_000, 0, "1");
    scam.risk = Risk::High;
    let mut odd = scam.clone();
    (odd.asset, odd.price_usd) = (token(2), None);
    let found = portfolio(
        ACCOUNT,
        vec![read(
            1,
            vec![scam, odd, holding(token(3), "DUST", 1, 6, "1")],
        )],
    );
    assert_eq!(found.total_usd.unwrap().to_string(), "0.000001");
    assert_eq!(found.flagged_usd.to_string(), "1000000");
    // A flagged token without a price does not make the sum incomplete.
    assert!(found.total_usd_complete);
    let tokens = found.chains[0].tokens.as_ref().unwrap();
    assert!(tokens[0].dust && !tokens[0].odd_symbol);
    assert!(tokens[1].odd_symbol && tokens[1].risk == Risk::High);
}

#[test]
fn unrated_tokens_have_a_sum_of_their_own() {
    let of = |asset: Asset, risk: Risk| {
        let mut sent = holding(asset, "FREE", 2, 0, "292065636");
        sent.risk = risk;
        let coin = holding(Asset::Native, "OKB", 1, 0, "118.42");
        portfolio(ACCOUNT, vec![read(196, vec![coin, sent])])
    };
    let sums = |of: &Portfolio| {
        (
            of.total_usd.unwrap().to_string(),
            of.unrated_usd.to_string(),
        )
    };
    let free = of(token(0xab), Risk::Unknown);
    assert_eq!(sums(&free), ("118.42".into(), "584131272".into()));
    assert_eq!(free.chains[0].reasons, ["not_rated"]);
    assert!(!free.total_usd_complete && free.unsupported().is_none());
    // A known token counts without a rating.
    let known = of(Asset::Token(USDT0), Risk::Unknown);
    assert_eq!(sums(&known), ("584131390.42".into(), "0".into()));
    assert!(known.total_usd_complete && known.unsupported().is_none());
    // A rated one counts, and is named because nothing else supports so large a part of the sum.
    let rated = of(token(0xab), Risk::Low);
    assert_eq!(sums(&rated), ("584131390.42".into(), "0".into()));
    let (chain_id, named) = rated.unsupported().unwrap();
    assert_eq!((chain_id, named.address), (196, token(0xab)));
}

#[test]
fn amounts_beyond_any_decimal_have_no_value_and_break_nothing() {
    let mut huge = holding(token(1), "H", 0, 0, "79228162514264337593543950335");
    huge.raw = Some(U256::MAX);
    let found = portfolio(
        ACCOUNT,
        vec![read(1, vec![huge, holding(token(2), "A", 1, 0, "1")])],
    );
    let tokens = found.chains[0].tokens.as_ref().unwrap();
    assert_eq!(
        tokens[1].amount.as_deref(),
        Some(U256::MAX.to_string().as_str())
    );
    assert_eq!(tokens[1].value_usd, None);
    assert!(!found.total_usd_complete, "{:?}", found.chains[0].reasons);
}

#[test]
fn long_lists_are_cut_and_counted() {
    let many = (0..400_u64).map(|n| {
        let address = Address::left_padding_from(&n.to_be_bytes());
        holding(Asset::Token(address), "A", 1, 0, "1")
    });
    let found = portfolio(ACCOUNT, vec![read(1, many.collect())]);
    assert_eq!(
        (
            found.chains[0].tokens.as_ref().unwrap().len(),
            found.chains[0].tokens_left_out,
            found.chains[0].tokens_total
        ),
        (300, 100, Some(400))
    );
    assert_eq!(found.total_usd.unwrap().to_string(), "400");
}

#[test]
fn units_follow_from_two_spellings_of_a_balance() {
    let of = |raw: u64, balance: &str| decimals_of(U256::from(raw), balance.parse().unwrap());
    assert_eq!(of(42_500_000, "42.5"), Some(6));
    assert_eq!(of(5, "5"), Some(0));
    assert_eq!(of(0, "0"), None);
    assert_eq!(of(42_500_000, "42.6"), None);
}

#[test]
fn amounts_come_from_the_chain_and_values_from_the_index() {
    let mut onchain = holding(token(1), "A", 7, 6, "1");
    (onchain.price_usd, onchain.risk) = (None, Risk::Unknown);
    let mut failed = holding(token(2), "B", 0, 6, "1");
    failed.raw = None;
    let indexed = vec![
        holding(token(1), "stale", 9, 18, "2"),
        holding(token(2), "B", 3, 6, "1"),
        holding(token(3), "C", 4, 6, "1"),
    ];
    let merged = merge(vec![onchain, failed], indexed);
    let seen: Vec<_> = merged
        .iter()
        .map(|holding| {
            (
                holding.symbol.as_deref().unwrap(),
                holding.raw.unwrap().to::<u64>(),
                holding.decimals,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [("A", 7, Some(6)), ("B", 3, Some(6)), ("C", 4, Some(6))]
    );
    assert_eq!(merged[0].price_usd.unwrap().to_string(), "2");
    assert_eq!(merged[0].risk, Risk::Low);
}

#[test]
fn a_balance_that_is_zero_on_the_chain_is_not_restored_by_an_index() {
    let spent = holding(token(1), "A", 0, 6, "1");
    let merged = merge(vec![spent], vec![holding(token(1), "A", 9, 6, "1")]);
    let found = portfolio(ACCOUNT, vec![read(1, merged)]);
    assert_eq!(found.chains[0].tokens.as_deref(), Some(&[][..]));
    assert_eq!(found.total_usd.unwrap().to_string(), "0");
}

#[test]
fn a_balance_in_whole_units_alone_is_valued() {
    let mut whole = holding(token(1), "A", 0, 6, "2");
    (whole.raw, whole.decimals, whole.amount) = (None, None, "1.5".parse().ok());
    let found = portfolio(ACCOUNT, vec![read(1, vec![whole.clone()])]);
    let shown = serde_json::to_value(&found.chains[0]).unwrap();
    assert_eq!(
        (&shown["status"], &shown["usd"]),
        (&json!("ok"), &json!("3"))
    );
    assert_eq!(
        (&shown["tokens"][0]["amount"], &shown["tokens"][0]["raw"]),
        (&json!("1.5"), &json!(null))
    );
    // A node's atoms count before an index's whole units.
    let merged = merge(vec![holding(token(1), "A", 7, 6, "1")], vec![whole.clone()]);
    assert_eq!(
        (merged[0].raw, merged[0].amount),
        (Some(U256::from(7)), None)
    );
    whole.amount = "0".parse().ok();
    let none = portfolio(ACCOUNT, vec![read(1, vec![whole])]);
    assert_eq!(none.chains[0].tokens.as_deref(), Some(&[][..]));
}
