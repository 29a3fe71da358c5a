//! Tests of the comparison of a submitted plan with market prices, the chain's time, and the
//! account's balances. A refused plan leaves no record.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloy_primitives::Address;
use alloy_signer_local::PrivateKeySigner;
use api_server::config::{Config, Usd};
use dev_chain::BUYER;
use serde_json::{Value, json};
use test_support::{answer_http, eventually_every};

use crate::delegation::sample::{USDC, WETH};
use crate::delegation::sending::{AMOUNT, Round, now, sign};
use crate::delegation::stage::GRANT_ID;

/// A source of prices: a dollar for USDC; for WETH the price and the confidence that a test sets,
/// or no answer.
#[derive(Clone)]
struct Source {
    url: String,
    weth: Arc<Mutex<Option<f64>>>,
    confidence: Arc<Mutex<Option<f64>>>,
}

impl Source {
    fn start() -> Self {
        let weth: Arc<Mutex<Option<f64>>> = Arc::default();
        let shared = Arc::clone(&weth);
        let confidence = Arc::new(Mutex::new(Some(0.99)));
        let stated = Arc::clone(&confidence);
        let url = answer_http(move |request| {
            let asked = request.target.to_lowercase();
            let coin = |token: Address, price: f64| {
                let key = format!("base:{token:#x}");
                asked.contains(&format!("{token:#x}")).then(|| {
                    let confidence = *stated.lock().unwrap();
                    json!({ key: { "price": price, "timestamp": now(), "confidence": confidence, "symbol": "T", "decimals": 18 } })
                })
            };
            let coins = match *shared.lock().unwrap() {
                Some(price) => coin(USDC, 1.0).or_else(|| coin(WETH, price)),
                None => None,
            };
            let body = json!({ "coins": coins.unwrap_or(json!({})) });
            (200, body.to_string())
        });
        Self {
            url,
            weth,
            confidence,
        }
    }

    fn set_price(&self, weth: Option<f64>) {
        *self.weth.lock().unwrap() = weth;
    }
}

/// The result of a dry run: `admitted`, the rule that refuses, or the code of an error.
fn verdict(answer: &(u16, Value)) -> String {
    let (status, body) = answer;
    let text = |value: &Value| value.as_str().unwrap_or("nothing").to_owned();
    match (*status, body["admitted"].as_bool()) {
        (200, Some(true)) => "admitted".to_owned(),
        (200, _) => text(&body["refused_by"]),
        _ => text(&body["error"]["code"]),
    }
}

/// Starts a server with a grant.
async fn granted(change: impl FnOnce(&mut Config)) -> (Round, PrivateKeySigner) {
    granted_with(5 * AMOUNT, change).await
}

async fn granted_with(tokens: u64, change: impl FnOnce(&mut Config)) -> (Round, PrivateKeySigner) {
    let round = Box::pin(Round::open_with(tokens, change)).await;
    let owner = PrivateKeySigner::from_bytes(&BUYER.key).unwrap();
    let delegate = PrivateKeySigner::random();
    let grant = sign(round.grant(delegate.address()), &owner);
    let (status, body) = round.post("/delegation/grants", grant.to_json()).await;
    assert_eq!(status, 201, "{body}");
    (round, delegate)
}

async fn tried(round: &Round, body: &Value) -> String {
    let mut body = body.clone();
    body["dry_run"] = true.into();
    let answer = round.post("/delegation/submissions", body.to_string());
    verdict(&answer.await)
}

async fn submitted(round: &Round, body: &Value) -> (u16, String) {
    let answer = round
        .post("/delegation/submissions", body.to_string())
        .await;
    (answer.0, verdict(&answer))
}

