//! Tests of the choice and the order of trending coins.

use super::*;

fn figure(text: &str) -> Option<Figure> {
    Some(text.parse().unwrap())
}

fn searched(id: &str, symbol: &str, price: &str) -> SearchedCoin {
    SearchedCoin {
        id: id.to_owned(),
        symbol: symbol.to_owned(),
        name: id.to_owned(),
        rank: Some(103),
        price_usd: figure(price),
        change_24h_pct: figure("-3.27"),
        market_cap_usd: figure("521967819"),
        volume_24h_usd: figure("31701707"),
    }
}

fn hot(symbol: &str, price: &str) -> HotToken {
    HotToken {
        chain_id: 8453,
        contract: "0x6666666666666666666666666666666666666666".to_owned(),
        symbol: symbol.to_owned(),
        price_usd: figure(price),
        change_24h_pct: figure("41.7"),
        volume_24h_usd: figure("9123456.2"),
        liquidity_usd: figure("91234"),
        market_cap_usd: figure("18234567.1"),
        traders_24h: Some(3123),
        holders: Some(8123),
        top10_hold_pct: figure("48.4"),
        risk_level: Some(2),
    }
}

fn mentioned(symbol: &str, bullish: &str, bearish: &str) -> MentionedSymbol {
    MentionedSymbol {
        symbol: symbol.to_owned(),
        mentions: 512,
        bullish_ratio: figure(bullish),
        bearish_ratio: figure(bearish),
    }
}

fn rows(
    coins: &[SearchedCoin],
    tokens: &[HotToken],
    mentions: &[MentionedSymbol],
) -> Vec<TrendingRow> {
    let some = Rankings {
        searched: Some(coins),
        hot: Some(tokens),
        mentioned: Some(mentions),
    };
    trending(some, Extent::First).0
}

fn symbols(rows: &[TrendingRow]) -> Vec<&str> {
    rows.iter().map(|row| row.symbol.as_str()).collect()
}

#[test]
fn coins_in_more_rankings_come_first() {
    let rows = rows(
        &[
            searched("first", "AAA", "1"),
            searched("bonk", "BONK", "0.0000059"),
            searched("sui", "SUI", "3"),
            searched("last", "ZZZ", "1"),
        ],
        &[hot("ALPHA", "0.018"), hot("BONK", "0.0000058")],
        &[
            mentioned("SUI", "0.4942", "0.2"),
            mentioned("BONK", "0.2", "0.5"),
        ],
    );
    assert_eq!(symbols(&rows), ["BONK", "SUI", "AAA"]);
    let bonk = &rows[0];
    assert_eq!(
        (bonk.rank, bonk.named_by, bonk.name.as_deref()),
        (1, 3, Some("bonk"))
    );
    assert_eq!(bonk.price_usd.unwrap().to_string(), "0.0000059");
    assert_eq!(
        bonk.why,
        [
            "place 2 of trending searches, market-cap rank 103",
            "place 2 of hot tokens on chain 8453, 3123 traders in 24 h",
            "place 2 of symbols talked about: 512 mentions in 24 h, 20 % of them bullish",
        ]
    );
    assert_eq!(
        bonk.risks,
        [
            "thin_liquidity",
            "concentrated_holders",
            "risk_above_low",
            "mentions_mostly_bearish"
        ]
    );
    assert_eq!(
        bonk.links["coingecko"],
        "https://www.coingecko.com/en/coins/bonk"
    );
    assert!(rows[2].risks.contains(&"named_by_one_ranking"));
}

#[test]
fn one_symbol_with_two_prices_is_two_coins() {
    let rows = rows(
        &[searched("alpha", "ALPHA", "1.00")],
        &[hot("ALPHA", "0.018")],
        &[],
    );
    assert_eq!(symbols(&rows), ["ALPHA", "ALPHA"]);
    assert_eq!((rows[0].named_by, rows[1].named_by), (1, 1));
    // Neither coin takes the figures of the other.
    let caps: Vec<_> = rows
        .iter()
        .map(|row| row.market_cap_usd.unwrap().to_string())
        .collect();
    assert_eq!(caps, ["521967819", "18234567.1"]);
    let mut unpriced = searched("alpha", "ALPHA", "1");
    unpriced.price_usd = None;
    assert_eq!(trending_of(&[unpriced], &[hot("ALPHA", "0.018")]).len(), 2);
}

#[test]
fn a_token_does_not_take_the_mentions_of_a_coin_with_its_symbol() {
    let stranger = || hot("XRP", "0.018");
    let talk = [mentioned("XRP", "0.9", "0.1")];
    let alone = rows(&[searched("sui", "SUI", "3")], &[stranger()], &talk);
    let xrp = alone.iter().find(|row| row.symbol == "XRP").unwrap();
    assert_eq!((xrp.named_by, xrp.why.len()), (1, 1));
    // When the coin itself is named too, the mentions count for the coin.
    let both = rows(&[searched("ripple", "XRP", "2.2")], &[stranger()], &talk);
    let named: Vec<_> = both
        .iter()
        .map(|row| (row.name.as_deref(), row.named_by))
        .collect();
    assert_eq!(named, [(Some("ripple"), 2), (None, 1)]);
}

fn trending_of(coins: &[SearchedCoin], tokens: &[HotToken]) -> Vec<TrendingRow> {
    rows(coins, tokens, &[])
}

#[test]
fn coins_other_than_altcoins_are_left_out() {
    let risky = HotToken {
        risk_level: Some(4),
        ..hot("RUG", "1")
    };
    let rows = rows(
        &[
            searched("bitcoin", "BTC", "97000"),
            searched("tether", "USDT", "1"),
            searched("wrapped-x", "AXLX", "1"),
            searched("fake", "ЅОL", "1"),
        ],
        &[risky, hot("WETH", "3000"), hot("USD₮0", "1")],
        &[
            mentioned("BTC", "0.5", "0.1"),
            mentioned("ETH", "0.5", "0.1"),
        ],
    );
    assert_eq!(symbols(&rows), ["AXLX"]);
    assert!(
        trending_of(
            &[SearchedCoin {
                name: "Wrapped X".into(),
                ..searched("x", "AXLX", "1")
            }],
            &[]
        )
        .is_empty()
    );
}

#[test]
fn a_symbol_that_is_only_mentioned_is_no_coin() {
    let only = [mentioned("SOL", "0.2", "0.5")];
    assert!(
        trending(
            Rankings {
                mentioned: Some(&only),
                ..Rankings::default()
            },
            Extent::First
        )
        .0
        .is_empty()
    );
    assert_eq!(
        trending(Rankings::default(), Extent::First),
        (Vec::new(), 0)
    );
}

#[test]
fn unknown_figures_are_stated_and_not_invented() {
    let bare = HotToken {
        price_usd: None,
        change_24h_pct: None,
        volume_24h_usd: None,
        liquidity_usd: None,
        market_cap_usd: None,
        traders_24h: None,
        holders: None,
        top10_hold_pct: None,
        risk_level: None,
        contract: "<script>".to_owned(),
        ..hot("NEW", "1")
    };
    let row = trending_of(&[], &[bare]).remove(0);
    assert_eq!(
        row.risks,
        [
            "named_by_one_ranking",
            "market_cap_unknown",
            "risk_not_assessed"
        ]
    );
    assert!(row.links.is_empty() && row.name.is_none() && row.price_usd.is_none());
    assert_eq!(row.why, ["place 1 of hot tokens on chain 8453"]);
}
