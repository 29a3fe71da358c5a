//! Tests of actions that are charged, and of actions that are not.

use dev_chain::{BUYER, base, xlayer};
use reqwest::Method;
use serde_json::{Value, json};
use test_support::eventually;
use wallet_actions::{SqliteStore, State, Store as _};

use crate::support::buyer::header_of;
use crate::wallets::stage::{Stage, sign};

/// The price of an action, in the smallest unit of its assets.
const PRICE: u64 = 50_000;

fn invest(amount: &str) -> Value {
    json!({ "chain_id": "196", "protocol": "aave-v3", "asset": "USDG", "amount": amount })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_payment_acts_once_and_its_answer_is_private() {
    let stage = Box::pin(Stage::open()).await;
    let paid = stage.world.paid();
    let refused = stage.post("/auto-defi-invest", &invest("30")).await;
    refused.is_refused(409, "funds_required");
    let error = refused.body()["error"].clone();
    assert_eq!(error["sub_wallet"], stage.wallet.to_string());
    assert_eq!(error["amount"], "30");
    assert_eq!(stage.world.paid(), paid);

    let mut body = invest("30");
    body["principal_auth"] = sign(&error["principal_auth"]);
    let draft = stage
        .world
        .buyer
        .draft(Method::POST, "/auto-defi-invest")
        .await;
    let mut payment = stage.world.buyer.signed(&draft);
    let plain = header_of(&payment);
    payment["extensions"] =
        json!({ "payment-identifier": { "info": { "id": "a-random-identifier-of-mine" } } });
    let header = header_of(&payment);
    let buyer = &stage.world.buyer;
    let first = buyer.post_paid("/auto-defi-invest", &body, &header).await;
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!(stage.world.paid() - paid, 50_000);
    assert_eq!(
        first.headers["cache-control"],
        "private, no-store, no-transform"
    );
    let again = buyer.post_paid("/auto-defi-invest", &body, &header).await;
    assert_eq!((again.status, &again.text), (200, &first.text));
    // A stranger can rebuild this header from the chain, and gets no part of the answer.
    let rebuilt = buyer.post_paid("/auto-defi-invest", &body, &plain).await;
    assert_eq!(rebuilt.status, 409);
    assert!(!rebuilt.text.contains("intent_id"), "{}", rebuilt.text);
    assert_eq!(stage.world.paid() - paid, 50_000);
    let held = Stage::holds(&stage.world.chain, xlayer::A_USDG, stage.wallet);
    assert!((29_999_999..30_100_000).contains(&held), "{held}");
}

/// The balance of this payer covers the price or the principal, but not both.
#[tokio::test(flavor = "multi_thread")]
async fn an_action_does_not_move_the_money_that_pays_for_it() {
    let stage = Box::pin(Stage::open()).await;
    let (route, buyer) = ("/auto-defi-invest", &stage.world.buyer);
    let owned = || Stage::holds(&stage.world.chain, xlayer::USDG, BUYER.address);
    let (all, sent) = (owned(), stage.sent().len());
    let mut draft = buyer.draft(Method::POST, route).await;
    let options = draft.challenge.options();
    draft.option = options
        .enumerate()
        .find_map(|(at, option)| (option.asset == xlayer::USDG).then_some(at))
        .unwrap();
    let header = header_of(&buyer.signed(&draft));
    let funded = async |atoms: u64| {
        let mut body = invest(&format!("{}.{:06}", atoms / 1_000_000, atoms % 1_000_000));
        let refused = buyer.post_paid(route, &body, &header).await;
        refused.is_refused(409, "funds_required");
        body["principal_auth"] = sign(&refused.body()["error"]["principal_auth"]);
        buyer.post_paid(route, &body, &header).await
    };
    let refused = funded(all - PRICE + 1).await;
    refused.is_refused(400, "invalid_params");
    let problem = &refused.body()["error"]["problems"][0];
    assert_eq!(
        problem["path"], "body.principal_auth.authorization.value",
        "{}",
        refused.text
    );
    assert_eq!((owned(), stage.sent().len()), (all, sent));
    // The same payment pays for the action that leaves its price.
    let done = funded(all - PRICE).await;
    assert_eq!(done.status, 200, "{}", done.text);
    assert_eq!(owned(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_refused_before_signing_is_not_charged() {
    let stage = Box::pin(Stage::open()).await;
    let paid = stage.world.paid();
    let swap = |chain: &str, from: String, to: String| json!({ "chain_id": chain, "from_token": from, "to_token": to, "amount": "1" });
    let (usdg, wokb) = (xlayer::USDG.to_string(), xlayer::WOKB.to_string());
    for (route, body, status, code, reason) in [
        (
            "/auto-withdraw",
            json!({ "chain_id": "196", "token": usdg, "amount": "max" }),
            404,
            "not_found",
            "nothing_to_withdraw",
        ),
        (
            "/auto-withdraw",
            json!({ "chain_id": "137", "token": usdg, "amount": "max" }),
            422,
            "unsupported",
            "chain_unsupported",
        ),
        // The wallet could not withdraw this token to its owner.
        (
            "/auto-swap",
            swap("196", usdg.clone(), wokb),
            422,
            "unsupported",
            "token_not_withdrawable",
        ),
        (
            "/auto-defi-invest",
            json!({ "chain_id": "196", "protocol": "aave-v2", "asset": "USDG", "amount": "1" }),
            422,
            "unsupported",
            "protocol_unsupported",
        ),
        (
            "/auto-defi-invest",
            json!({ "chain_id": "196", "protocol": "aave-v3", "asset": "DOGE", "amount": "1" }),
            404,
            "not_found",
            "no_such_product",
        ),
        (
            "/auto-defi-withdraw",
            json!({ "product_id": "aave-v3-xlayer-usdg", "ratio": "1" }),
            404,
            "not_found",
            "no_such_position",
        ),
    ] {
        let answer = stage.post(route, &body).await;
        answer.is_refused(status, code);
        assert_eq!(answer.body()["error"]["reason"], reason, "{}", answer.text);
    }
    let bad = json!({ "chain_id": "196", "token": usdg, "amount": "0.0000001" });
    let answer = stage.post("/auto-withdraw", &bad).await;
    answer.is_refused(400, "invalid_params");
    assert_eq!(answer.body()["error"]["problems"][0]["path"], "body.amount");
    assert_eq!(stage.world.paid(), paid);
    assert_eq!(
        Stage::holds(&stage.world.chain, xlayer::USDG, stage.wallet),
        0
    );
    assert_ne!(stage.wallet, BUYER.address);
}

/// A payment whose action was not charged is free again, but not for another action.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_has_begun_an_action_begins_no_other() {
    let mut stage = Box::pin(Stage::open()).await;
    stage.give_usdc(5_000_000);
    let token = base::USDC.to_string();
    let withdraw = |amount: &str| json!({ "chain_id": "8453", "token": token, "amount": amount });
    let done = stage.done("/auto-withdraw", &withdraw("1")).await;
    let buyer = &stage.world.buyer;
    let payment = buyer.signed(&buyer.draft(Method::POST, "/auto-withdraw").await);
    // The server does not repeat a call as old as this one by itself.
    let id = "00000000000000000000000000000abf";
    let action = (&done, &withdraw("1"));
    let copy = stage.restart_with_copy(action, id, &payment, |copy| copy.created_at -= 200_000);
    Box::pin(copy).await;
    let (paid, sent) = (stage.world.paid(), stage.sent().len());
    let header = header_of(&payment);
    let post = async |amount: &str| {
        let buyer = &stage.world.buyer;
        buyer
            .post_paid("/auto-withdraw", &withdraw(amount), &header)
            .await
    };

    let other = post("2").await;
    other.is_refused(409, "payment_bound_elsewhere");
    let error = &other.body()["error"];
    assert_eq!(error["reason"], "another_request", "{error}");
    assert_eq!(error["intent_id"], id, "{error}");
    assert_eq!((stage.world.paid(), stage.sent().len()), (paid, sent));

    // The action's own call still gets its answer, and is charged.
    let own = post("1").await;
    assert_eq!(own.status, 200, "{}", own.text);
    assert_eq!(own.body()["data"]["intent_id"], id);
    assert_eq!(
        (stage.world.paid(), stage.sent().len()),
        (paid + PRICE, sent)
    );
}

/// A charged action needs its call no more, and one that did nothing is forgotten after two days.
#[tokio::test(flavor = "multi_thread")]
async fn records_keep_no_body_of_a_charged_call_and_no_old_action_that_did_nothing() {
    let mut stage = Box::pin(Stage::open()).await;
    stage.give_usdc(5_000_000);
    let body = json!({ "chain_id": "8453", "token": base::USDC.to_string(), "amount": "1" });
    let done = stage.done("/auto-withdraw", &body).await;
    let buyer = &stage.world.buyer;
    let payment = buyer.signed(&buyer.draft(Method::POST, "/auto-withdraw").await);
    let id = "00000000000000000000000000000ac0";
    let copy = stage.restart_with_copy((&done, &body), id, &payment, |copy| {
        copy.created_at -= 200_000;
        copy.state = State::Cancelled;
        copy.steps.clear();
    });
    Box::pin(copy).await;

    let store = SqliteStore::open(stage.world.folder().join("ledger.wallets.db")).unwrap();
    let charged = done["intent_id"].as_str().unwrap().parse().unwrap();
    let closed = eventually("the note of the charge", async || {
        let intent = store.get(&charged).await.unwrap().unwrap();
        (!intent.awaits_charge).then_some(intent)
    })
    .await;
    assert_eq!(closed.call.len(), 66, "{}", closed.call);
    let target = format!("/intents/{id}");
    eventually("the deletion", async || {
        let shown = stage.world.buyer.get(&target).await;
        (shown.status == 404).then_some(())
    })
    .await;
    let target = format!("/intents/{charged}");
    assert_eq!(stage.world.buyer.get(&target).await.status, 200);
}
