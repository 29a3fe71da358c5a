//! Tests of rows, filters, merging, ranking and pages.

use super::{
    super::{grade::Appetite, pool::tests::pool},
    *,
};

pub(in super::super) fn market(id: &str, symbol: &str, apy: &str, tvl: &str) -> Market {
    let pool = Pool {
        id: id.to_owned(),
        apy_base_pct: Some(apy.parse().unwrap()),
        mean_30d_pct: Some(apy.parse().unwrap()),
        tvl_usd: tvl.parse().unwrap(),
        ..pool(symbol)
    };
    Market::of_pool(&pool, "defillama.pools").unwrap()
}

fn quoted(apy: &str) -> Quoted {
    Quoted {
        pool: "okx-124561".to_owned(),
        chain_id: 196,
        chain: "X Layer".to_owned(),
        project: "Aave V3".to_owned(),
        symbol: "USD₮0".to_owned(),
        underlying: None,
        apy_pct: apy.parse().unwrap(),
        is_base: false,
        tvl_usd: "31234567.8".parse().unwrap(),
        il_risk: None,
        source: "okx.defi",
    }
}

fn ids(markets: &[Market]) -> Vec<&str> {
    markets.iter().map(|market| market.pool.as_str()).collect()
}

#[test]
fn a_row_has_the_documented_members() {
    let row = serde_json::to_value(market("p", "USDT0", "4.12", "31234567")).unwrap();
    let expected = serde_json::json!({
        "pool": "p", "chain": "X Layer", "chain_id": 196, "project": "aave-v3", "symbol": "USDT0",
        "apy_pct": "4.12", "apy_base_pct": "4.12", "apy_reward_pct": null, "tvl_usd": "31234567",
        "il_risk": "no", "stablecoin": true, "risk_grade": "A",
        "why": ["liquidity of 10 to 100 million dollars", "base yield only"],
        "source": "defillama.pools", "also_reported": [],
    });
    assert_eq!(row, expected);
}

#[test]
fn assets_are_found_by_component_and_imitations_are_not() {
    let pair = market("p", "WETH-USD₮0", "4", "2000000");
    let key = |text: &str| SymbolKey::new(text).unwrap();
    assert!(
        pair.holds(&key("usdt0")) && pair.holds(&key("WETH")) && pair.holds(&key("weth-usdt0"))
    );
    assert!(!pair.holds(&key("USDТ0")), "a Cyrillic letter");
    assert!(!pair.holds(&key("USD")) && !pair.holds(&key("ETH")));
}

#[test]
fn each_filter_is_respected() {
    let one = market("p", "USDG", "4", "2000000");
    let wants = |filter: Filter| filter.wants(&one);
    assert!(wants(Filter::default()));
    assert!(wants(Filter {
        chain_id: Some(196),
        protocol: Some("AAVE v3".into()),
        stable: Some(true),
        ..Filter::default()
    }));
    assert!(!wants(Filter {
        chain_id: Some(1),
        ..Filter::default()
    }));
    assert!(!wants(Filter {
        asset: SymbolKey::new("USDC"),
        ..Filter::default()
    }));
    assert!(!wants(Filter {
        protocol: Some("aave".into()),
        ..Filter::default()
    }));
    assert!(!wants(Filter {
        protocol: Some("-".into()),
        ..Filter::default()
    }));
    assert!(!wants(Filter {
        stable: Some(false),
        ..Filter::default()
    }));
    assert!(!wants(Filter {
        min_tvl: Some(Decimal::from(2_000_001)),
        ..Filter::default()
    }));
    // A market of which it is unknown whether it is stable is not shown with either filter.
    let unknown = Market {
        stablecoin: None,
        ..one.clone()
    };
    for stable in [true, false] {
        assert!(
            !Filter {
                stable: Some(stable),
                ..Filter::default()
            }
            .wants(&unknown)
        );
    }
}

#[test]
fn the_same_market_of_two_sources_is_one_row() {
    let known = market("p", "USDT0", "4.12", "31234567");
    let agreeing = Market::of_quoted(&quoted("4.2")).unwrap();
    let rows = merged(vec![known.clone()], vec![agreeing]);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].also_reported[0].apy_pct.to_string(), "4.2");
    assert_eq!(rows[0].why, known.why);

    let disagreeing = Market::of_quoted(&quoted("412")).unwrap();
    let rows = merged(vec![known.clone()], vec![disagreeing]);
    assert_eq!(rows[0].apy_pct, known.apy_pct);
    assert!(rows[0].why.contains(&"okx.defi states 412 %".to_owned()));

    // One source states only the base. It agrees with a yield of base and reward.
    let rewarded = Market {
        apy_pct: "6.2".parse().unwrap(),
        ..known.clone()
    };
    let base = Market::of_quoted(&quoted("4.1")).unwrap();
    assert_eq!(merged(vec![rewarded], vec![base])[0].why, known.why);

    let elsewhere = Market::of_quoted(&Quoted {
        chain_id: 8453,
        ..quoted("4.2")
    })
    .unwrap();
    assert_eq!(merged(vec![known.clone()], vec![elsewhere]).len(), 2);
    let another = Market::of_quoted(&Quoted {
        symbol: "USDG".into(),
        ..quoted("4.2")
    })
    .unwrap();
    assert_eq!(merged(vec![known], vec![another]).len(), 2);
}

