//! Tests of wallets to which the server gives no coins for gas.

use alloy_primitives::U256;
use api_server::config::Usd;
use dev_chain::base;
use serde_json::{Value, json};

use crate::wallets::stage::Stage;

fn withdraw() -> Value {
    json!({ "chain_id": "8453", "token": base::USDC.to_string(), "amount": "5" })
}

fn bridge() -> Value {
    let token = base::USDC.to_string();
    json!({ "from_chain": "8453", "to_chain": "42161", "token": token, "amount": "5" })
}

/// The amount of wei that a refusal asks for.
fn missing(error: &Value) -> U256 {
    error["gas_wei"].as_str().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_gas_account_the_refusal_names_the_missing_coins() {
    let open = Stage::open_with(|config| config.wallets.gas_account_key = None);
    let stage = Box::pin(open).await;
    stage.give_usdc(20_000_000);
    for (route, body) in [("/auto-withdraw", withdraw()), ("/auto-bridge", bridge())] {
        let error = stage
            .refuses(route, &body, (409, "funds_required", "no_gas_account"))
            .await;
        assert_eq!(error["sub_wallet"], stage.wallet.to_string());
        assert_eq!(error["chain_id"], 8453);
        assert!(missing(&error) > U256::ZERO);
    }
    stage.give_coins(&stage.base);
    let data = stage.done("/auto-withdraw", &withdraw()).await;
    assert_eq!(data["status"], "completed", "{data}");
    // The destination of a bridge needs coins as well.
    let error = stage
        .refuses(
            "/auto-bridge",
            &bridge(),
            (409, "funds_required", "no_gas_account"),
        )
        .await;
    assert_eq!(error["chain_id"], 42_161);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_given_for_one_action_than_configured() {
    let open = Stage::open_with(|config| config.wallets.gas_topup_most_wei = 1_000);
    let stage = Box::pin(open).await;
    stage.give_usdc(20_000_000);
    let error = stage
        .refuses(
            "/auto-withdraw",
            &withdraw(),
            (409, "funds_required", "gas_topup_too_large"),
        )
        .await;
    assert!(missing(&error) > U256::from(1_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_price_of_the_coin_nothing_is_given_and_the_wallets_own_coins_are_used() {
    let open = Stage::open_with(|config| {
        config.wallets.gas_topup_budget_usd = Usd::micro(1);
    });
    let stage = Box::pin(open).await;
    stage.give_usdc(20_000_000);
    let error = stage
        .refuses(
            "/auto-withdraw",
            &withdraw(),
            (409, "funds_required", "coin_price_unavailable"),
        )
        .await;
    // The action began and had no effect, and its intent says so.
    let ended = stage.ended(&error).await;
    assert_eq!(
        (&ended["status"], &ended["reason"]),
        (&json!("failed"), &json!("coin_price_unavailable")),
        "{ended}"
    );
    assert_eq!(ended["steps"][0]["status"], "skipped");
    // A wallet that has coins of its own can act.
    stage.give_coins(&stage.base);
    let data = stage.done("/auto-withdraw", &withdraw()).await;
    assert_eq!(data["status"], "completed", "{data}");
}

/// The sum of coins on a chain and a day is limited whatever the coins are worth.
#[tokio::test(flavor = "multi_thread")]
async fn no_more_wei_is_given_on_a_chain_in_a_day_than_configured() {
    let open = Stage::open_with(|config| config.wallets.gas_topup_total_wei = 1_000);
    let stage = Box::pin(open).await;
    stage.give_usdc(20_000_000);
    let refusal = (409, "funds_required", "gas_budget_exhausted");
    stage.refuses("/auto-withdraw", &withdraw(), refusal).await;
}
