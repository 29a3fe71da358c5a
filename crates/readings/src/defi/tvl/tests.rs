//! Tests of which protocols and chains count, of movers, shares and look-ups.

use super::*;

fn figure(text: &str) -> Figure {
    text.parse().unwrap()
}

fn protocol(slug: &str, category: &str, tvl: &str, change: Option<&str>) -> Protocol {
    Protocol {
        slug: slug.to_owned(),
        name: slug.replace('-', " "),
        category: Some(category.to_owned()),
        family: slug.split_once('-').map(|(family, _)| family.to_owned()),
        tvl_usd: figure(tvl),
        by_chain: vec![("X Layer".to_owned(), figure(tvl))],
        change_1d_pct: change.map(figure),
        change_7d_pct: None,
    }
}

fn chain(name: &str, tvl: &str) -> ChainTvl {
    ChainTvl {
        name: name.to_owned(),
        chain_id: super::super::chains::id_of(name),
        tvl_usd: figure(tvl),
    }
}

fn slugs(rows: &[ProtocolRow]) -> Vec<&str> {
    rows.iter().map(|row| row.slug.as_str()).collect()
}

#[test]
fn exchanges_and_chains_are_no_protocols() {
    let all = [
        protocol("binance-cex", "CEX", "180000000000", Some("9")),
        protocol("some-chain", "chain", "90000000000", Some("9")),
        protocol("lido", "Liquid Staking", "30000000000", Some("1.2")),
        protocol("aave-v3", "Lending", "38000000000", Some("-0.8")),
    ];
    let ranked = rank(&all, None, Extent::First);
    assert_eq!(slugs(&ranked.protocols), ["aave-v3", "lido"]);
    assert_eq!(slugs(&ranked.gainers), ["lido"]);
    assert_eq!(slugs(&ranked.losers), ["aave-v3"]);
    assert_eq!(ranked.total_tvl_usd, None);
    assert_eq!(ranked.chains, None);
    assert_eq!(of_protocol(&all, "binance-cex"), None);
}

#[test]
fn only_chain_names_are_chain_keys() {
    for key in ["Ethereum", "X Layer", "Arbitrum Nova", "zkSync-Lite"] {
        assert!(is_chain_key(key), "{key}");
    }
    for key in [
        "borrowed",
        "staking",
        "pool2",
        "vesting",
        "Ethereum-borrowed",
        "X Layer-staking",
        "Base-Pool2",
        "doublecounted",
    ] {
        assert!(!is_chain_key(key), "{key}");
    }
}

#[test]
fn movers_are_large_and_ordered_by_strength() {
    let all = [
        protocol("tiny", "Dexs", "9999999.99", Some("900")),
        protocol("edge", "Dexs", "10000000", Some("3")),
        protocol("strong", "Dexs", "20000000", Some("40")),
        protocol("still", "Dexs", "20000000", Some("0")),
        protocol("unknown", "Dexs", "20000000", None),
        protocol("down", "Dexs", "20000000", Some("-1")),
        protocol("deep", "Dexs", "20000000", Some("-60")),
    ];
    let ranked = rank(&all, None, Extent::First);
    assert_eq!(slugs(&ranked.gainers), ["strong", "edge"]);
    assert_eq!(slugs(&ranked.losers), ["deep", "down"]);
}

#[test]
fn shares_are_of_the_total_and_rows_appear_once() {
    let all = [
        protocol("lido", "Liquid Staking", "5", None),
        protocol("lido", "Liquid Staking", "7", None),
    ];
    let chains = [
        chain("X Layer", "25"),
        chain("Ethereum", "75"),
        chain("Moon", "0"),
    ];
    let ranked = rank(&all, Some(&chains), Extent::First);
    assert_eq!(ranked.total_tvl_usd, Some(figure("100")));
    let rows = ranked.chains.unwrap();
    assert_eq!(
        (rows[0].name.as_str(), rows[0].chain_id),
        ("Ethereum", Some(1))
    );
    assert_eq!(rows[0].share_pct, Some(figure("75")));
    assert_eq!(rows[2].chain_id, None);
    assert_eq!(ranked.protocols.len(), 1);
    assert_eq!(ranked.protocols[0].tvl_usd, figure("7"));
}

#[test]
fn a_share_of_nothing_is_unknown() {
    let ranked = rank(&[], Some(&[chain("X Layer", "0")]), Extent::First);
    assert_eq!(ranked.total_tvl_usd, Some(figure("0")));
    assert_eq!(ranked.chains.unwrap()[0].share_pct, None);
}

#[test]
fn a_protocol_is_found_by_slug_name_and_family() {
    let all = [
        protocol("aave-v3", "Lending", "30", None),
        protocol("aave-v2", "Lending", "10", None),
        protocol("lido", "Liquid Staking", "5", None),
    ];
    for name in ["aave-v3", "Aave V3", "AAVE v3"] {
        let found = of_protocol(&all, name).unwrap();
        assert_eq!(slugs(&found.protocols), ["aave-v3"], "{name}");
        assert_eq!(found.total_tvl_usd, Some(figure("30")));
    }
    let family = of_protocol(&all, "aave").unwrap();
    assert_eq!(slugs(&family.protocols), ["aave-v3", "aave-v2"]);
    assert_eq!(family.total_tvl_usd, Some(figure("40")));
    let chains = family.chains.unwrap();
    assert_eq!(
        (chains.len(), chains[0].chain_id, chains[0].tvl_usd),
        (1, Some(196), figure("40"))
    );
    assert_eq!(of_protocol(&all, "aav"), None);
    assert_eq!(of_protocol(&all, ""), None);
}

#[test]
fn no_loss_exceeds_a_hundred_percent() {
    assert_eq!(plausible_change(Some(figure("-100.5"))), None);
    assert_eq!(plausible_change(Some(figure("-100"))), Some(figure("-100")));
    assert_eq!(plausible_change(None), None);
}
