//! Attacks on what concerns a payer's own wallet: a facilitator, a broker or a node that says of a
//! payment that somebody else has signed it.

use alloy_primitives::{U256, address, hex};
use api_server::config::SettlementMode;
use dev_chain::{DevChain, USDC};
use reqwest::Method;
use serde_json::{Value, json};
use x402_wire::Scheme;

use crate::attacks::{custody, wallets_in};
use crate::support::World;
use crate::support::buyer::{Answer, header_of};
use crate::support::facilitator::{Facilitator, success, valid};
use crate::wallets::between::Node;

const TX: &str = "0xabababababababababababababababababababababababababababababababab";

/// A contract wallet without a key.
const WALLET: alloy_primitives::Address = address!("0x00000000000000000000000000000000000a11e7");

/// Code that accepts every signature: `return EIP1271_MAGIC`.
const CREDULOUS: [u8; 16] = hex!("631626ba7e60e01b60005260206000f3");

/// Code that refuses everything: `revert(0, 0)`.
const REFUSES: [u8; 5] = hex!("60006000fd");

/// Something of each kind: an action, the wallet itself, a mandate, a reading of the payer's own
/// wallet.
fn private_calls() -> Vec<(Method, &'static str, Option<Value>)> {
    let usdg = "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8";
    vec![
        (
            Method::POST,
            "/auto-withdraw",
            Some(json!({ "chain_id": "196", "token": usdg, "amount": "max" })),
        ),
        (Method::GET, "/sub-wallet", None),
        (Method::GET, "/yield-watch", None),
        (
            Method::DELETE,
            "/yield-watch?id=00000000000000000000000000000000",
            None,
        ),
        (Method::GET, "/portfolio", None),
    ]
}

/// Sends a call with a payment in the buyer's name whose signature `forge` replaces.
async fn forged(
    world: &World,
    (method, target, body): &(Method, &str, Option<Value>),
    option: usize,
    forge: impl FnOnce(&mut Value),
) -> Answer {
    let mut draft = world.buyer.draft(method.clone(), target).await;
    draft.option = option;
    let mut payment = world.buyer.signed(&draft);
    forge(&mut payment);
    let mut request = world.buyer.request(method.clone(), target);
    if let Some(body) = body {
        request = request.body(body.to_string());
    }
    let request = request.header("payment-signature", header_of(&payment));
    world.buyer.send(request).await
}

fn random_bytes(payment: &mut Value) {
    payment["payload"]["signature"] = json!(format!("0x{}", "ab".repeat(66)));
}

#[track_caller]
fn is_not_proven(answer: &Answer, target: &str) {
    answer.is_refused(402, "payment_not_proven");
    assert_eq!(answer.action(), "sign_new", "{target}: {}", answer.text);
    let refusal = &answer.body()["refusal"];
    assert_eq!(
        (&refusal["code"], &refusal["charged"], &refusal["retryable"]),
        (&json!("payment_required"), &json!(false), &json!(true)),
        "{target}"
    );
    let unpayable = &refusal["unpayable_schemes"];
    assert_eq!(*unpayable, json!(["aggr_deferred"]), "{target}");
}

/// Without a node, only a recovered key proves who pays.
#[tokio::test(flavor = "multi_thread")]
async fn a_facilitator_that_calls_66_random_bytes_valid_speaks_for_nobody() {
    let facilitator = Facilitator::start(vec![valid()], vec![success(TX)]).await;
    let folder = tempfile::tempdir().unwrap();
    let (url, wallets) = (facilitator.url.clone(), folder.path().join("wallets"));
    let world = World::start(move |config, rpc| {
        config.settlement.mode = SettlementMode::Facilitator;
        config.settlement.facilitator_url = Some(url);
        config.settlement.rpc_url = None;
        config.settlement.private_key = None;
        custody(config, wallets, rpc);
    })
    .await;
    for call in private_calls() {
        let answer = forged(&world, &call, 0, random_bytes).await;
        is_not_proven(&answer, call.1);
    }
    assert!(facilitator.verified().is_empty() && facilitator.settled().is_empty());
    assert_eq!(wallets_in(folder.path()), 0);
    // The payer itself is served: its key is recovered here.
    let payment = world.buyer.payment("/sub-wallet").await;
    let served = world.buyer.get_paid("/sub-wallet", &payment).await;
    assert_eq!(served.status, 200, "{}", served.text);
}

/// With a node, the payer's code decides. The payer here has none.
#[tokio::test(flavor = "multi_thread")]
async fn with_a_node_66_random_bytes_are_no_signature_of_an_account_without_code() {
    let facilitator = Facilitator::start(vec![valid()], vec![success(TX)]).await;
    let folder = tempfile::tempdir().unwrap();
    let (url, wallets) = (facilitator.url.clone(), folder.path().join("wallets"));
    let world = World::start(move |config, rpc| {
        config.settlement.mode = SettlementMode::Facilitator;
        config.settlement.facilitator_url = Some(url);
        config.settlement.private_key = None;
        custody(config, wallets, rpc);
    })
    .await;
    for call in private_calls() {
        let answer = forged(&world, &call, 0, random_bytes).await;
        assert_eq!(answer.status, 402, "{}: {}", call.1, answer.text);
    }
    assert!(facilitator.settled().is_empty());
    assert_eq!(wallets_in(folder.path()), 0);
}

