//! Tests of recommendations: gas, risk, room, unknown costs and liquidity.

use super::{super::market::tests::market, *};

fn wish(amount: i64) -> Wish<'static> {
    Wish {
        amount_usd: Decimal::from(amount),
        asset: None,
        token: None,
        appetite: Appetite::Low,
        chains: None,
    }
}

/// A million units of gas cost this many dollars, so the deposit and the withdrawal of one asset
/// cost 0.65 of them.
fn gas(chain_id: u64, usd: &str) -> BTreeMap<u64, GasPrice> {
    let usd_per_million = usd.parse().unwrap();
    BTreeMap::from([(chain_id, GasPrice { usd_per_million })])
}

fn pools(rows: &[Recommendation]) -> Vec<&str> {
    rows.iter().map(|row| row.pool.as_str()).collect()
}

#[test]
fn gas_is_taken_from_the_yield() {
    let markets = [market("p", "USDG", "5.2", "18400000")];
    // Gas of 6.5 dollars on 1000 is 0.65 % of the first year. With 52 dollars a year it is earned
    // in 45.625 days.
    let rows = recommend(&markets, &wish(1_000), &gas(196, "10"));
    assert_eq!(
        serde_json::to_value(&rows[0]).unwrap(),
        serde_json::json!({
            "pool": "p", "chain_id": 196, "protocol": "aave-v3", "asset": "USDG", "amount_usd": "1000",
            "apy_pct": "5.2", "apy_after_gas_pct": "4.55", "net_apy_pct": "4.55", "not_counted": [], "est_gas_usd": "6.5", "breakeven_days": "45.63",
            "exit_liquidity_usd": "18400000", "risk_grade": "A",
            "why": ["liquidity of 10 to 100 million dollars", "base yield only"],
        })
    );
}

#[test]
fn a_yield_that_gas_eats_is_no_recommendation() {
    let markets = [market("p", "USDG", "5.2", "18400000")];
    assert_eq!(recommend(&markets, &wish(125), &gas(196, "10")), []);
    assert_eq!(recommend(&markets, &wish(126), &gas(196, "10")).len(), 1);
    assert_eq!(recommend(&markets, &wish(0), &gas(196, "10")), []);
    assert_eq!(recommend(&markets, &wish(-5), &gas(196, "10")), []);
}

#[test]
fn unknown_gas_is_not_free_gas() {
    let on_base = Market {
        chain_id: Some(8453),
        pool: "base".into(),
        ..market("p", "USDG", "9", "18400000")
    };
    let markets = [on_base, market("p", "USDG", "5.2", "18400000")];
    let rows = recommend(&markets, &wish(1_000), &gas(196, "0.01"));
    assert_eq!(pools(&rows), ["p", "base"], "what is known comes first");
    assert_eq!(
        (
            rows[1].net_apy_pct,
            rows[1].est_gas_usd,
            rows[1].breakeven_days
        ),
        (None, None, None)
    );
    assert!(rows[1].why.contains(&"gas cost not known".to_owned()));
}

#[test]
fn risk_chain_asset_and_room_are_respected() {
    let markets = [
        market("calm", "USDG", "5", "18400000"),
        market("wild", "USDC", "40", "2000000"),
    ];
    let gas = gas(196, "0.01");
    let of = |wish: &Wish<'_>| pools(&recommend(&markets, wish, &gas)).join(",");
    assert_eq!(of(&wish(1_000)), "calm");
    assert_eq!(
        of(&Wish {
            appetite: Appetite::Medium,
            ..wish(1_000)
        }),
        "wild,calm"
    );
    assert_eq!(
        of(&Wish {
            appetite: Appetite::High,
            ..wish(200_001)
        }),
        "calm",
        "a tenth of the market"
    );
    assert_eq!(
        of(&Wish {
            chains: Some(&[1]),
            ..wish(1_000)
        }),
        ""
    );
    let usdc = SymbolKey::new("usdc").unwrap();
    assert_eq!(
        of(&Wish {
            asset: Some(&usdc),
            ..wish(1_000)
        }),
        ""
    );
    let nowhere = [Market {
        chain_id: None,
        ..markets[0].clone()
    }];
    assert_eq!(
        recommend(&nowhere, &wish(1_000), &gas),
        [],
        "a chain that is not read"
    );
}

