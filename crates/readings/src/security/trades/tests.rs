//! Tests of the signs and prices that probes give.

use super::*;

fn quoted(amount_in: u64, amount_out: u64) -> Traded {
    Traded::Quoted(Quoted {
        amount_in_atoms: U256::from(amount_in),
        amount_out_atoms: U256::from(amount_out),
        price_impact_pct: Some("-0.1".parse().unwrap()),
        hops: Some(2),
        honeypot: Some(false),
        received_decimals: Some(3),
    })
}

/// Makes two probes: ten and a thousand dollars go in, and these amounts come back.
fn trades(back_of_10: Traded, back_of_1000: Traded) -> Trades {
    let buy = |usd: u64| quoted(usd * 1_000_000, usd * 500);
    let probes = vec![
        Probe {
            usd: 10,
            buy: buy(10),
            sell: back_of_10,
        },
        Probe {
            usd: 1000,
            buy: buy(1000),
            sell: back_of_1000,
        },
    ];
    Trades {
        probes,
        atoms_per_usd: 1_000_000,
    }
}

fn check(trades: &Trades, signs: &[(&str, RiskLevel)]) {
    let found: Vec<_> = trades
        .signs()
        .iter()
        .map(|sign| (sign.name, sign.level))
        .collect();
    assert_eq!(found, signs, "{trades:?}");
}

#[test]
fn a_liquid_token_has_no_signs() {
    let found = trades(quoted(5000, 9_970_000), quoted(500_000, 990_000_000));
    check(&found, &[]);
    assert_eq!(found.possible(TradeSide::Buy), Some(true));
    assert_eq!(found.possible(TradeSide::Sell), Some(true));
    assert_eq!(found.price_impact_pct().unwrap().to_string(), "-0.1");
    assert_eq!(found.most_hops(), Some(2));
    assert_eq!(
        found.probes[0]
            .round_trip_loss_pct()
            .unwrap()
            .normalize()
            .to_string(),
        "0.3"
    );
    // Ten dollars buy 5000 atoms with three decimals, so a token costs two dollars.
    assert_eq!(found.buy_price_usd().unwrap().normalize().to_string(), "2");
}

#[test]
fn an_unsellable_token_is_a_trap() {
    let trap = trades(Traded::NoRoute, Traded::NoRoute);
    check(&trap, &[("cannot_sell", RiskLevel::Critical)]);
    assert_eq!(trap.possible(TradeSide::Sell), Some(false));
    // When a source fails, there is no answer.
    let down = || Traded::Unavailable("upstream_timeout".to_owned());
    for unknown in [
        trades(down(), down()),
        trades(Traded::NoRoute, down()),
        Trades::default(),
    ] {
        assert_eq!(unknown.possible(TradeSide::Sell), None);
        check(&unknown, &[]);
    }
    let nowhere = Probe {
        usd: 10,
        buy: Traded::NoRoute,
        sell: Traded::NoRoute,
    };
    let nowhere = Trades {
        probes: vec![nowhere],
        atoms_per_usd: 1_000_000,
    };
    check(&nowhere, &[("not_traded", RiskLevel::Medium)]);
}

#[test]
fn a_missing_route_for_the_largest_size_is_a_thin_market() {
    let sold_10 = || quoted(5000, 9_970_000);
    let no_sale = trades(sold_10(), Traded::NoRoute);
    check(&no_sale, &[("thin_market", RiskLevel::High)]);
    let mut no_purchase = trades(sold_10(), quoted(500_000, 990_000_000));
    no_purchase.probes[1].buy = Traded::NoRoute;
    check(&no_purchase, &[("thin_market", RiskLevel::Medium)]);
    // An unknown route is not a missing route.
    let down = Traded::Unavailable("upstream_timeout".to_owned());
    check(&trades(sold_10(), down), &[]);
    // A route only for larger amounts is odd, but it is not a thin market.
    check(&trades(Traded::NoRoute, quoted(500_000, 990_000_000)), &[]);
}

