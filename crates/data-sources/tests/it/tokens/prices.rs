use data_sources::Error;
use readings::token::{consensus::Quote, pools};
use serde_json::{Value, json};

use crate::tokens::{
    USDT0, WOKB, answering, attacks, changed, code, defillama, dexscreener, recorded, serving,
};

const KEY: &str = "xlayer:0xe538905cf8410324e03a5a23c1c177a474d59b2b";

fn llama(change: impl FnOnce(&mut Value)) -> Value {
    changed("defillama_coins/price_wokb", |answer| {
        change(&mut answer["coins"][KEY])
    })
}

async fn quote(answer: &Value) -> Result<Quote, Error> {
    let server = serving(answer).await;
    let price = defillama(&server).token_price("xlayer", WOKB, None).await;
    price.map(|found| found.value)
}

#[tokio::test]
async fn a_catalogue_price_has_its_time_and_its_certainty() {
    let server = serving(&recorded("defillama_coins/price_wokb")).await;
    let found = defillama(&server)
        .token_price("xlayer", WOKB, None)
        .await
        .unwrap();
    assert_eq!(found.value.price_usd.to_string(), "118.41");
    assert_eq!(found.value.certainty_ratio.unwrap().to_string(), "0.99");
    assert_eq!(
        found.value.as_of.unwrap().to_string(),
        "2026-11-21T01:01:15Z"
    );
    assert_eq!(found.sources[0].as_of, found.value.as_of);
    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!(request.url.path(), format!("/prices/current/{KEY}"));
}

#[tokio::test]
async fn a_coin_that_is_left_out_is_not_priced() {
    for none in [
        recorded("defillama_coins/price_unknown"),
        llama(|row| row["price"] = json!(null)),
        // Another token's price is refused.
        recorded("defillama_coins/price_usdt0"),
    ] {
        assert_eq!(code(quote(&none).await), "token_not_priced", "{none}");
    }
}

#[tokio::test]
async fn impossible_prices_and_times_are_refused() {
    for price in [
        json!(0),
        json!(-1),
        json!("NaN"),
        json!({"usd": 1}),
        json!(1e40),
    ] {
        assert_eq!(
            code(quote(&llama(|row| row["price"] = price.clone())).await),
            "upstream_malformed",
            "{price}"
        );
    }
    // Milliseconds where seconds are documented lie far ahead.
    for time in [
        json!(1_795_222_910_000_i64),
        json!(1_795_223_300),
        json!(0),
        json!(-7),
        json!("x"),
    ] {
        assert_eq!(
            code(quote(&llama(|row| row["timestamp"] = time.clone())).await),
            "upstream_malformed",
            "{time}"
        );
    }
    for (expected, attack) in attacks() {
        let server = answering(attack).await;
        assert_eq!(
            code(defillama(&server).token_price("xlayer", WOKB, None).await),
            expected
        );
    }
}

#[tokio::test]
async fn pairs_price_both_of_their_sides() {
    let server = serving(&recorded("dexscreener/token_pairs")).await;
    let pairs = dexscreener(&server)
        .pairs("xlayer", WOKB, None)
        .await
        .unwrap()
        .value;
    let price = pools::spot("xlayer", &WOKB.to_string(), &pairs).unwrap();
    assert_eq!(price.price_usd.to_string(), "118.42");
    let other = pools::spot("xlayer", &USDT0.to_string(), &pairs).unwrap();
    assert_eq!(other.price_usd.to_string(), "1");
    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!(
        request.url.path(),
        "/token-pairs/v1/xlayer/0xe538905cf8410324e03a5a23c1c177a474d59b2b"
    );
}

#[tokio::test]
async fn pairs_of_others_and_half_pairs_are_left_out() {
    let pairs = |change: fn(&mut Value)| {
        changed("dexscreener/token_pairs", |answer| change(&mut answer[0]))
    };
    for other in [
        pairs(|pair| pair["chainId"] = json!("base")),
        pairs(|pair| {
            pair["baseToken"]["address"] = json!("0x1000000000000000000000000000000000000001");
        }),
    ] {
        let server = serving(&other).await;
        let found = dexscreener(&server).pairs("xlayer", WOKB, None).await;
        assert_eq!(code(found), "upstream_malformed", "{other}");
    }
    // Every optional member may be missing.
    let half = pairs(|pair| {
        for member in [
            "liquidity",
            "priceUsd",
            "volume",
            "priceChange",
            "fdv",
            "marketCap",
            "txns",
        ] {
            pair.as_object_mut().unwrap().remove(member);
        }
    });
    let server = serving(&half).await;
    let found = dexscreener(&server)
        .pairs("xlayer", WOKB, None)
        .await
        .unwrap()
        .value;
    assert!(found[0].liquidity_usd.is_none() && found[0].price_usd.is_none());
    assert_eq!(pools::spot("xlayer", &WOKB.to_string(), &found), None);
    for none in [json!([]), json!(null)] {
        let server = serving(&none).await;
        assert!(
            dexscreener(&server)
                .pairs("xlayer", WOKB, None)
                .await
                .unwrap()
                .value
                .is_empty()
        );
    }
    for (expected, attack) in attacks() {
        let server = answering(attack).await;
        assert_eq!(
            code(dexscreener(&server).pairs("xlayer", WOKB, None).await),
            expected
        );
    }
}