async fn log(round: &Round) -> String {
    let path = format!("/delegation/grants/{}/{GRANT_ID}/log", round.wallet);
    round.get(&path).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_compared_with_the_market_prices() {
    let source = Source::start();
    let url = source.url.clone();
    let (mut round, delegate) = granted(move |config| {
        config.delegation.as_mut().unwrap().max_deviation_bps = 200;
        let table = config.upstreams.0.get_mut("defillama").unwrap();
        assert!(table.set_url("coins_url", url));
        table.mode = None;
    })
    .await;
    let (plan, _) = round.ordered(1, &delegate).await;
    let least = plan["envelope"]["payload"]["quote"]["to_amount_min"].as_str();
    let least: f64 = least.unwrap().parse().unwrap();
    // At this price the plan promises exactly the worth of its input.
    let amount = f64::from(u32::try_from(AMOUNT).unwrap());
    let fair = amount / 1e6 / (least / 1e18);
    let before = log(&round).await;

    for (number, price, tells) in [
        (2, None, "worth_unknown"),
        // The output is worth less, so more of it is due.
        (3, Some(fair * 0.9), "fence_price"),
        (4, Some(fair), "admitted"),
    ] {
        source.set_price(price);
        // A new process knows no earlier price.
        round.restart(|_| {}).await;
        let (plan, digest) = round.ordered(number, &delegate).await;
        assert_eq!(tried(&round, &plan).await, tells, "{price:?}");
        assert_eq!(log(&round).await, before, "{price:?}");
        let path = format!("/delegation/submissions/{digest}");
        let unknown = round.get(&path).await;
        assert!(unknown.contains("submission_not_found"), "{unknown}");
    }
    source.set_price(Some(fair * 0.9));
    round.restart(|_| {}).await;
    let (plan, _) = round.ordered(5, &delegate).await;
    let refused = submitted(&round, &plan).await;
    assert_eq!(refused, (403, "fence_price".to_owned()));

    // The plan's gas is priced by the chain's coin, and the plan runs to its end.
    source.set_price(Some(fair));
    round.restart(|_| {}).await;
    let (plan, digest) = round.ordered(6, &delegate).await;
    assert_eq!(submitted(&round, &plan).await.0, 202);
    assert_eq!(round.ended(&digest).await["state"], "done");
}

/// The holder of a stolen delegate's key orders a plan into a token of its own. Every check of the
/// plan's bytes holds, and `max_deviation_bps` limits nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_stolen_delegate_s_key_buys_no_token_that_nobody_prices() {
    let source = Source::start();
    let url = source.url.clone();
    let pools: Arc<Mutex<Value>> = Arc::new(Mutex::new(json!([])));
    let told = Arc::clone(&pools);
    let pools_url = answer_http(move |_| (200, told.lock().unwrap().to_string()));
    let (mut round, delegate) = granted(move |config| {
        config.delegation.as_mut().unwrap().max_deviation_bps = 10_000;
        for (name, key, url) in [
            ("defillama", "coins_url", url),
            ("dexscreener", "base_url", pools_url),
        ] {
            let table = config.upstreams.0.get_mut(name).unwrap();
            assert!(table.set_url(key, url));
            table.mode = None;
        }
    })
    .await;
    let (plan, _) = round.ordered(1, &delegate).await;
    let least = plan["envelope"]["payload"]["quote"]["to_amount_min"].as_str();
    let least: f64 = least.unwrap().parse().unwrap();
    let fair = f64::from(u32::try_from(AMOUNT).unwrap()) / 1e6 / (least / 1e18);
    // The thief's own pool: a million of its token, and forty cents.
    let own_pool = json!([{
        "chainId": "base", "pairAddress": "0x0101010101010101010101010101010101010101",
        "baseToken": { "address": WETH, "symbol": "T", "name": "T" },
        "quoteToken": { "address": USDC, "symbol": "USDC", "name": "USDC" },
        "priceNative": fair.to_string(), "priceUsd": fair.to_string(),
        "txns": { "m5": { "buys": 9, "sells": 9 } },
        "liquidity": { "usd": 1e9, "base": 1_000_000, "quote": 0.4 },
    }]);
    let before = round.base.transactions().len();
    for (number, price, confidence, pool, tells) in [
        (2, None, Some(0.99), json!([]), "worth_unknown"),
        (3, None, Some(0.99), own_pool.clone(), "worth_unknown"),
        (4, Some(fair), None, json!([]), "worth_unknown"),
        (5, Some(fair), None, own_pool, "worth_unknown"),
        (6, Some(fair), Some(0.5), json!([]), "worth_unknown"),
        (
            7,
            Some(fair * 0.9),
            Some(0.99),
            json!([]),
            "price_impact_too_high",
        ),
        (8, Some(fair), Some(0.99), json!([]), "admitted"),
    ] {
        source.set_price(price);
        *source.confidence.lock().unwrap() = confidence;
        *pools.lock().unwrap() = pool;
        // A new process knows no earlier price.
        round.restart(|_| {}).await;
        let (plan, _) = round.ordered(number, &delegate).await;
        assert_eq!(tried(&round, &plan).await, tells, "{number}");
        if tells != "admitted" {
            assert_eq!(submitted(&round, &plan).await, (403, tells.to_owned()));
            assert_eq!(round.base.transactions().len(), before, "{number}");
        }
    }
}