#[test]
fn two_tokens_of_one_name_are_two_markets() {
    let with = |address: &str| Market {
        underlying: vec![address.to_owned()],
        ..market("p", "USDC", "4", "2000000")
    };
    let bridged = with("0x74b7f16337b8972027f6196a17a631ac6de26d22");
    let native = with("0xB6CEceAB302E2E4948951eE7843FC24E92933061");
    assert_eq!(merged(vec![bridged.clone()], vec![native]).len(), 2);
    let upper = with("0x74B7F16337B8972027F6196A17A631AC6DE26D22");
    assert_eq!(merged(vec![bridged], vec![upper]).len(), 1);
}

#[test]
fn a_quoted_yield_without_history_is_not_of_the_best_grade() {
    let row = Market::of_quoted(&quoted("4.2")).unwrap();
    assert_eq!(row.risk_grade, Grade::C);
    assert_eq!(row.stablecoin, None, "no address, no class");
    // The source does not state the fact, so it is unknown.
    assert_eq!(row.il_risk, None);
    assert!(!Appetite::Low.takes(&row));
    assert!(
        row.why
            .contains(&"risk of impermanent loss not stated".to_owned())
    );
    let lent = Market::of_quoted(&Quoted {
        il_risk: Some(false),
        ..quoted("4.2")
    });
    assert_eq!(lent.unwrap().il_risk, Some("no"));
    for bad in ["0", "-1", "1001"] {
        assert_eq!(Market::of_quoted(&quoted(bad)), None, "{bad}");
    }
    assert_eq!(
        Market::of_quoted(&Quoted {
            tvl_usd: "999999".parse().unwrap(),
            ..quoted("4")
        }),
        None
    );
}

#[test]
fn a_risky_yield_has_to_be_much_higher() {
    let calm = market("calm", "USDC", "5", "500000000");
    let risky = market("risky", "USDC", "40", "2000000");
    assert_eq!((calm.risk_grade, risky.risk_grade), (Grade::A, Grade::C));
    let bait = Market {
        risk_grade: Grade::D,
        apy_pct: "24".parse().unwrap(),
        pool: "bait".into(),
        ..risky.clone()
    };
    assert_eq!(
        ids(&ranked(&[bait, calm, risky], Extent::First)),
        ["risky", "calm", "bait"]
    );
    assert!(!Appetite::Low.takes_grade(Grade::C));
}

#[test]
fn rows_appear_once_and_rankings_end() {
    let pools: Vec<_> = (0..40)
        .map(|n| Pool {
            id: format!("p{}", n % 30),
            ..pool("USDC")
        })
        .collect();
    let rows = shown(&pools, "defillama.pools");
    assert_eq!(rows.len(), 30);
    assert_eq!(ranked(&rows, Extent::First).len(), MAX_RANKED);
    assert_eq!(ranked(&rows, Extent::Whole).len(), rows.len());
}

#[test]
fn pages_follow_each_other_without_gap_or_repeat() {
    let all: Vec<_> = (0..7)
        .map(|n| {
            market(
                &format!("p{n}"),
                "USDC",
                if n < 4 { "4" } else { "5" },
                "2000000",
            )
        })
        .collect();
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let at = cursor
            .as_deref()
            .map(|text| Cursor::parse(text, Sort::Apy).unwrap());
        let page = page(all.iter().collect(), Sort::Apy, at.as_ref(), 3);
        assert_eq!(page.count, 7);
        seen.extend(page.rows.iter().map(|row| row.pool.clone()));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["p4", "p5", "p6", "p0", "p1", "p2", "p3"]);
}

#[test]
fn a_page_goes_on_when_its_last_row_is_gone() {
    let all = |gone: &str| {
        let rows = [("a", "9"), ("b", "8"), ("c", "7")]
            .map(|(id, apy)| market(id, "USDC", apy, "2000000"));
        rows.into_iter()
            .filter(|row| row.pool != gone)
            .collect::<Vec<_>>()
    };
    let (before, after) = (all(""), all("b"));
    let first = page(before.iter().collect(), Sort::Apy, None, 2);
    let cursor = Cursor::parse(&first.next_cursor.unwrap(), Sort::Apy).unwrap();
    assert_eq!(
        ids(&page(after.iter().collect(), Sort::Apy, Some(&cursor), 2).rows),
        ["c"]
    );
}

#[test]
fn cursors_of_other_lists_are_refused() {
    for text in [
        "",
        "apy",
        "apy:4",
        "apy:4:",
        "apy:x:p",
        "tvl:4:p",
        "apr:4:p",
        "apy:NaN:p",
    ] {
        assert_eq!(Cursor::parse(text, Sort::Apy), Err(CursorError), "{text}");
    }
    assert!(Cursor::parse("apy:4.12:okx-1:2", Sort::Apy).is_ok());
}

#[test]
fn a_yield_that_is_stated_whole_is_not_split() {
    let split = "split of base and reward not stated".to_owned();
    let whole = Market::of_quoted(&quoted("4.2")).unwrap();
    assert_eq!((whole.apy_base_pct, whole.apy_reward_pct), (None, None));
    assert!(!whole.reward_known && whole.why.contains(&split));
    assert!(!whole.why.contains(&"base yield only".to_owned()));
    // The rate of a reserve is only its base. Its rewards were not read.
    let base = Quoted {
        is_base: true,
        ..quoted("4.2")
    };
    let base = Market::of_quoted(&base).unwrap();
    assert_eq!(base.apy_base_pct, Some(base.apy_pct));
    assert!(!base.reward_known && base.why.contains(&split));
    assert!(market("p", "USDT0", "4.12", "31234567").reward_known);
}
