//! Tests of every action, from the request to the effect on the chain.

use dev_chain::{BUYER, arbitrum, base, xlayer};
use serde_json::json;

use crate::wallets::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn a_principal_is_brought_swapped_invested_and_withdrawn() {
    let stage = Box::pin(Stage::open()).await;
    let before = Stage::holds(&stage.world.chain, xlayer::USDG, BUYER.address);
    let invest =
        json!({ "chain_id": "196", "protocol": "aave-v3", "asset": "USDG", "amount": "40" });
    let answer = stage.post_funded("/auto-defi-invest", &invest).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let data = answer.body()["data"].clone();
    assert_eq!(data["status"], "completed", "{data}");
    let kinds: Vec<_> = data["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["kind"].clone())
        .collect();
    assert_eq!(kinds, ["principal", "approve", "call"]);
    assert!(answer.receipt().is_some());
    assert_eq!(
        Stage::holds(&stage.world.chain, xlayer::USDG, BUYER.address),
        before - 40_000_000
    );
    let out = json!({ "product_id": "aave-v3-xlayer-usdg", "ratio": "1" });
    let data = stage.done("/auto-defi-withdraw", &out).await;
    assert_eq!(data["status"], "completed", "{data}");
    let vault =
        json!({ "chain_id": "196", "protocol": "erc4626", "asset": "USDG", "amount": "10" });
    let data = stage.done("/auto-defi-invest", &vault).await;
    assert_eq!(data["status"], "completed", "{data}");

    // The swap on chain 196 uses the calldata that POST /swap sells.
    let swap = json!({
        "chain_id": "196", "from_token": xlayer::USDG.to_string(), "to_token": xlayer::USDT0.to_string(),
        "amount": "20", "slippage": "1",
    });
    let data = stage.done("/auto-swap", &swap).await;
    assert_eq!(data["status"], "completed", "{data}");
    let bought = Stage::holds(&stage.world.chain, xlayer::USDT0, stage.wallet);
    assert_eq!(data["result"]["amount_out_atoms"], bought.to_string());
    assert!(bought > 19_000_000, "{data}");

    let paid = stage.world.paid();
    let withdraw =
        json!({ "chain_id": "196", "token": xlayer::USDT0.to_string(), "amount": "max" });
    let data = stage.done("/auto-withdraw", &withdraw).await;
    assert_eq!(data["result"]["amount"], data["result"]["delivered"]);
    assert_eq!(
        Stage::holds(&stage.world.chain, xlayer::USDT0, stage.wallet),
        0
    );
    assert_eq!(stage.world.paid() - paid, 50_000);
    let refused = stage.post("/auto-withdraw", &withdraw).await;
    refused.is_refused(404, "not_found");
    assert_eq!(stage.world.paid() - paid, 50_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swap_on_base_is_a_verified_plan_and_a_bridge_is_followed_to_its_mint() {
    let stage = Box::pin(Stage::open()).await;
    stage.give_usdc(2_000_000_000);
    let swap = json!({
        "chain_id": "8453", "from_token": base::USDC.to_string(), "to_token": base::WETH.to_string(),
        "amount": "1000.000007", "slippage": "0.5",
    });
    let data = stage.done("/auto-swap", &swap).await;
    assert_eq!(data["status"], "completed", "{data}");
    assert!(
        data["result"]["judged"]["payload_digest"].is_string(),
        "{data}"
    );
    assert_eq!(data["steps"].as_array().unwrap().len(), 3);
    assert!(Stage::holds(&stage.base, base::WETH, stage.wallet) > 0);

    stage.iris.pend_first(2);
    let bridge = json!({
        "from_chain": "8453", "to_chain": "42161", "token": base::USDC.to_string(), "amount": "500",
    });
    let answer = stage.post("/auto-bridge", &bridge).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    assert!(answer.receipt().is_some());
    let data = answer.body()["data"].clone();
    assert_eq!(
        (&data["status"], &data["reason"]),
        (&json!("in_progress"), &json!("awaiting_mint"))
    );
    let ended = stage.ended(&data).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["result"]["minted"], "500");
    assert_eq!(
        Stage::holds(&stage.arbitrum, arbitrum::USDC, stage.wallet),
        500_000_000
    );
    // The gas account paid for all of it, on both chains.
    for (chain, token) in [(&stage.base, base::USDC), (&stage.arbitrum, arbitrum::USDC)] {
        assert!(!chain.native_balance(stage.wallet).is_zero(), "{token}");
    }
    let unknown = stage
        .world
        .buyer
        .get("/intents/0123456789abcdef0123456789abcdef")
        .await;
    unknown.is_refused(404, "not_found");
}