/// The machine's clock may be slow, by mistake or by attack. The later one of this clock and the
/// chain's decides.
#[tokio::test(flavor = "multi_thread")]
async fn orders_and_grants_end_by_the_chains_time() {
    let (round, delegate) = granted(|_| {}).await;
    let (plan, _) = round.ordered(1, &delegate).await;
    assert_eq!(tried(&round, &plan).await, "admitted");
    for (seconds, refused_by) in [(55, "order_deadline_passed"), (2 * 86_400, "grant_expired")] {
        round.base.advance_time(seconds);
        for _ in 0..2 {
            round.base.mine();
        }
        let tells = async || (tried(&round, &plan).await == refused_by).then_some(());
        // The server limits how often a caller asks.
        eventually_every(Duration::from_millis(100), refused_by, tells).await;
        assert_eq!(submitted(&round, &plan).await, (403, refused_by.to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_compared_with_the_least_amount_and_the_gas_budget() {
    let (mut round, delegate) = granted(|config| {
        let section = config.delegation.as_mut().unwrap();
        section.min_order_usd = Usd::micro(AMOUNT + 1);
    })
    .await;
    let (plan, _) = round.ordered(1, &delegate).await;
    assert_eq!(tried(&round, &plan).await, "order_too_small");
    assert_eq!(
        submitted(&round, &plan).await,
        (403, "order_too_small".to_owned())
    );

    // The daily budget covers one plan.
    let change = |config: &mut Config| {
        let section = config.delegation.as_mut().unwrap();
        section.min_order_usd = Usd::micro(0);
        section.gas_budget_usd_per_account = section.gas_estimate_usd;
    };
    round.restart(change).await;
    let (plan, digest) = round.ordered(2, &delegate).await;
    assert_eq!(submitted(&round, &plan).await.0, 202);
    assert_eq!(round.ended(&digest).await["state"], "done");
    let (plan, _) = round.ordered(3, &delegate).await;
    assert_eq!(tried(&round, &plan).await, "gas_budget_exhausted");
    assert_eq!(
        submitted(&round, &plan).await,
        (403, "gas_budget_exhausted".to_owned())
    );
}

/// No gas is spent on a plan that cannot succeed.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_for_missing_tokens_is_refused() {
    let (round, delegate) = granted_with(AMOUNT - 1, |_| {}).await;
    let (plan, _) = round.ordered(1, &delegate).await;
    let before = (log(&round).await, round.base.transactions().len());
    assert_eq!(tried(&round, &plan).await, "balance_too_low");
    assert_eq!((log(&round).await, round.base.transactions().len()), before);
    assert_eq!(
        submitted(&round, &plan).await,
        (403, "balance_too_low".to_owned())
    );
}
