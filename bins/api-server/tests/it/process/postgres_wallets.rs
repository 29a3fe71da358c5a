//! Tests of two servers on one PostgreSQL database that act for the same wallets, by actions, plans
//! under the fence, and mandates. The tests pass without effect when there is no database.

use alloy_primitives::{Address, Bytes, U256};
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::SolCall as _;
use delegation_fence::Grant;
use dev_chain::{BUYER, DEV_ACCOUNTS, DevChain, base};
use serde_json::{Value, json};
use test_support::process::Signal;
use yield_watch::verify;

use crate::delegation::sending::{
    AMOUNT, FEES, PROJECT, SALT, USDC, WETH, grant, ordered, policy, sign, transferCall,
};
use crate::process::actions::desk::{Act, Desk, Standing, swap};
use crate::process::actions::{SEND, VERIFY};
use crate::process::buyer::Payment;
use crate::process::postgres::{LEASE, world};
use crate::process::server::Server;
use crate::process::tripwire::{At, Moment};
use crate::process::world::World;
use crate::process::{eventually, mandates};

/// Asserts by the database that the action was executed once, charged once and answered.
async fn assert_done_once(
    desk: &Desk,
    server: &Server,
    act: &Act,
    payment: &Payment,
    before: &Standing,
) {
    let known = desk.intent(payment).await.unwrap();
    let shown = desk.ended(server, known.id.as_str()).await;
    assert_eq!(shown["status"], "completed", "{shown}\n{}", server.log());
    // The servers charge without any further request.
    eventually("the charge", async || {
        desk.world.is_settled(payment).then_some(())
    })
    .await;
    let again = desk.answer(server, act, payment).await;
    assert_eq!(again.body()["data"]["intent_id"], known.id.as_str());
    desk.assert_done_once(act, before, &again);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_action_of_a_killed_server_is_done_and_charged_by_the_other() {
    let Some((_database, world)) = world(World::of_wallets().await).await else {
        return;
    };
    let (desk, a) = Desk::open_in(world, LEASE).await;
    desk.endow();
    let b = desk.start().await;
    let act = swap();
    let before = desk.standing(&act);
    let payment = desk.pay(&a, &act).await;
    // The second of three transactions is being sent.
    let second = At::Nth(SEND, 2);
    desk.world.wire.arm(second, Moment::After, a.killer());
    let answer = desk.send(&a, &act, &payment).await;
    assert!(answer.is_none(), "{answer:?}");
    assert!(!desk.world.wire.disarm());
    assert_done_once(&desk, &b, &act, &payment, &before).await;
    b.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_servers_refuse_the_owner_of_a_missing_file_and_nobody_makes_another() {
    let Some((_database, world)) = world(World::of_wallets().await).await else {
        return;
    };
    let (desk, a) = Desk::open_in(world, LEASE).await;
    let b = desk.start().await;
    let at_b = desk.buy_sub_wallet(&b).await;
    assert_eq!(at_b["sub_wallet"], desk.wallet.to_string());
    let file = desk.wallet_file(BUYER.address);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    for server in [&a, &b] {
        let payment = desk.world.buyer.sign(server, "/sub-wallet", 0).await;
        let answer = desk.world.buyer.present(server, &payment).await;
        assert_eq!(answer.error("reason"), "wallet_file_missing");
    }
    assert!(!file.exists());
    desk.restore(&file, &text);
    for server in [&a, &b] {
        let again = desk.buy_sub_wallet(server).await;
        assert_eq!(again["sub_wallet"], desk.wallet.to_string());
    }
    a.stop().await;
    b.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_held_up_in_an_action_sends_nothing_afterwards() {
    let Some((_database, world)) = world(World::of_wallets().await).await else {
        return;
    };
    let (desk, a) = Desk::open_in(world, LEASE).await;
    desk.endow();
    let b = desk.start().await;
    let act = swap();
    let before = desk.standing(&act);
    let payment = desk.pay(&a, &act).await;
    let sends = async || {
        let sent = desk.world.chain.transactions();
        let first = sent.iter().any(|found| found.from == desk.wallet);
        first.then_some(())
    };
    let held_up = async {
        eventually("the first transaction", sends).await;
        a.signal(Signal::STOP);
        assert_done_once(&desk, &b, &act, &payment, &before).await;
        a.signal(Signal::CONT);
    };
    let (late, ()) = tokio::join!(desk.send(&a, &act, &payment), held_up);
    let late = late.unwrap();
    assert!([200, 409, 503].contains(&late.status), "{}", late.text);
    // The server continues under a new lease, and finds the action completed.
    let again = desk.answer(&a, &act, &payment).await;
    desk.assert_done_once(&act, &before, &again);
    // Either server executes the next action.
    let before = desk.standing(&act);
    let payment = desk.pay(&a, &act).await;
    let (at_a, at_b) = tokio::join!(desk.send(&a, &act, &payment), desk.send(&b, &act, &payment),);
    assert!(at_a.is_some() && at_b.is_some());
    assert_done_once(&desk, &b, &act, &payment, &before).await;
    a.stop().await;
    b.stop().await;
}

/// A server that is suspended before it begins an action loses its claim of the payment. When it
/// continues, the payment may have bought something else or may be replaced. So the server begins
/// nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_held_up_before_an_action_does_not_begin_it() {
    let Some((_database, world)) = world(World::of_wallets().await).await else {
        return;
    };
    let (desk, a) = Desk::open_in(world, LEASE).await;
    desk.endow();
    let b = desk.start().await;
    let act = swap();
    let before = desk.standing(&act);
    let payment = desk.pay(&a, &act).await;
    let verified = At::Name(VERIFY);
    desk.world.wire.arm(verified, Moment::HeldUp, a.killer());
    let held_up = async {
        let (asset, nonce) = (payment.asset, payment.nonce);
        let look_up = format!("/payments/{asset}/{}/{nonce}", BUYER.address);
        eventually("its release by the other server", async || {
            let known = desk.world.buyer.get(&b, &look_up).await;
            (known.body()["state"] == "released").then_some(())
        })
        .await;
        a.signal(Signal::CONT);
    };
    let (late, ()) = tokio::join!(desk.send(&a, &act, &payment), held_up);
    let late = late.unwrap();
    assert!(!desk.world.wire.disarm());
    assert_eq!(late.status, 503, "{}", late.text);
    assert_eq!(late.error("reason"), "claim_lost", "{}", late.text);
    assert!(desk.intent(&payment).await.is_none());
    // The payment can still buy one action.
    let again = desk.answer(&b, &act, &payment).await;
    desk.assert_done_once(&act, &before, &again);
    a.stop().await;
    b.stop().await;
}

/// The configuration lines of the fence, on a chain whose node listens at `node`.
fn fence(world: &World, node: &str) -> String {
    let file = |name: &str, text: &str| {
        let path = world.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    format!(
        r#"{LEASE}
plans.fee_config = "{fees}"
delegation.project_id = "{PROJECT}"
delegation.instance_salt = "{SALT}"
delegation.policy = "{policy}"
delegation.policy_digest = "{digest}"
delegation.max_deviation_bps = 10000
chains.8453.rpc_urls = ["{node}"]
"#,
        fees = file("fees.toml", FEES),
        policy = file("policy.json", policy().canonical()),
        digest = policy().digest(),
    )
}

/// Gives a sub-wallet tokens, and coins for gas.
fn endow(chain: &DevChain, wallet: Address) {
    let transfer = transferCall {
        to: wallet,
        value: U256::from(5 * AMOUNT),
    };
    let tokens = Bytes::from(transfer.abi_encode());
    for transaction in [
        json!({ "from": BUYER.address, "to": USDC, "data": tokens }),
        json!({ "from": DEV_ACCOUNTS[6].address, "to": wallet, "value": "0xde0b6b3a7640000" }),
    ] {
        let request = json!({
            "jsonrpc": "2.0", "id": 1, "method": "eth_sendTransaction", "params": [transaction],
        });
        drop(chain.answer(request.to_string().as_bytes()));
    }
    assert!(!chain.native_balance(wallet).is_zero());
    chain.mine();
}

async fn post(server: &Server, path: &str, body: &str) -> (u16, Value) {
    let request = test_support::http_client().post(server.url(path));
    let response = request.body(body.to_owned()).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

async fn plan_ended(server: &Server, digest: &str) -> Value {
    let url = server.url(&format!("/delegation/submissions/{digest}"));
    eventually("the end of a plan", async || {
        let said: Value = test_support::http_client()
            .get(&url)
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        let state = said["state"].as_str().unwrap_or_default();
        matches!(state, "done" | "halted_clean" | "halted_dirty").then_some(said)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delegated_order_sent_to_both_at_once_is_executed_once() {
    let Some((_database, world)) = world(World::of_wallets().await).await else {
        return;
    };
    let chain = DevChain::with_base_stage().unwrap();
    let node = chain.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
    let further = fence(&world, &node.url());
    let (desk, a) = Desk::open_in(world, &further).await;
    let b = desk.start().await;
    endow(&chain, desk.wallet);
    let owner = PrivateKeySigner::from_bytes(&BUYER.key).unwrap();
    let delegate = PrivateKeySigner::random();
    // The grant began ten minutes ago, because each server judges it by the chain's time that it
    // has last read.
    let granted = grant(desk.wallet, delegate.address());
    let granted = Grant {
        issued_at: granted.issued_at - 600,
        not_before: granted.not_before - 600,
        ..granted
    };
    let signed = sign(granted, &owner);
    let (status, said) = post(&a, "/delegation/grants", &signed.to_json()).await;
    assert_eq!(status, 201, "{said}");

    let submissions = "/delegation/submissions";
    let (body, digest) = ordered(desk.wallet, 1, &delegate).await;
    let (other, _) = ordered(desk.wallet, 2, &delegate).await;
    let (body, other) = (body.to_string(), other.to_string());
    let answers = tokio::join!(
        post(&a, submissions, &body),
        post(&b, submissions, &body),
        post(&b, submissions, &body),
    );
    let mut statuses = [&answers.0, &answers.1, &answers.2].map(|(status, _)| *status);
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 202], "{answers:?}");
    // Only one plan is in flight, whichever server is asked.
    for server in [&a, &b] {
        let (status, said) = post(server, submissions, &other).await;
        assert_eq!(
            (status, &said["error"]["code"]),
            (409, &json!("plan_in_flight"))
        );
    }
    for server in [&a, &b] {
        assert_eq!(plan_ended(server, &digest).await["state"], "done");
    }
    // The chain has three steps in their order, and no other transaction.
    let sent = chain.transactions();
    let own = sent.iter().filter(|sent| sent.from == desk.wallet);
    let to: Vec<Option<Address>> = own.map(|sent| sent.to).collect();
    assert_eq!(to, [Some(USDC), Some(USDC), Some(base::ROUTER)]);
    assert!(!chain.balance_of(WETH, desk.wallet).unwrap().is_zero());

    // The server that began the next plan dies, and the other one ends the plan.
    let (body, digest) = ordered(desk.wallet, 3, &delegate).await;
    let (status, said) = post(&a, submissions, &body.to_string()).await;
    assert_eq!(status, 202, "{said}");
    eventually("the first step", async || {
        (chain.transactions().len() > sent.len()).then_some(())
    })
    .await;
    a.killer().kill();
    let said = plan_ended(&b, &digest).await;
    let swaps = chain.transactions();
    let swaps = swaps.iter().filter(|sent| sent.to == Some(base::ROUTER));
    // The order is valid for less than a minute, so it may have expired while it waited for the
    // server.
    let expected = match said["state"].as_str() {
        Some("done") => 2,
        _ => 1,
    };
    assert_eq!(swaps.count(), expected, "{said}");
    let left = chain.allowance(USDC, desk.wallet, base::ROUTER).unwrap();
    assert_eq!(left, U256::ZERO, "{said}");
    b.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mandate_bought_at_both_at_once_is_made_and_checked_once() {
    let Some((_database, world)) = world(World::behind_a_facilitator().await).await else {
        return;
    };
    let start = async || mandates::start_with(&world, LEASE).await;
    let (a, b) = (start().await, start().await);
    let terms = mandates::terms();
    let payment = mandates::offer(&world, &a, &terms).await;
    let (at_a, at_b) = tokio::join!(
        mandates::create(&world, &a, &terms, &payment),
        mandates::create(&world, &b, &terms, &payment),
    );
    assert!(at_a.is_some() && at_b.is_some());
    let mut texts = Vec::new();
    for server in [&a, &b] {
        let answer = eventually("the answer", async || {
            let answer = mandates::create(&world, server, &terms, &payment).await;
            answer.filter(|answer| answer.status == 201)
        });
        texts.push(answer.await.text);
    }
    assert_eq!(texts[0], texts[1]);
    let created: Value = serde_json::from_str(&texts[0]).unwrap();
    let id = created["data"]["id"].as_str().unwrap();
    let audit = format!("{}/audit?id={id}", mandates::FAMILY);
    // One of the servers makes the first check at once.
    let records = eventually("the first check", async || {
        let records = mandates::buy(&world, &a, &audit).await["records"].clone();
        (records.as_array().unwrap().len() > 1).then_some(records)
    })
    .await;
    for server in [&a, &b] {
        let listed = mandates::buy(&world, server, mandates::FAMILY).await;
        assert_eq!(listed["mandates"].as_array().unwrap().len(), 1);
        let again = mandates::buy(&world, server, &audit).await["records"].clone();
        assert_eq!(again, records);
    }
    let records = records.as_array().unwrap();
    verify(records).unwrap();
    assert_eq!(records.len(), 2, "{records:?}");
    assert_eq!(records[0]["decision"], "created");

    // A mandate that one server ends has ended for the other.
    a.killer().kill();
    let b_only = mandates::buy(&world, &b, mandates::FAMILY).await;
    assert_eq!(b_only["mandates"][0]["id"], id);
    b.stop().await;
}
