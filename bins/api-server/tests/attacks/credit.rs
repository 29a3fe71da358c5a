//! Work that ends uncharged has a budget: whoever abuses it is refused before the work, and those who pay are served.

use alloy_primitives::U256;
use api_server::Config;
use dev_chain::{BUYER, DevChain, USDT0};
use reqwest::Method;

use crate::support::World;
use crate::support::buyer::{Answer, Buyer, header_of};
use crate::support::facilitator::{Facilitator, Say, success, valid};

/// A pool for a few calls only, and a share of each address for one more.
fn small_pool(config: &mut Config) {
    config.server.client_address_header = Some("x-forwarded-for".to_owned());
    config.credit.pool_micro_usd = 5_000;
    config.credit.pool_refill_micro_usd_per_second = 1;
    config.credit.address_share_micro_usd = 1_000;
    config.credit.address_refill_micro_usd_per_second = 1;
    config.credit.model_call_micro_usd = 2_000;
    config.credit.transaction_micro_usd = 2_000;
}

/// A paid call that comes from `address`.
async fn paid_from(buyer: &Buyer, address: &str, target: &str) -> Answer {
    let payment = buyer.payment(target).await;
    let request = buyer.request(Method::GET, target);
    let request = request.header("x-forwarded-for", address);
    buyer
        .send(request.header("payment-signature", payment))
        .await
}

#[track_caller]
fn is_out_of_credit(answer: &Answer) {
    answer.is_refused(429, "rate_limited");
    assert_eq!(answer.body()["error"]["reason"], "out_of_credit");
    assert_eq!(answer.action(), "send_same_again");
    let after: u64 = answer.headers["retry-after"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!(after > 0);
}

#[tokio::test]
async fn throw_away_keys_empty_the_pool_and_nobody_else() {
    let world = World::start(|config, _rpc| small_pool(config)).await;
    let target = world.price();
    // The buyer has paid once and has credit of its own from then on.
    let first = paid_from(&world.buyer, "192.0.2.1", &target).await;
    assert_eq!(first.status, 200, "{}", first.text);

    let (mut unfunded, mut refused) = (0, 0);
    while refused == 0 {
        let stranger = Buyer::stranger(world.buyer.base());
        let answer = paid_from(&stranger, "192.0.2.66", &target).await;
        match answer.status {
            402 => unfunded += 1,
            _ => {
                is_out_of_credit(&answer);
                refused += 1;
            }
        }
        assert!(unfunded < 100, "the pool never ends");
    }
    assert!(unfunded > 0);
    // The buyer is served from its own credit, from the address of the attack, too.
    let served = paid_from(&world.buyer, "192.0.2.66", &target).await;
    assert_eq!(served.status, 200, "{}", served.text);
    // A newcomer from another address has that address's share.
    let newcomer = Buyer::new(BUYER, world.buyer.base());
    let served = paid_from(&newcomer, "192.0.2.7", &target).await;
    assert_eq!(served.status, 200, "{}", served.text);
    assert_eq!(
        world.replay.served("okx/market_price_okb.json"),
        1,
        "no work for the unfunded"
    );
}

#[tokio::test]
async fn refused_work_is_paid_for_by_what_its_payer_has_earned() {
    let world = World::start(|config, _rpc| {
        small_pool(config);
        // The pool is as good as empty, so that only credit counts.
        config.credit.pool_micro_usd = 2_000;
    })
    .await;
    let target = world.price();
    assert_eq!(
        paid_from(&world.buyer, "192.0.2.1", &target).await.status,
        200
    );
    // New symbols, as fresh as can be, each of them unknown.
    let mut refused = 0;
    for number in 0..200 {
        let odd = format!("/token-details?symbol=ZZ{number}&max_age=0");
        let answer = paid_from(&world.buyer, "192.0.2.1", &odd).await;
        if answer.status == 429 {
            is_out_of_credit(&answer);
            break;
        }
        assert_ne!(answer.status, 200, "{}", answer.text);
        refused += 1;
    }
    assert!((1..200).contains(&refused), "{refused}");
    assert_eq!(world.paid(), 2000, "only the first call was charged");
}

#[tokio::test]
async fn thirty_payments_of_an_account_that_can_pay_one_do_the_work_of_one() {
    let mut poor = Buyer::stranger("");
    let chain = DevChain::builder()
        .chain_196_assets()
        .holder(USDT0, poor.address(), U256::from(2000))
        .build()
        .unwrap();
    let world = World::on(chain, |_config, _rpc| {}).await;
    poor.ask(world.buyer.base());
    let target = world.price();
    let mut calls = Vec::new();
    for _ in 0..30 {
        let payment = poor.payment(&target).await;
        let request = poor.request(Method::GET, &target);
        calls.push(tokio::spawn(
            request.header("payment-signature", payment).send(),
        ));
    }
    let mut served = 0;
    for call in calls {
        let response = call.await.unwrap().unwrap();
        match response.status().as_u16() {
            200 => served += 1,
            402 => {
                // Nothing was settled, so nothing was worked on.
                assert!(!response.headers().contains_key("payment-response"));
                assert!(
                    response
                        .text()
                        .await
                        .unwrap()
                        .contains("insufficient_funds")
                );
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(served, 1);
    assert_eq!(world.paid(), 2000);
    assert_eq!(world.chain.transactions().len(), 1);
}

#[tokio::test]
async fn a_payer_without_credit_has_one_call_in_flight_where_its_balance_cannot_be_read() {
    let facilitator = Facilitator::start(vec![valid()], vec![Say::Hang, success("0xab")]).await;
    let world = World::behind(&facilitator.url).await;
    let target = world.price();
    let first = world.buyer.payment(&target).await;
    let request = world.buyer.request(Method::GET, &target);
    let call = tokio::spawn(request.header("payment-signature", first).send());
    while facilitator.settled().is_empty() {
        tokio::task::yield_now().await;
    }
    let draft = world.buyer.draft(Method::GET, &target).await;
    let second = world
        .buyer
        .get_paid(&target, &header_of(&world.buyer.signed(&draft)))
        .await;
    second.is_refused(429, "rate_limited");
    assert_eq!(second.body()["error"]["reason"], "one_call_at_a_time");
    assert_eq!(second.action(), "send_same_again");
    drop(call.await);
}

#[tokio::test]
async fn prompts_that_are_made_to_be_refused_run_out_and_data_is_still_served() {
    let world = World::start(|config, _rpc| {
        small_pool(config);
        // No model is configured, so each prompt ends in a refusal.
        config.credit.pool_micro_usd = 10_000;
    })
    .await;
    let mut refused = 0;
    for number in 0..100 {
        let stranger = Buyer::stranger(world.buyer.base());
        let target = format!("/llm-research?prompt=riddle-{number}");
        let answer = paid_from(&stranger, "192.0.2.66", &target).await;
        if answer.status == 429 {
            is_out_of_credit(&answer);
            break;
        }
        refused += 1;
    }
    assert!(refused < 100, "the pool never ends");
    let target = world.price();
    let served = paid_from(&world.buyer, "192.0.2.1", &target).await;
    assert_eq!(served.status, 200, "{}", served.text);
}
