//! Tests of products with traps. The server refuses each by name, before it signs anything.

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;
use dev_chain::abi::{AavePool, TokenVault};
use dev_chain::{MINTER, xlayer};
use serde_json::{Value, json};

use crate::wallets::stage::{Stage, give_of};

const UNSUPPORTED: (u16, &str) = (422, "unsupported");

fn market(amount: &str) -> Value {
    json!({ "chain_id": "196", "protocol": "aave-v3", "asset": "USDG", "amount": amount })
}

fn vault(amount: &str) -> Value {
    json!({ "chain_id": "196", "protocol": "erc4626", "asset": "USDG", "amount": amount })
}

impl Stage {
    /// Calls a function that only the owner of the stand-in contracts may call.
    fn change(&self, to: Address, call: &impl SolCall) {
        let chain = &self.world.chain;
        chain.call_as(MINTER.address, to, call).unwrap();
        chain.mine();
        chain.mine();
    }

    async fn is_a_trap(&self, body: &Value, reason: &str) {
        let (status, code) = UNSUPPORTED;
        let route = "/auto-defi-invest";
        self.refuses(route, body, (status, code, reason)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_market_that_is_closed_takes_nothing() {
    let stage = Box::pin(Stage::fast()).await;
    stage.give_usdg(100_000_000);
    let (pool, asset) = (xlayer::AAVE_POOL, xlayer::USDG);
    stage.change(pool, &AavePool::setPausedCall { asset, on: true });
    stage.is_a_trap(&market("5"), "product_paused").await;
    stage.change(pool, &AavePool::setPausedCall { asset, on: false });
    stage.change(pool, &AavePool::setFrozenCall { asset, on: true });
    stage.is_a_trap(&market("5"), "product_frozen").await;
    stage.change(pool, &AavePool::setFrozenCall { asset, on: false });
    stage.change(pool, &AavePool::setActiveCall { asset, on: false });
    stage.is_a_trap(&market("5"), "product_inactive").await;
    stage.change(pool, &AavePool::setActiveCall { asset, on: true });
    let cap = AavePool::setSupplyCapCall {
        asset,
        wholeTokens: U256::from(1_000_004),
    };
    stage.change(pool, &cap);
    stage.is_a_trap(&market("5"), "product_at_cap").await;
    let mut greedy = market("3");
    greedy["min_shares"] = "3.000001".into();
    stage.is_a_trap(&greedy, "preview_below_minimum").await;
    let data = stage.done("/auto-defi-invest", &market("3")).await;
    assert_eq!(data["status"], "completed", "{data}");

    // A withdrawal cannot take more than the position, and nothing while the product pays out
    // nothing.
    let out = |amount: &str| json!({ "product_id": "aave-v3-xlayer-usdg", "amount": amount });
    let route = "/auto-defi-withdraw";
    let above = (422, "unsupported", "above_position");
    stage.refuses(route, &out("3.5"), above).await;
    stage.change(pool, &AavePool::setPausedCall { asset, on: true });
    let reverts = (422, "unsupported", "step_would_revert");
    stage.refuses(route, &out("1"), reverts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vault_that_gives_less_than_it_promises_takes_nothing() {
    let stage = Box::pin(Stage::fast()).await;
    stage.give_usdg(100_000_000);
    let to = xlayer::STATA_USDG;
    let fees = |on_deposit: u64| TokenVault::setFeesCall {
        onDeposit: U256::from(on_deposit),
        onWithdrawal: U256::ZERO,
    };
    let lie = |basis_points: u64| TokenVault::setLieCall {
        basisPoints: U256::from(basis_points),
    };
    let cap = |assets: u64| TokenVault::setCapCall {
        assets: U256::from(assets),
    };
    stage.change(to, &TokenVault::setPausedCall { on: true });
    stage.is_a_trap(&vault("5"), "product_paused").await;
    stage.change(to, &TokenVault::setPausedCall { on: false });
    stage.change(to, &cap(105_004_000_000));
    stage.is_a_trap(&vault("5"), "product_at_cap").await;
    stage.change(to, &cap(0));
    stage.change(to, &lie(50));
    stage.is_a_trap(&vault("5"), "preview_below_minimum").await;
    stage.change(to, &lie(0));
    stage.change(to, &fees(150));
    stage.is_a_trap(&vault("5"), "preview_below_value").await;
    stage.change(to, &fees(0));
    let chain = &stage.world.chain;
    // After this gift to the vault, small deposits get no shares.
    give_of(xlayer::DEX_ROUTER, chain, xlayer::USDG, to, 999_000_000_000);
    stage
        .is_a_trap(&vault("0.000009"), "preview_zero_shares")
        .await;
    let data = stage.done("/auto-defi-invest", &vault("50")).await;
    assert_eq!(data["status"], "completed", "{data}");
}
