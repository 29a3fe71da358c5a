//! Tests of rebuilt headers. Settled payments are public: anyone can read one on the chain and
//! write its header again. Such a header must not get an answer about the payer's wallet.

use std::path::Path;

use dev_chain::DevChain;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::buyer::{Answer, header_of};
use crate::support::{World, weakly_stretched};

const IDENTIFIER: &str = "8f14e45fceea167a5a36dedd4bea2543";

/// Starts a server with sub-wallets. Its home chain is the embedded one.
async fn world(folder: &Path) -> World {
    let wallets = folder.join("wallets");
    let chain = DevChain::with_chain_196_assets().unwrap();
    World::on(chain, move |config, rpc| {
        config.custody = Some(weakly_stretched(wallets, "the operator's secret"));
        config.wallets.chains = vec![196];
        let table = config.chains.0.entry("196".to_owned()).or_default();
        table.rpc_urls = vec![rpc.to_owned()];
        table.mode = None;
    })
    .await
}

/// Signs a payment. A stranger can rebuild it from the chain, without its extensions.
async fn signed(world: &World, target: &str) -> Value {
    let draft = world.buyer.draft(Method::GET, target).await;
    world.buyer.signed(&draft)
}

fn with(payment: &Value, identifier: Option<&str>) -> String {
    let mut payment = payment.clone();
    match identifier {
        Some(id) => {
            payment["extensions"] =
                json!({"payment-identifier": {"info": {"required": false, "id": id}}});
        }
        None => drop(payment.as_object_mut().unwrap().remove("extensions")),
    }
    header_of(&payment)
}

/// Asserts that a refusal names the state and the transaction, and repeats nothing of the bought
/// answer.
#[track_caller]
fn tells_nothing(answer: &Answer, bought: &Answer) {
    answer.is_refused(409, "payment_bound_elsewhere");
    let error = &answer.body()["error"];
    let transaction = bought.receipt().unwrap().transaction;
    assert_eq!(error["reason"], "answer_private", "{error}");
    assert_eq!(error["state"], "settled", "{error}");
    assert_eq!(error["transaction"], transaction.as_str(), "{error}");
    assert_eq!(answer.action(), "look_up", "{error}");
    assert_eq!(answer.headers["cache-control"], "no-store");
    let wallet = &bought.body()["data"]["sub_wallet"];
    assert!(!answer.text.contains(wallet.as_str().unwrap()), "{error}");
    assert!(!answer.headers.contains_key("content-digest"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuilt_header_gets_nothing_of_a_wallet() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = world(folder.path()).await;
    let target = "/sub-wallet";
    let payment = signed(&world, target).await;
    let own = with(&payment, Some(IDENTIFIER));
    let bought = world.buyer.get_paid(target, &own).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    assert_eq!(
        bought.headers["cache-control"],
        "private, no-store, no-transform"
    );

    let strangers = [None, Some("8f14e45fceea167a5a36dedd4bea2544")];
    for restarted in [false, true] {
        if restarted {
            world.restart().await;
        }
        let again = world.buyer.get_paid(target, &own).await;
        assert_eq!((again.status, &again.text), (200, &bought.text));
        assert_eq!(again.headers["x-served-again"], "true");
        assert_eq!(
            again.headers["cache-control"],
            "private, no-store, no-transform"
        );
        for stranger in strangers {
            let header = with(&payment, stranger);
            tells_nothing(&world.buyer.get_paid(target, &header).await, &bought);
        }
    }
    // With a limit of zero seconds, the time for giving private answers again is over.
    let end = |config: &mut api_server::Config| config.storage.private_answer_seconds = 0;
    world.restart_with(end).await;
    for id in [Some(IDENTIFIER)].into_iter().chain(strangers) {
        let header = with(&payment, id);
        tells_nothing(&world.buyer.get_paid(target, &header).await, &bought);
    }
    assert_eq!(world.look_up(&payment).await["state"], "settled");
    assert_eq!(world.paid(), 10_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_identifier_an_answer_about_a_wallet_is_given_once() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path()).await;
    let payment = signed(&world, "/sub-wallet").await;
    let header = with(&payment, None);
    let bought = world.buyer.get_paid("/sub-wallet", &header).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    for id in [None, Some(IDENTIFIER)] {
        let header = with(&payment, id);
        tells_nothing(&world.buyer.get_paid("/sub-wallet", &header).await, &bought);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_answer_is_given_again_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(folder.path()).await;
    let address = world.buyer.address();
    for target in [world.price(), format!("/portfolio?address={address}")] {
        let header = with(&signed(&world, &target).await, None);
        let bought = world.buyer.get_paid(&target, &header).await;
        assert_eq!(bought.status, 200, "{}", bought.text);
        let kept = bought.headers["cache-control"].to_str().unwrap();
        assert!(kept.starts_with("private, max-age="), "{kept}");
        let again = world.buyer.get_paid(&target, &header).await;
        assert_eq!((again.status, &again.text), (200, &bought.text), "{target}");
    }
    // An answer about the payer's own wallet is private, although the route is public for other
    // wallets.
    let header = with(&signed(&world, "/sub-wallet").await, None);
    let bought = world.buyer.get_paid("/sub-wallet", &header).await;
    assert_eq!(bought.status, 200, "{}", bought.text);
    let header = with(&signed(&world, "/portfolio").await, None);
    let own = world.buyer.get_paid("/portfolio", &header).await;
    assert_eq!(own.status, 200, "{}", own.text);
    assert_eq!(
        own.headers["cache-control"],
        "private, no-store, no-transform"
    );
    let again = world.buyer.get_paid("/portfolio", &header).await;
    again.is_refused(409, "payment_bound_elsewhere");
    assert_eq!(again.body()["error"]["reason"], "answer_private");
}
