//! Tests of the budget for uncharged work: abuse is refused before the work, and payers are served.

use alloy_primitives::U256;
use api_server::Config;
use api_server::config::UpstreamMode;
use dev_chain::{BUYER, DevChain, USDT0};
use replay::{Recordings, ReplayServer};
use reqwest::Method;
use test_support::eventually;

use crate::support::World;
use crate::support::buyer::{Answer, Buyer, header_of};
use crate::support::facilitator::{Facilitator, Say, success, valid};

const TX: &str = "0xabababababababababababababababababababababababababababababababab";

/// Makes the pool last for a few calls, and gives each address a share for one more call.
fn small_pool(config: &mut Config) {
    config.server.client_address_header = Some("x-forwarded-for".to_owned());
    config.credit.pool_micro_usd = 5_000;
    config.credit.pool_refill_micro_usd_per_second = 1;
    config.credit.address_share_micro_usd = 1_000;
    config.credit.address_refill_micro_usd_per_second = 1;
    config.credit.model_call_micro_usd = 2_000;
    config.credit.transaction_micro_usd = 2_000;
}

/// Makes a paid call from `address`.
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
async fn throw_away_keys_empty_only_the_pool() {
    let world = World::start(|config, _rpc| small_pool(config)).await;
    let target = world.price();
    // The buyer has paid once, so it has credit of its own from now on.
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
    // The buyer is served from its own credit, even from the address of the attack.
    let served = paid_from(&world.buyer, "192.0.2.66", &target).await;
    assert_eq!(served.status, 200, "{}", served.text);
    // A newcomer at another address is served from the share of that address.
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
async fn refused_work_is_paid_for_by_its_payers_credit() {
    let mut honest = Buyer::stranger("");
    let chain = DevChain::builder()
        .chain_196_assets()
        .holder(USDT0, honest.address(), U256::from(1_000_000))
        .build()
        .unwrap();
    let world = World::on(chain, |config, _rpc| {
        small_pool(config);
        // The pool is nearly empty, so only credit counts.
        config.credit.pool_micro_usd = 2_000;
    })
    .await;
    honest.ask(world.buyer.base());
    let target = world.price();
    is_served(&paid_from(&honest, "192.0.2.9", &target).await);
    assert_eq!(
        paid_from(&world.buyer, "192.0.2.1", &target).await.status,
        200
    );
    // No earlier answer covers these calls: each asks for a new, unknown symbol and accepts no old
    // data.
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
    assert_eq!(world.paid(), 4000, "only the first calls were charged");
    // The attack used up no credit of another payer, which is served from the same address.
    is_served(&paid_from(&honest, "192.0.2.1", &target).await);
}

/// A newcomer that is never charged asks for ever new symbols. It uses up its part of the budget of
/// a source of prices, and the rest serves a payer who has paid before.
#[tokio::test]
async fn a_newcomer_leaves_a_part_of_every_budget_to_payers_with_credit() {
    let mut honest = Buyer::stranger("");
    let chain = DevChain::builder()
        .chain_196_assets()
        .holder(USDT0, honest.address(), U256::from(1_000_000))
        .build()
        .unwrap();
    let recordings = Recordings::embedded().unwrap();
    let world = World::made_of(chain, recordings, |config, _replay| {
        let upstreams = &mut config.upstreams.0;
        upstreams.get_mut("coingecko").unwrap().enabled = Some(false);
        // Only a live source has budgets. This one has 30 requests in a minute.
        upstreams.get_mut("coinpaprika").unwrap().mode = Some(UpstreamMode::Live);
    })
    .await;
    honest.ask(world.buyer.base());
    is_served(&paid_from(&honest, "192.0.2.1", &world.price()).await);
    let (paid, newcomer) = (world.paid(), &world.buyer);
    let mut asked = 0;
    let refused = loop {
        let odd = format!("/token-details?symbol=ZZ{asked}&max_age=0");
        let answer = paid_from(newcomer, "192.0.2.66", &odd).await;
        assert_ne!(answer.status, 200, "{}", answer.text);
        if answer.text.contains("upstream_over_budget") {
            break answer;
        }
        asked += 1;
        assert!(asked <= 30, "{}", answer.text);
    };
    assert_eq!(asked, 15, "half of the budget");
    let target = "/token-details?symbol=OKB";
    let same = paid_from(newcomer, "192.0.2.66", target).await;
    for answer in [&refused, &same] {
        answer.is_refused(503, "upstream_unavailable");
        assert_eq!(answer.body()["error"]["reason"], "upstream_over_budget");
        assert!(answer.headers.contains_key("retry-after"));
    }
    assert_eq!(world.paid(), paid, "the newcomer is not charged");
    // The refusal is no answer for others, although it is kept for a moment.
    let served = paid_from(&honest, "192.0.2.1", target).await;
    is_served(&served);
    assert_eq!(served.body()["data"]["id"], "okb-okb");
    assert!(world.paid() > paid);
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
    // Another payer is served meanwhile.
    let honest = world.buyer.payment(&target).await;
    is_served(&world.buyer.get_paid(&target, &honest).await);
    let mut served = 0;
    for call in calls {
        let response = call.await.unwrap().unwrap();
        match response.status().as_u16() {
            200 => served += 1,
            402 => {
                // Without a settlement there was no work.
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
    assert_eq!(world.paid(), 4000);
    assert_eq!(world.chain.transactions().len(), 2);
}

#[tokio::test]
async fn a_payer_without_credit_has_one_call_in_flight_where_its_balance_cannot_be_read() {
    let facilitator = Facilitator::start(vec![valid()], vec![Say::Hang, success(TX)]).await;
    let world = World::behind(&facilitator.url).await;
    let target = world.price();
    let first = world.buyer.payment(&target).await;
    let request = world.buyer.request(Method::GET, &target);
    let call = tokio::spawn(request.header("payment-signature", first).send());
    let settling = async || (!facilitator.settled().is_empty()).then_some(());
    eventually("the settling", settling).await;
    let draft = world.buyer.draft(Method::GET, &target).await;
    let second = world
        .buyer
        .get_paid(&target, &header_of(&world.buyer.signed(&draft)))
        .await;
    second.is_refused(429, "rate_limited");
    assert_eq!(second.body()["error"]["reason"], "one_call_at_a_time");
    assert_eq!(second.action(), "send_same_again");
    // Another payer is served meanwhile.
    let honest = Buyer::stranger(world.buyer.base());
    let payment = honest.payment(&target).await;
    is_served(&honest.get_paid(&target, &payment).await);
    drop(call.await);
}

/// Makes calls one after the other until no credit is left. Every call before that must be refused
/// with `status` and charge nothing. Returns the number of these refusals.
async fn until_dry(world: &World, buyer: &Buyer, target: &str, status: u16) -> usize {
    let paid = world.paid();
    for refused in 0..100 {
        let answer = paid_from(buyer, "192.0.2.66", &format!("{target}-{refused}")).await;
        if answer.status == 429 {
            is_out_of_credit(&answer);
            assert_eq!(world.paid(), paid);
            return refused;
        }
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    panic!("the pool never ends")
}

/// Makes a world whose model follows a scenario. The attacker is the buyer of the world; the second
/// buyer is honest; both have money. A call of a model costs 2,000 micro-dollars and a verification
/// 100. The pool holds 12,300.
async fn with_models(
    scenario: &str,
    change: impl FnOnce(&mut Config, &ReplayServer),
) -> (World, Buyer) {
    let mut honest = Buyer::stranger("");
    let chain = DevChain::builder()
        .chain_196_assets()
        .holder(USDT0, honest.address(), U256::from(1_000_000))
        .build()
        .unwrap();
    let recordings = Recordings::embedded().unwrap().with_scenario(scenario);
    let world = World::made_of(chain, recordings, |config, replay| {
        small_pool(config);
        config.credit.pool_micro_usd = 12_300;
        change(config, replay);
    })
    .await;
    honest.ask(world.buyer.base());
    // The honest buyer has paid before, so it has credit for a call of data.
    let target = world.price();
    assert_eq!(paid_from(&honest, "192.0.2.1", &target).await.status, 200);
    (world, honest)
}

#[track_caller]
fn is_served(answer: &Answer) {
    assert_eq!(answer.status, 200, "{}", answer.text);
}

#[tokio::test]
async fn prompts_that_end_without_citations_are_paid_for_by_credit() {
    let (world, honest) = with_models("openai_responses_uncited", |_config, _replay| {}).await;
    let refused = until_dry(&world, &world.buyer, "/llm-research?prompt=riddle", 503).await;
    let asked = world.replay.served("openai/responses_uncited.json");
    // 6,200 are held for a call, which covers three calls of models; 2,100 of them are spent.
    assert_eq!((asked, refused), (3, 3));
    is_served(&paid_from(&honest, "192.0.2.66", &world.price()).await);
    let newcomer = paid_from(&world.buyer, "192.0.2.7", &world.price()).await;
    is_served(&newcomer);
}

#[tokio::test]
async fn image_prompts_that_the_provider_refuses_are_paid_for_by_credit() {
    let scenario = "openai_images_moderation_blocked";
    let (world, honest) = with_models(scenario, |_config, _replay| {}).await;
    let refused = until_dry(&world, &world.buyer, "/generate-meme?prompt=riddle", 422).await;
    let asked = world.replay.served("openai/images_moderation_blocked.json");
    // 3,700 are held for a call.
    assert_eq!((asked, refused), (5, 5));
    is_served(&paid_from(&honest, "192.0.2.66", &world.price()).await);
}

/// The first model gives half an answer, which costs as much as a whole one. Then the server asks
/// the second model as well.
#[tokio::test]
async fn a_second_paid_model_is_paid_for_by_credit_too() {
    let (world, honest) = with_models("openai_responses_incomplete", |config, replay| {
        // The second model is configured, but there is no recorded answer at its address.
        let second = config.upstreams.0.get_mut("anthropic").unwrap();
        assert!(second.set_url("base_url", format!("{}/nowhere", replay.url())));
        config.upstreams.0.get_mut("perplexity").unwrap().enabled = Some(false);
    })
    .await;
    let refused = until_dry(&world, &world.buyer, "/llm-research?prompt=riddle", 503).await;
    let asked = world.replay.served("openai/responses_incomplete.json");
    // 6,200 are held for a call, and 4,100 of them are spent.
    assert_eq!((asked, refused), (2, 2));
    is_served(&paid_from(&honest, "192.0.2.66", &world.price()).await);
}

/// A restart does not refill the pool for an attacker, and its victims keep their earned credit.
#[tokio::test]
async fn an_empty_pool_is_still_empty_after_a_restart() {
    let mut world = World::start(|config, _rpc| small_pool(config)).await;
    let target = world.price();
    is_served(&paid_from(&world.buyer, "192.0.2.1", &target).await);
    let from_new_key = async |world: &World| {
        let stranger = Buyer::stranger(world.buyer.base());
        paid_from(&stranger, "192.0.2.66", &world.price()).await
    };
    let mut unfunded = 0;
    let dry = loop {
        let answer = from_new_key(&world).await;
        if answer.status != 402 {
            break answer;
        }
        unfunded += 1;
        assert!(unfunded < 100, "the pool never ends");
    };
    is_out_of_credit(&dry);
    for _ in 0..2 {
        world.restart().await;
        // The pool is empty, and so is the share of the address.
        is_out_of_credit(&from_new_key(&world).await);
        is_served(&paid_from(&world.buyer, "192.0.2.66", &target).await);
        let newcomer = Buyer::new(BUYER, world.buyer.base());
        is_served(&paid_from(&newcomer, "192.0.2.7", &target).await);
    }
    // The full pool covered these calls. The refill alone would have covered fewer.
    assert!(unfunded > 40, "{unfunded}");
}
