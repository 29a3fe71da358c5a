//! Tests of upstreams with long lists: a route that shows a part of a list also gives the list's
//! total.

use serde_json::{Value, json};

use crate::routes::attacks_liar::Lie;
use crate::routes::attacks_upstreams::deceived;

/// The least length of a long list.
const ROWS: usize = 120;

#[tokio::test]
async fn a_coin_of_one_venue_that_cannot_be_ranked_is_named() {
    let (shop, _origin) = deceived(Lie::Long).await;
    let body = shop.buy("/funding-rates").await;
    let ranking = &body["data"]["ranking"];
    let named = ranking["unranked"].as_array().unwrap();
    assert!(named.contains(&json!("ONLY100")), "{ranking}");
    assert_eq!(ranking["by"], "open_interest_usd");
    let venues = ranking["venues"].as_array().unwrap();
    assert!(!venues.contains(&json!("binance")), "{ranking}");
    // The venue's coins are still sold: a call that names one of them gets it.
    assert!(ranking["unranked_total"].as_u64().unwrap() > 100);
}

/// Lengthens the lists of a body. The requested address decides which lists the body has.
pub(crate) fn lengthen(target: &str, mut body: Value) -> Value {
    if target.contains("/token_security/") {
        for token in body["result"].as_object_mut().into_iter().flatten() {
            let pair = |at: usize, row: &mut Value| row["pair"] = json!(format!("0x{at:040x}"));
            repeat(&mut token.1["dex"], pair);
        }
    } else if target.ends_with("/premiumIndex") {
        // Only this venue lists these coins, and it does not state their open interest in a list.
        repeat(&mut body, |at, row| {
            row["symbol"] = json!(format!("ONLY{at}USDT"))
        });
    } else if target.contains("/market/price-info") {
        let rows = body["data"].as_array_mut().into_iter().flatten();
        for (at, row) in rows.enumerate() {
            row["priceChange24H"] = json!((at + 1).to_string());
            row["liquidity"] = json!("99999");
        }
    } else if target.contains("/coins/markets") {
        repeat(&mut body, |at, row| row["id"] = json!(format!("copy-{at}")));
    } else if target.contains("/v2/chains") {
        repeat(&mut body, |at, row| {
            row["name"] = json!(format!("Chain {at}"));
            row["chainId"] = Value::Null;
        });
    } else if target.contains("/protocols") {
        repeat(&mut body, |at, row| {
            row["slug"] = json!(format!("protocol-{at}"));
            row["name"] = json!(format!("Protocol {at}"));
            row["change_1d"] = json!(if at % 2 == 0 { 1.5 } else { -1.5 });
            row["tvl"] = json!(90_000_000 + at);
            row["category"] = json!("Lending");
        });
    } else if target.contains("/pools") {
        let id = |at: usize, row: &mut Value| {
            row["pool"] = json!(format!("747c1d2a-c668-4682-b9f9-{at:012x}"));
        };
        repeat(&mut body["data"], id);
    } else if target.contains("/news/") {
        repeat(&mut body["data"]["articles"], |at, row| {
            row["id"] = json!(format!("copy{at}"));
            row["title"] = json!(title(at));
            row["sourceUrl"] = json!(format!("https://example-news.test/copy/{at}"));
        });
    }
    body
}

/// Makes a title that shares no word with another one.
fn title(at: usize) -> String {
    let words = ["ba", "de", "fi", "go", "ku"];
    let word = |place: usize| format!("{}{at}x{place}", words[(at + place) % words.len()]);
    (0..6).map(word).collect::<Vec<_>>().join(" ")
}

/// Appends copies of the first row, each of them changed.
fn repeat(list: &mut Value, own: impl Fn(usize, &mut Value)) {
    let Some(rows) = list.as_array_mut() else {
        return;
    };
    let Some(first) = rows.first().cloned() else {
        return;
    };
    for at in rows.len()..ROWS {
        let mut copy = first.clone();
        own(at, &mut copy);
        rows.push(copy);
    }
}

#[tokio::test]
async fn every_cut_list_of_a_route_discloses_its_total() {
    let (shop, _origin) = deceived(Lie::Long).await;
    let weth = "0x4200000000000000000000000000000000000006";
    let security = format!("/token-security?address={weth}&chain=8453");
    let cases: &[(&str, &[&str])] = &[
        (&security, &["liquidity.pools"]),
        ("/market-alpha", &["movers.gainers"]),
        ("/funding-rates", &["ranking.unranked"]),
        ("/token-details?symbol=BTC", &["alternatives"]),
        (
            "/token-deep-dive?symbol=BTC",
            &["token_details.data.alternatives"],
        ),
        (
            "/token-deep-dive?symbol=OKB",
            &["flows.data.largest_holders"],
        ),
        ("/hyperliquid-market?coin=BTC", &["book.bids", "book.asks"]),
        (
            "/defi-analytics",
            &["chains", "protocols", "gainers", "losers"],
        ),
        ("/yield-alpha", &["pools"]),
        ("/yield-recommendations?risk=high", &["recommendations"]),
        ("/trending-altcoins", &["altcoins"]),
        ("/crypto-news", &["headlines"]),
        ("/filtered-news?topic=defi", &["headlines"]),
        ("/token-alpha?symbol=BTC", &["news"]),
    ];
    for (target, lists) in cases {
        let body = shop.buy(target).await;
        let cut = body["meta"]["cut"].as_array().cloned().unwrap_or_default();
        for list in *lists {
            let field = format!("data.{list}");
            let said = cut.iter().find(|cut| cut["field"] == field);
            let said = said.unwrap_or_else(|| panic!("{target}: {list} is not in {cut:?}"));
            let place = format!("/{}", field.replace('.', "/"));
            let shown = body.pointer(&place).unwrap().as_array().unwrap().len();
            assert_eq!(said["shown"], shown, "{target}: {list}");
            assert!(said["total"].as_u64() > said["shown"].as_u64());
        }
        // A list in an answer is shorter than the upstream's, and then the answer gives the total,
        // or the list is whole.
        for said in &cut {
            assert!(said["total"].as_u64() > said["shown"].as_u64(), "{said}");
        }
    }
}
