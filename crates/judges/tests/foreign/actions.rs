//! Clients of other projects pay for every action of their sub-wallet, and a wallet of another
//! project signs the principal. The embedded chains confirm the actions, and anvil does with the
//! same contracts.

mod ground;
mod shop;

use std::time::Duration;

use alloy_primitives::U256;
use dev_chain::{arbitrum, base, xlayer};
use judges::{Account, Client};
use serde_json::json;

use self::ground::Kind;
use self::shop::Shop;

/// Invests, takes back, swaps, bridges and withdraws. A foreign client pays for each action.
async fn round(kind: Kind, client: Client) {
    let shop = Box::pin(Shop::open(kind, client)).await;
    let wallet = shop.sub_wallet().await;
    let invest =
        json!({ "chain_id": "196", "protocol": "aave-v3", "asset": "USDG", "amount": "40" });
    shop.funded("/auto-defi-invest", &invest).await;
    let held = shop.xlayer.holds(xlayer::A_USDG, wallet).await;
    assert!(held >= U256::from(39_999_999), "{held}");
    let out = json!({ "product_id": "aave-v3-xlayer-usdg", "ratio": "1" });
    shop.done("/auto-defi-withdraw", &out).await;

    let vault =
        json!({ "chain_id": "196", "protocol": "erc4626", "asset": "USDG", "amount": "10" });
    shop.done("/auto-defi-invest", &vault).await;
    let shares = shop.xlayer.holds(xlayer::STATA_USDG, wallet).await;
    assert!(!shares.is_zero());
    let out = json!({ "product_id": "stata-xlayer-usdg", "ratio": "1" });
    shop.done("/auto-defi-withdraw", &out).await;
    assert!(
        shop.xlayer
            .holds(xlayer::STATA_USDG, wallet)
            .await
            .is_zero()
    );

    let swap = json!({
        "chain_id": "196", "from_token": xlayer::USDG, "to_token": xlayer::USDT0, "amount": "20",
    });
    let done = shop.done("/auto-swap", &swap).await;
    let bought = shop.xlayer.holds(xlayer::USDT0, wallet).await;
    assert_eq!(done["result"]["amount_out_atoms"], bought.to_string());
    for token in [xlayer::USDG, xlayer::USDT0] {
        let all = json!({ "chain_id": "196", "token": token, "amount": "max" });
        shop.done("/auto-withdraw", &all).await;
        assert!(shop.xlayer.holds(token, wallet).await.is_zero());
    }

    let swap = json!({
        "chain_id": "8453", "from_token": base::USDC, "to_token": base::WETH,
        "amount": "1000.000007", "slippage": "0.5",
    });
    let done = shop.funded("/auto-swap", &swap).await;
    assert!(
        done["result"]["judged"]["payload_digest"].is_string(),
        "{done:#}"
    );
    let bought = shop.base.holds(base::WETH, wallet).await;
    assert_eq!(done["result"]["amount_out_atoms"], bought.to_string());
    let bridge = json!({
        "from_chain": "8453", "to_chain": "42161", "token": base::USDC, "amount": "500",
    });
    let done = shop.funded("/auto-bridge", &bridge).await;
    assert_eq!(done["result"]["minted"], "500");
    let minted = shop.arbitrum.holds(arbitrum::USDC, wallet).await;
    assert_eq!(minted, U256::from(500_000_000));
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn x402_fetch_buys_every_action() {
    Box::pin(round(Kind::Embedded, Client::Fetch)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn x402_requests_buys_every_action() {
    Box::pin(round(Kind::Embedded, Client::Requests)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_action_ends_on_anvil_as_on_the_embedded_chains() {
    Box::pin(round(Kind::Anvil, Client::Fetch)).await;
}

/// The node loses the transfer before it is in a block. Later a reorganisation takes the transfer
/// back, after the action has ended. The service sends the same transfer again, and never a second
/// one.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_and_a_reorganised_withdrawal_happens_once() {
    let shop = Box::pin(Shop::open(Kind::Anvil, Client::Requests)).await;
    let wallet = shop.sub_wallet().await;
    let buyer = Account::BUYER.address;
    shop.base
        .transfer(base::USDC, Account::BUYER, wallet, 7_000_000)
        .await;
    let held = shop.base.holds(base::USDC, buyer).await;

    shop.base.mine_every(0).await;
    let all = json!({ "chain_id": "8453", "token": base::USDC, "amount": "max" });
    let lose_it = async {
        shop.base.drop_pending_of(wallet).await;
        shop.base.mine_every(1).await;
    };
    let (done, ()) = tokio::join!(shop.done("/auto-withdraw", &all), lose_it);
    assert_eq!(done["result"]["delivered"], "7", "{done:#}");
    let sent = shop.base.nonce(wallet).await;
    let after = held + U256::from(7_000_000);
    assert_eq!(shop.base.holds(base::USDC, buyer).await, after);

    shop.base.mine_every(0).await;
    shop.base.reorganise_away(wallet, sent).await;
    assert_eq!(shop.base.holds(base::USDC, buyer).await, held);
    shop.base.mine_every(1).await;
    let mut ticks = tokio::time::interval(Duration::from_millis(250));
    while shop.base.nonce(wallet).await < sent {
        ticks.tick().await;
    }
    assert_eq!(shop.base.holds(base::USDC, buyer).await, after);
    assert!(shop.base.holds(base::USDC, wallet).await.is_zero());
    assert_eq!(shop.base.nonce(wallet).await, sent);
    shop.close().await;
}