#[test]
fn low_risk_has_no_impermanent_loss_and_a_net_figure_has_no_cost_left_out() {
    let pool = |name: &str, il_risk, single| Market {
        il_risk,
        single_asset: Some(single),
        ..market(name, "USDC-WETH", "17.6", "900000000")
    };
    let markets = [
        pool("pair", Some("yes"), false),
        pool("unsaid", None, true),
        pool("stables", Some("no"), false),
        market("calm", "USDG", "5", "18400000"),
    ];
    let of = |appetite| {
        let wish = Wish {
            appetite,
            ..wish(1_000)
        };
        recommend(&markets, &wish, &gas(196, "0.01"))
    };
    assert_eq!(pools(&of(Appetite::Low)), ["calm", "stables"]);
    let rows = of(Appetite::High);
    // A row with known costs comes before a row with unknown ones.
    assert_eq!(rows[0].pool, "calm");
    let row = |pool: &str| rows.iter().find(|row| row.pool == pool).unwrap();
    let costs = |pool| {
        let row = row(pool);
        (row.net_apy_pct.is_some(), row.not_counted.clone())
    };
    assert_eq!(costs("calm"), (true, vec![]));
    assert_eq!(costs("stables"), (false, vec!["swap_into_other_assets"]));
    assert_eq!(costs("unsaid"), (false, vec!["impermanent_loss"]));
    assert_eq!(
        costs("pair"),
        (false, vec!["swap_into_other_assets", "impermanent_loss"])
    );
    let pair = row("pair");
    assert!(pair.apy_after_gas_pct.is_some() && pair.breakeven_days.is_none());
}

#[test]
fn the_liquidity_is_stated_only_where_it_is_known() {
    let staking = Market {
        project: "lido".into(),
        ..market("lido", "STETH", "3", "900000000")
    };
    let pair = Market {
        single_asset: Some(false),
        project: "uniswap-v3".into(),
        ..market("lp", "USDC-USDT", "3", "900000000")
    };
    let rows = recommend(&[staking, pair], &wish(1_000), &gas(196, "0.01"));
    let exit = |pool: &str| {
        rows.iter()
            .find(|row| row.pool == pool)
            .unwrap()
            .exit_liquidity_usd
    };
    assert_eq!(exit("lido"), None);
    assert_eq!(exit("lp").unwrap().to_string(), "900000000");
}

#[test]
fn an_account_gets_advice_for_its_balances() {
    let usdg = "0x4ae46a509f6b1d9056937ba4500cb143933d2dc8";
    let holding = |token: &str, usd: Option<&str>| Holding {
        chain_id: 196,
        token: Some(token.to_owned()),
        amount: "5000".parse().unwrap(),
        usd: usd.map(|usd| usd.parse().unwrap()),
    };
    let markets = [
        Market {
            underlying: vec![usdg.to_owned()],
            ..market("usdg", "USDG", "5", "18400000")
        },
        market("usdc", "USDC", "9", "18400000"),
    ];
    let gas = gas(196, "0.01");
    let holdings = [
        holding(usdg, Some("5000")),
        holding("0x9999999999999999999999999999999999999999", Some("9")),
    ];
    let rows = recommend_for(&holdings, &markets, &wish(1), &gas);
    assert_eq!(pools(&rows), ["usdg"]);
    assert_eq!(rows[0].amount_usd.to_string(), "5000");
    let usdc = SymbolKey::new("USDC").unwrap();
    assert_eq!(
        recommend_for(
            &holdings,
            &markets,
            &Wish {
                asset: Some(&usdc),
                ..wish(1)
            },
            &gas
        ),
        []
    );
    assert_eq!(
        recommend_for(&[holding(usdg, None)], &markets, &wish(1), &gas),
        []
    );
}
