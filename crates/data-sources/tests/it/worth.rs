//! The gathering of prices for the judgement of worth: each price with its age and its support, and
//! silence of a source is no price.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::U256;
use data_sources::NATIVE_COIN;
use data_sources::worth::{WorthJudge, side};
use readings::worth::{ChainSources, Exchange, NoPrice, Rules, Stated, Unworthy};
use serde_json::{Value, json};
use wiremock::{MockServer, ResponseTemplate};

use crate::tokens::{
    WOKB, answering, changed, defillama, dexscreener, recorded, recorded_clock, serving,
};

const XLAYER: u64 = 196;

/// Rules under which no source suffices alone.
fn of_two() -> Rules {
    Rules {
        chains: [(XLAYER, ChainSources::default())].into(),
        ..Rules::default()
    }
}

fn judge(rules: Rules, llama: &MockServer, pools: &MockServer) -> WorthJudge {
    let clock = Arc::new(recorded_clock());
    WorthJudge::new(rules, defillama(llama), dexscreener(pools), clock)
}

fn pairs(change: impl FnOnce(&mut Value)) -> Value {
    changed("dexscreener/token_pairs", |answer| change(&mut answer[0]))
}

fn too_few(unworthy: &Unworthy) -> Vec<&'static str> {
    match unworthy {
        Unworthy::Unknown(NoPrice::TooFew { counting, .. }) => counting.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn two_sources_that_agree_give_a_price_with_what_supports_it() {
    let llama = serving(&recorded("defillama_coins/price_wokb")).await;
    let pools = serving(&recorded("dexscreener/token_pairs")).await;
    let judge = judge(of_two(), &llama, &pools);
    for token in [WOKB, NATIVE_COIN] {
        let price = judge.price(XLAYER, token).await.unwrap();
        assert_eq!(price.usd.to_string(), "118.415");
        let [of_llama, of_pools] = price.quotes.as_slice() else {
            panic!("{price:?}");
        };
        assert_eq!(of_llama.certainty_ratio.unwrap().to_string(), "0.99");
        // The smaller side of the pool, doubled, and not what the source calls its liquidity.
        assert_eq!(of_pools.liquidity_usd.unwrap().to_string(), "2344739.68");
        assert_eq!(of_pools.as_of.unwrap().to_string(), "2026-11-21T01:02:00Z");
    }
}

#[tokio::test]
async fn a_source_without_a_price_that_counts_is_silent() {
    let llama = serving(&recorded("defillama_coins/price_wokb")).await;
    for (silent, reason) in [
        (json!([]), "no pool"),
        (
            pairs(|pair| {
                pair["txns"] = json!({ "h6": { "buys": 1, "sells": 0 } });
                pair["volume"] = json!({});
            }),
            "no trade within the hour",
        ),
        (
            pairs(|pair| pair["liquidity"] = json!({ "usd": 5e7, "base": 1e6, "quote": 0.4 })),
            "one side",
        ),
        (
            pairs(|pair| drop(pair.as_object_mut().unwrap().remove("liquidity"))),
            "unknown sides",
        ),
    ] {
        let pools = serving(&silent).await;
        let strict = judge(of_two(), &llama, &pools).price(XLAYER, WOKB).await;
        assert_eq!(
            too_few(&strict.unwrap_err()),
            ["defillama.coins"],
            "{reason}"
        );
        // A strong source suffices.
        let trusting = judge(Rules::default(), &llama, &pools);
        let price = trusting.price(XLAYER, WOKB).await.unwrap();
        assert_eq!(price.usd.to_string(), "118.41", "{reason}");
    }
}

/// A coin needs a price on every chain, and moves nothing by it.
#[tokio::test]
async fn one_source_suffices_for_the_price_of_a_coin_unless_another_contradicts_it() {
    let llama = serving(&recorded("defillama_coins/price_wokb")).await;
    let cheap = pairs(|pair| pair["priceUsd"] = "50".into());
    for (pools, expected) in [(json!([]), Some("118.41")), (cheap, None)] {
        let pools = serving(&pools).await;
        let judge = judge(of_two(), &llama, &pools);
        let price = judge.coin_price(XLAYER).await;
        let usd = price.ok().map(|price| price.usd.to_string());
        assert_eq!(usd.as_deref(), expected);
        assert_eq!(judge.coin_price(7).await.ok(), None);
    }
}

#[tokio::test]
async fn failing_sources_and_unknown_chains_give_no_price() {
    let down = answering(ResponseTemplate::new(503)).await;
    let judge = judge(Rules::default(), &down, &down);
    for chain_id in [XLAYER, 7] {
        let none = judge.price(chain_id, WOKB).await.unwrap_err();
        assert_eq!(none.code(), Unworthy::UNKNOWN);
        assert!(too_few(&none).is_empty());
    }
}

#[tokio::test]
async fn a_judge_waits_no_longer_than_its_caller() {
    let hung = ResponseTemplate::new(200).set_delay(Duration::from_secs(3_600));
    let hung = answering(hung).await;
    let judge = judge(Rules::default(), &hung, &hung);
    let mut exchange = Exchange {
        chain_id: XLAYER,
        input: side(NATIVE_COIN, U256::from(10_u64.pow(18)), 18),
        output: side(WOKB, U256::from(10_u64.pow(18)), 18),
        stated: Stated::default(),
        max_price_impact_bps: None,
    };
    let judged = judge.judge_within(&exchange, Duration::ZERO).await;
    assert_eq!(judged.unwrap_err(), Unworthy::Unknown(NoPrice::Late));
    // What the quote admits is said at once.
    exchange.stated.impact_pct = Some("-97.5".parse().unwrap());
    let judged = judge.judge_within(&exchange, Duration::ZERO).await;
    assert_eq!(judged.unwrap_err().code(), "price_impact_too_high");
}
