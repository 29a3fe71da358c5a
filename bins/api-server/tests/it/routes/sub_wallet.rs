//! Tests of `GET /sub-wallet` on a server that holds the keys of the wallets.

use std::path::Path;

use api_server::{ApiServer, Config};
use serde_json::{Value, json};

use crate::routes::shop::{Shop, unavailable};
use crate::support::{World, weakly_stretched};

pub(crate) fn custody(config: &mut Config, folder: &Path, secret: &str) {
    config.custody = Some(weakly_stretched(folder.join("wallets"), secret));
}

/// A server with sub-wallets, and its buyer. Its home chain is the embedded one.
pub(crate) async fn shop(folder: &Path) -> Shop {
    let chain = dev_chain::DevChain::with_chain_196_assets().unwrap();
    let world = World::on(chain, |config, rpc| {
        custody(config, folder, "the operator's secret");
        config.wallets.chains = vec![196];
        let table = config.chains.0.entry("196".to_owned()).or_default();
        table.rpc_urls = vec![rpc.to_owned()];
        table.mode = None;
    })
    .await;
    Shop { world }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_has_one_sub_wallet_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let mut shop = shop(folder.path()).await;
    // A call that reads creates no wallet.
    shop.refused("/portfolio", 404, "no_sub_wallet").await;
    let files = std::fs::read_dir(folder.path().join("wallets")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> = names.filter(|name| name.contains("eip155")).collect();
    assert_eq!(names, [""; 0]);

    let body = shop.buy("/sub-wallet").await;
    let data = &body["data"];
    let owner = format!("eip155:196:{:#x}", dev_chain::BUYER.address);
    assert_eq!(data["owner"], owner.as_str());
    let wallet = data["sub_wallet"].as_str().unwrap().to_owned();
    assert_ne!(wallet.parse(), Ok(dev_chain::BUYER.address));
    assert_eq!(
        data["custody"],
        json!({
            "provider": "local", "trusted_execution_environment": false,
            "keys_are": "in this process, not in a trusted execution environment", "attestation": null,
            "exported": false,
        })
    );
    assert_eq!(data["chains"], json!([196]));
    assert_eq!(data["nonce_state"], json!({"196": 0}));
    assert!(data["provisioned_at"].is_string());
    assert_eq!(unavailable(&body, "data.nonce_state.196"), &Value::Null);

    // Another payment and another process get the same wallet.
    assert_eq!(
        shop.buy("/sub-wallet").await["data"]["sub_wallet"],
        wallet.as_str()
    );
    shop.world.restart().await;
    let again = shop.buy("/sub-wallet").await;
    assert_eq!(again["data"]["sub_wallet"], wallet.as_str());
    assert_eq!(again["data"]["provisioned_at"], data["provisioned_at"]);
}

/// Every route that takes an account takes the payer's own wallet by default.
#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_is_not_named_is_the_payers_sub_wallet() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path()).await;
    let routes = [
        "/portfolio",
        "/idle-capital",
        "/hyperliquid-account",
        "/hl-transaction-history",
        "/yield-farming-active",
        "/yield-farming-historical",
    ];
    for route in routes {
        shop.refused(route, 404, "no_sub_wallet").await;
    }
    let body = shop.buy("/sub-wallet").await;
    let wallet = body["data"]["sub_wallet"].as_str().unwrap();
    for route in routes {
        // No recording knows the new wallet, so the call is refused. The reason is not a missing
        // wallet.
        let payment = shop.world.buyer.payment(route).await;
        let answer = shop.world.buyer.get_paid(route, &payment).await;
        let body = answer.body();
        assert_ne!(body["error"]["code"], "no_sub_wallet", "{route}");
        if answer.status == 200 {
            assert_eq!(body["data"]["address"], wallet, "{route}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_without_an_address_is_that_of_the_payers_own_wallet() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path()).await;
    let body = shop.buy("/sub-wallet").await;
    let wallet = body["data"]["sub_wallet"].as_str().unwrap();
    let named = format!("/yield-farming-historical?address={wallet}&days=7");
    for target in ["/yield-farming-historical", &named] {
        let body = shop.buy(target).await;
        let data = &body["data"];
        assert_eq!(data["address"], wallet);
        assert_eq!(
            (&data["realised"], &data["gains"]),
            (&json!([]), &json!([]))
        );
        assert_eq!(body["meta"]["sources"][0]["id"], "wallet.intents");
    }
    let other = "/yield-farming-historical?address=0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984";
    let refused = shop.refused(other, 404, "no_sub_wallet").await;
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("another address"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_secret_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(folder.path()).await;
    shop.buy("/sub-wallet").await;
    let mut config = shop.world.config.clone();
    custody(&mut config, folder.path(), "another secret");
    let url = format!("sqlite://{}", folder.path().join("other.db").display());
    config.storage.url = Some(url.into());
    let error = ApiServer::open(&config).await.err().unwrap();
    assert_eq!(
        error.to_string(),
        "custody: the operator's secret does not open the wallets that are there"
    );
}
