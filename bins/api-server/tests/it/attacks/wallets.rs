//! Attacks on the making of wallets and mandates: by strangers that are charged nothing, and in
//! crowds.

use alloy_primitives::{Address, U256};
use api_server::Config;
use api_server::config::SettlementMode;
use dev_chain::{DEV_ACCOUNTS, DevAccount, DevChain, USDT0};
use reqwest::Method;
use serde_json::{Value, json};

use crate::attacks::{custody, wallets_in};
use crate::support::World;
use crate::support::buyer::{Answer, Buyer, header_of};
use crate::support::facilitator::{Facilitator, Say, valid};

const USDG: &str = "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8";

/// A chain on which these accounts hold a dollar.
fn chain(holders: &[Address]) -> DevChain {
    let chain = DevChain::builder().chain_196_assets();
    let hold = |chain: dev_chain::DevChainBuilder, holder: &Address| {
        chain.holder(USDT0, *holder, U256::from(1_000_000))
    };
    holders.iter().fold(chain, hold).build().unwrap()
}

async fn bought(buyer: &Buyer, target: &str) -> Answer {
    let payment = buyer.payment(target).await;
    buyer.get_paid(target, &payment).await
}

async fn post(buyer: &Buyer, target: &str, body: &Value) -> Answer {
    let draft = buyer.draft(Method::POST, target).await;
    buyer
        .post_paid(target, body, &header_of(&buyer.signed(&draft)))
        .await
}

const PAYERS: [DevAccount; 3] = [DEV_ACCOUNTS[4], DEV_ACCOUNTS[5], DEV_ACCOUNTS[6]];

