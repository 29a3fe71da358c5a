//! Tests of the identity of payers: which wallet acts, whose money comes, and who may see the
//! result.

use dev_chain::{BUYER, DEV_ACCOUNTS, DevAccount, USDT0, base, xlayer};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::buyer::{Answer, Buyer, header_of};
use crate::wallets::stage::{Stage, give, sign, sign_as};

const OTHER: DevAccount = DEV_ACCOUNTS[5];

async fn post(buyer: &Buyer, route: &str, body: &Value) -> Answer {
    let draft = buyer.draft(Method::POST, route).await;
    let payment = header_of(&buyer.signed(&draft));
    buyer.post_paid(route, body, &payment).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_reaches_no_wallet_but_its_own() {
    let stage = Box::pin(Stage::fast()).await;
    let chain = &stage.world.chain;
    give(chain, USDT0, OTHER.address, 10_000_000);
    stage.give_usdg(50_000_000);
    stage.give_usdc(50_000_000);
    let invest =
        json!({ "chain_id": "196", "protocol": "aave-v3", "asset": "USDG", "amount": "20" });
    let first = stage.done("/auto-defi-invest", &invest).await;
    let other = Buyer::new(OTHER, stage.world.buyer.base());
    let payment = other.payment("/sub-wallet").await;
    let own = other.get_paid("/sub-wallet", &payment).await;
    assert_eq!(own.status, 200, "{}", own.text);
    let held = || {
        [
            Stage::holds(chain, xlayer::USDG, stage.wallet),
            Stage::holds(&stage.base, base::USDC, stage.wallet),
            Stage::holds(chain, xlayer::USDG, BUYER.address),
        ]
    };
    let (paid, sent, before) = (stage.world.paid(), stage.sent().len(), held());
    let supplied = Stage::holds(chain, xlayer::A_USDG, stage.wallet);

    let wallet = stage.wallet.to_string();
    let (usdg, usdc) = (xlayer::USDG.to_string(), base::USDC.to_string());
    for (route, body, status, code) in [
        (
            "/auto-withdraw",
            json!({ "chain_id": "196", "token": usdg, "amount": "max" }),
            404,
            "not_found",
        ),
        (
            "/auto-withdraw",
            json!({ "chain_id": "196", "token": usdg, "amount": "1" }),
            404,
            "not_found",
        ),
        ("/auto-defi-invest", invest, 409, "funds_required"),
        (
            "/auto-defi-withdraw",
            json!({ "product_id": "aave-v3-xlayer-usdg", "ratio": "1" }),
            404,
            "not_found",
        ),
        (
            "/auto-bridge",
            json!({
                "from_chain": "8453", "to_chain": "42161", "token": usdc, "amount": "1", "recipient": wallet,
            }),
            400,
            "invalid_params",
        ),
        // No parameter names a wallet, so this one is refused.
        (
            "/auto-withdraw",
            json!({ "chain_id": "196", "token": usdg, "amount": "1", "sub_wallet": wallet }),
            400,
            "invalid_params",
        ),
    ] {
        let answer = post(&other, route, &body).await;
        answer.is_refused(status, code);
        let named = answer.body()["error"]["sub_wallet"].clone();
        assert_ne!(named, wallet, "{}", answer.text);
    }
    assert_eq!((stage.world.paid(), stage.sent().len()), (paid, sent));
    assert_eq!(held(), before);
    assert!(Stage::holds(chain, xlayer::A_USDG, stage.wallet) >= supplied);

    // Anyone who knows the id of an intent can read it, and it names no party. Unknown ids have no
    // intent.
    let id = first["intent_id"].as_str().unwrap();
    let shown = other.get(&format!("/intents/{id}")).await;
    assert_eq!(shown.status, 200);
    let payer = BUYER.address.to_string();
    assert!(!shown.text.to_lowercase().contains(&payer.to_lowercase()));
    for unknown in ["", "0", &id[1..], &format!("{id}0"), &id.to_uppercase()] {
        let answer = other.get(&format!("/intents/{unknown}")).await;
        assert_eq!(answer.status, 404, "{unknown}: {}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authorization_for_something_else_brings_nothing() {
    let stage = Box::pin(Stage::fast()).await;
    let chain = &stage.world.chain;
    give(chain, xlayer::USDG, OTHER.address, 100_000_000);
    let route = "/auto-defi-invest";
    let invest =
        json!({ "chain_id": "196", "protocol": "aave-v3", "asset": "USDG", "amount": "10" });
    let refused = stage.post(route, &invest).await;
    refused.is_refused(409, "funds_required");
    let asked = refused.body()["error"]["principal_auth"].clone();
    let good = sign(&asked);
    let edited = |member: &str, value: Value| {
        let mut asked = asked.clone();
        asked["message"][member] = value;
        sign(&asked)
    };
    let mut foreign = asked.clone();
    foreign["message"]["from"] = json!(OTHER.address);
    let mut forged = good.clone();
    forged["authorization"]["value"] = "10000001".into();
    let (paid, sent) = (stage.world.paid(), stage.sent().len());
    for (principal, path) in [
        // This authorization is another payer's, with a valid signature. A caller cannot bring
        // another payer's money.
        (
            sign_as(&OTHER, &foreign),
            "principal_auth.authorization.from",
        ),
        (
            edited("to", json!(OTHER.address)),
            "principal_auth.authorization.to",
        ),
        (
            edited("value", "9999999".into()),
            "principal_auth.authorization.value",
        ),
        // These windows are over, about to end, and not yet open.
        (
            edited("validBefore", "1".into()),
            "principal_auth.authorization",
        ),
        (
            edited("validBefore", (chain.now() + 20).to_string().into()),
            "principal_auth.authorization",
        ),
        (
            edited("validAfter", (chain.now() + 600).to_string().into()),
            "principal_auth.authorization",
        ),
        // One signature is over another message, the next one by another signer.
        (forged, "principal_auth"),
        (sign_as(&OTHER, &asked), "principal_auth"),
    ] {
        let mut body = invest.clone();
        body["principal_auth"] = principal;
        let answer = stage.post(route, &body).await;
        answer.is_refused(400, "invalid_params");
        let problem = &answer.body()["error"]["problems"][0];
        assert_eq!(problem["path"], format!("body.{path}"), "{}", answer.text);
    }
    assert_eq!((stage.world.paid(), stage.sent().len()), (paid, sent));
    for account in [BUYER, OTHER] {
        assert!(Stage::holds(chain, xlayer::USDG, account.address) >= 100_000_000);
    }

    let mut body = invest.clone();
    body["principal_auth"] = good;
    let data = stage.done(route, &body).await;
    assert_eq!(data["status"], "completed", "{data}");
    assert_eq!(data["result"]["principal_atoms"], "10000000");
    // The authorization can be used only once.
    let again = stage.post(route, &body).await;
    again.is_refused(400, "invalid_params");
    let problem = &again.body()["error"]["problems"][0];
    let path = "body.principal_auth.authorization.nonce";
    assert_eq!(problem["path"], path, "{}", again.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_outside_the_signing_policy_is_refused_by_its_check() {
    let stage = Box::pin(Stage::fast()).await;
    let chain = &stage.world.chain;
    crate::wallets::stage::give_of(xlayer::DEX_ROUTER, chain, xlayer::WOKB, stage.wallet, 7);
    let token = xlayer::WOKB.to_string();
    let withdraw = json!({ "chain_id": "196", "token": token, "amount": "max" });
    let refused = (422, "unsupported", "policy_refused");
    let error = stage.refuses("/auto-withdraw", &withdraw, refused).await;
    assert_eq!(error["check"], "wallet_target_unreviewed", "{error}");
    let nobody = json!({ "chain_id": "196", "token": OTHER.address, "amount": "max" });
    let refused = (422, "unsupported", "token_unsupported");
    stage.refuses("/auto-withdraw", &nobody, refused).await;
}