/// The broker says "valid" to whatever calls itself a session key's signature.
#[tokio::test(flavor = "multi_thread")]
async fn a_deferred_payment_speaks_for_nobody_even_with_a_node() {
    let broker = Facilitator::start(vec![valid()], vec![success("")]).await;
    broker.list_deferred();
    let folder = tempfile::tempdir().unwrap();
    let (url, wallets) = (broker.url.clone(), folder.path().join("wallets"));
    let world = World::start(move |config, rpc| {
        let settlement = &mut config.settlement;
        settlement.mode = SettlementMode::Okx;
        settlement.okx_base_url = url;
        settlement.okx_api_key = Some("the key".to_owned().into());
        settlement.okx_secret_key = Some("the secret".to_owned().into());
        settlement.okx_passphrase = Some("the passphrase".to_owned().into());
        settlement.private_key = None;
        custody(config, wallets, rpc);
    })
    .await;
    let session = |payment: &mut Value| {
        payment["accepted"]["extra"]["sessionCert"] = json!("Y2VydA==");
        payment["payload"]["signature"] = json!("c2lnbmF0dXJl");
    };
    for call in private_calls() {
        let listed = world
            .buyer
            .send(world.buyer.request(call.0.clone(), call.1));
        let listed = listed.await;
        let options: Vec<Scheme> = listed.challenge().options().map(|it| it.scheme).collect();
        assert_eq!(options.len(), 6, "{}", call.1);
        assert_eq!(options[3], Scheme::AggrDeferred, "{}", call.1);
        let answer = forged(&world, &call, 3, session).await;
        is_not_proven(&answer, call.1);
    }
    assert!(broker.verified().is_empty() && broker.settled().is_empty());
    assert_eq!(wallets_in(folder.path()), 0);
    // Public answers are sold to it as before, also on a route whose default is private.
    let address = world.buyer.address();
    let public = format!("/portfolio?address={address}");
    let call = (Method::GET, public.as_str(), None);
    let answer = forged(&world, &call, 3, session).await;
    assert_ne!(answer.status, 402, "{}", answer.text);
    assert!(!broker.verified().is_empty());
    let unpaid = world.buyer.get(&public).await.body();
    assert_eq!(unpaid["refusal"]["unpayable_schemes"], Value::Null);
}

/// Before anything is settled, a server that settles by itself says the same.
#[tokio::test]
async fn a_deferred_payment_is_not_proven_before_it_is_unsupported() {
    let world = World::onchain().await;
    let call = (Method::GET, "/yield-watch", None);
    let answer = forged(&world, &call, 3, |_| {}).await;
    is_not_proven(&answer, call.1);
}

/// Two nodes serve the chain. The first one lies about the answers of a contract; the second one
/// does not, and so the contract's signature is not proven.
#[tokio::test(flavor = "multi_thread")]
async fn one_lying_node_of_two_proves_no_signature_of_a_contract() {
    let chain = |code: &'static [u8]| {
        let chain = DevChain::builder().chain_196_assets();
        let chain = chain.holder(USDC, WALLET, U256::from(1_000_000));
        chain.code(WALLET, code.into()).build().unwrap()
    };
    let (credulous, honest) = (chain(&CREDULOUS), chain(&REFUSES));
    let liar = Node::of(&honest);
    let other = credulous.clone();
    liar.meddle(move |method, params| match method {
        "eth_call" | "eth_estimateGas" => {
            let asked = json!([params[0], "latest"]);
            other.request(method, asked).ok()
        }
        _ => None,
    });
    let lying = liar.serve().await;
    for (chain, first, proven) in [(credulous, None, true), (honest, Some(lying), false)] {
        let folder = tempfile::tempdir().unwrap();
        let wallets = folder.path().join("wallets");
        let world = World::on(chain, move |config, rpc| {
            custody(config, wallets, rpc);
            if let Some(first) = first {
                config.settlement.rpc_url = Some(first.clone());
                let table = config.chains.0.entry("196".to_owned()).or_default();
                table.rpc_urls.insert(0, first);
            }
        })
        .await;
        let call = (Method::GET, "/sub-wallet", None);
        let answer = forged(&world, &call, 1, |payment| {
            payment["payload"]["authorization"]["from"] = json!(WALLET);
            payment["payload"]["signature"] = json!(format!("0x{}", "ab".repeat(66)));
        })
        .await;
        match proven {
            true => assert_eq!(answer.status, 200, "{}", answer.text),
            false => answer.is_refused(402, "payment_not_proven"),
        }
        assert_eq!(wallets_in(folder.path()), usize::from(proven));
    }
}