#[test]
fn unstated_hops_are_not_counted_as_zero() {
    let mut found = trades(quoted(5000, 9_970_000), Traded::NoRoute);
    for probe in &mut found.probes {
        for side in [&mut probe.buy, &mut probe.sell] {
            if let Traded::Quoted(quote) = side {
                quote.hops = None;
            }
        }
    }
    assert_eq!(found.most_hops(), None);
}

#[test]
fn the_traded_price_is_unknown_when_the_round_trip_loses_much() {
    let price = |back| {
        let found = trades(quoted(5000, back), Traded::NoRoute).traded_price_usd();
        found.map(|price| price.normalize().to_string())
    };
    // Ten dollars buy five tokens, and the five sell for 9.97 dollars.
    assert_eq!(price(9_970_000).as_deref(), Some("1.994"));
    assert_eq!(price(9_000_000).as_deref(), Some("1.8"));
    assert_eq!(price(8_990_000), None);
    assert_eq!(
        trades(Traded::NoRoute, quoted(1, 1)).traded_price_usd(),
        None
    );
}

#[test]
fn amounts_have_the_requested_worth() {
    let worth = |usd, price: &str, decimals| {
        atoms_worth(usd, price.parse().unwrap(), decimals).map(|atoms| atoms.to_string())
    };
    assert_eq!(worth(10, "2.5", 18).as_deref(), Some("4000000000000000000"));
    assert_eq!(worth(1000, "97251.4", 8).as_deref(), Some("1028262"));
    assert_eq!(worth(10, "0.000000001", 0).as_deref(), Some("10000000000"));
    for none in [("0", 18), ("97251.4", 0), ("0.0000001", 255)] {
        assert_eq!(worth(10, none.0, none.1), None, "{none:?}");
    }
}

#[test]
fn losses_rise_in_steps() {
    for (back, signs) in [
        (9_710_000, None),
        (9_700_000, Some(RiskLevel::Medium)),
        (9_000_000, Some(RiskLevel::High)),
        (5_000_000, Some(RiskLevel::Critical)),
        (0, Some(RiskLevel::Critical)),
    ] {
        let found = trades(quoted(5000, back), quoted(500_000, 990_000_000));
        let signs: Vec<_> = signs
            .map(|level| ("round_trip_loss", level))
            .into_iter()
            .collect();
        check(&found, &signs);
    }
    let thin = trades(quoted(5000, 9_970_000), quoted(500_000, 880_000_000));
    check(&thin, &[("thin_market", RiskLevel::Medium)]);
    let empty = trades(quoted(5000, 9_970_000), quoted(500_000, 1));
    check(&empty, &[("thin_market", RiskLevel::High)]);
}

#[test]
fn a_sale_of_another_amount_is_no_round_trip() {
    let other = trades(quoted(1, 1), quoted(500_000, 990_000_000));
    assert_eq!(other.probes[0].round_trip_loss_pct(), None);
    check(&other, &[]);
}

#[test]
fn the_exchange_may_know_a_honeypot() {
    let mut found = trades(quoted(5000, 9_970_000), quoted(500_000, 990_000_000));
    let Traded::Quoted(quote) = &mut found.probes[1].sell else {
        panic!()
    };
    quote.honeypot = Some(true);
    check(&found, &[("honeypot", RiskLevel::Critical)]);
}

#[test]
fn amounts_beyond_a_decimal_give_no_ratio() {
    let huge = Traded::Quoted(Quoted {
        amount_in_atoms: U256::MAX,
        amount_out_atoms: U256::MAX,
        price_impact_pct: None,
        hops: Some(1),
        honeypot: None,
        received_decimals: None,
    });
    let probe = Probe {
        usd: 10,
        buy: huge.clone(),
        sell: huge,
    };
    assert_eq!(probe.round_trip_loss_pct(), None);
}