#[tokio::test(flavor = "multi_thread")]
async fn an_action_makes_no_wallet_and_says_where_one_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let wallets = folder.path().join("wallets");
    let world = World::start(move |config, rpc| custody(config, wallets, rpc)).await;
    let wallet = Address::repeat_byte(7);
    for (route, body) in [
        (
            "/auto-swap",
            json!({ "chain_id": "196", "from_token": USDG, "to_token": USDT0, "amount": "1" }),
        ),
        (
            "/auto-withdraw",
            json!({ "chain_id": "196", "token": USDG, "amount": "max" }),
        ),
        (
            "/auto-bridge",
            json!({ "from_chain": "8453", "to_chain": "42161", "amount": "1", "recipient": wallet,
                    "token": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913" }),
        ),
        (
            "/auto-defi-invest",
            json!({ "chain_id": "196", "protocol": "aave-v3", "asset": "USDG", "amount": "1" }),
        ),
        (
            "/auto-defi-withdraw",
            json!({ "product_id": "aave-v3-xlayer-usdg", "ratio": "1" }),
        ),
        (
            "/yield-copilot",
            json!({ "asset": "USDG", "amount": "1", "execute": true }),
        ),
        (
            "/yield-watch",
            json!({
                "mode": "auto", "expires_at": "2027-01-15T12:00:00Z",
                "rules": {
                    "min_apy_delta_bps": 50, "max_slippage_bps": 50, "max_move_usd": "1000",
                    "allowed_protocols": ["aave-v3"], "check_interval": 3_600,
                },
            }),
        ),
    ] {
        let answer = post(&world.buyer, route, &body).await;
        answer.is_refused(404, "no_sub_wallet");
        let error = &answer.body()["error"];
        assert_eq!(error["made_by"], "GET /sub-wallet", "{route}");
        assert_eq!(error["charged"], false, "{route}");
    }
    assert_eq!((wallets_in(folder.path()), world.paid()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_makes_no_further_wallet_and_serves_those_that_exist() {
    let folder = tempfile::tempdir().unwrap();
    let wallets = folder.path().join("wallets");
    let holders = PAYERS.map(|payer| payer.address);
    let mut world = World::on(chain(&holders), move |config, rpc| {
        custody(config, wallets, rpc);
        if let Some(custody) = &mut config.custody {
            custody.max_wallets = Some(1);
        }
    })
    .await;
    let [first, second, third] = PAYERS.map(|payer| Buyer::new(payer, world.buyer.base()));
    let counted = async |world: &World, code: &str| {
        let series = format!("svc_wallets_refused_total{{code=\"{code}\"}} ");
        let metrics = world.buyer.get("/metrics").await.text;
        let count = metrics.lines().find_map(|it| it.strip_prefix(&series));
        count.unwrap().parse::<u64>().unwrap()
    };
    let full = counted(&world, "wallets_full").await;
    let too_many = counted(&world, "too_many_new_wallets").await;
    let served = bought(&first, "/sub-wallet").await;
    assert_eq!(served.status, 200, "{}", served.text);
    let refused = bought(&second, "/sub-wallet").await;
    refused.is_refused(503, "wallets_full");
    let error = &refused.body()["error"];
    assert_eq!(error["next"], json!({ "action": "none" }));
    assert_eq!(error["retryable"], false);
    assert_eq!(counted(&world, "wallets_full").await, full + 1);
    let again = bought(&first, "/sub-wallet").await;
    assert_eq!(again.status, 200, "{}", again.text);

    let hour = |config: &mut Config| {
        if let Some(custody) = &mut config.custody {
            (custody.max_wallets, custody.new_wallets_per_hour) = (None, 1);
        }
    };
    world.restart_with(hour).await;
    let mut third = third;
    third.ask(world.buyer.base());
    let refused = bought(&third, "/sub-wallet").await;
    refused.is_refused(429, "rate_limited");
    let error = &refused.body()["error"];
    assert_eq!(error["reason"], "too_many_new_wallets");
    assert_eq!(counted(&world, "too_many_new_wallets").await, too_many + 1);
    assert_eq!(refused.action(), "send_same_again");
    assert!(error["next"]["after_seconds"].as_u64().unwrap() > 3_000);
    assert_eq!((wallets_in(folder.path()), world.paid()), (1, 20_000));
}

/// Payers whose payments are verified and then not settled. What each leaves behind costs the pool
/// of payers without credit, and so their number is limited.
#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_of_a_call_that_ends_uncharged_is_paid_for_by_the_pool() {
    let refused = Say::Json(
        200,
        r#"{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"eip155:196"}"#.to_owned(),
    );
    let facilitator = Facilitator::start(vec![valid()], vec![refused]).await;
    let folder = tempfile::tempdir().unwrap();
    let (url, wallets) = (facilitator.url.clone(), folder.path().join("wallets"));
    let crowd: Vec<Buyer> = (0..24).map(|_| Buyer::stranger("")).collect();
    let holders: Vec<Address> = crowd.iter().map(Buyer::address).collect();
    let world = World::on(chain(&holders), move |config, rpc| {
        config.settlement.mode = SettlementMode::Facilitator;
        config.settlement.facilitator_url = Some(url);
        config.settlement.private_key = None;
        custody(config, wallets, rpc);
        config.credit.pool_micro_usd = 60_000;
        config.credit.pool_refill_micro_usd_per_second = 1;
        config.credit.model_call_micro_usd = 2_000;
        config.credit.kept_micro_usd = 10_000;
    })
    .await;
    let (mut made, mut out) = (0, 0);
    for mut payer in crowd {
        payer.ask(world.buyer.base());
        let answer = bought(&payer, "/sub-wallet").await;
        assert_ne!(answer.status, 200, "{}", answer.text);
        match answer.status {
            429 => {
                assert_eq!(answer.body()["error"]["reason"], "out_of_credit");
                out += 1;
            }
            _ => made += 1,
        }
    }
    // Six wallets cost what the pool holds.
    assert!((1..=6).contains(&made), "{made}");
    assert_eq!((made + out, wallets_in(folder.path())), (24, made));
}
