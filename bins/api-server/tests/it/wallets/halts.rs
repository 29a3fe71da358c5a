//! Tests of actions that fail after they have begun. The server charges and reports the effects
//! that they had, and leaves no allowance. An action without effect costs nothing.

use std::sync::atomic::{AtomicBool, Ordering};

use alloy_primitives::{Address, U256, fixed_bytes, hex};
use alloy_sol_types::SolCall as _;
use dev_chain::abi::{AavePool, DexRouter, TokenVault};
use dev_chain::{BadAnswer, DevChain, InjectedFault, MINTER, MinedSummary, xlayer};
use serde_json::{Value, json};

use crate::wallets::stage::{Stage, give_of};

const INVEST: &str = "/auto-defi-invest";

fn deposit(protocol: &str) -> Value {
    json!({ "chain_id": "196", "protocol": protocol, "asset": "USDG", "amount": "40" })
}

/// A stage whose sub-wallet has 100 USDG, and coins on chain 196.
async fn stage() -> Stage {
    let stage = Box::pin(Stage::fast()).await;
    stage.give_usdg(100_000_000);
    stage.give_coins(&stage.world.chain);
    stage
}

impl Stage {
    /// Runs `happens` right before the sub-wallet's transaction with this selector reaches the
    /// node. By then the server has judged and signed everything.
    fn before_sent(&self, selector: [u8; 4], mut happens: impl FnMut(&DevChain) + Send + 'static) {
        let (chain, happened) = (self.world.chain.clone(), AtomicBool::new(false));
        let selector = hex::encode(selector);
        self.nodes[0].meddle(move |method, params| {
            let raw = params[0].as_str().unwrap_or_default();
            if method == "eth_sendRawTransaction"
                && raw.contains(&selector)
                && !happened.swap(true, Ordering::SeqCst)
            {
                happens(&chain);
            }
            None
        });
    }

    fn allowance(&self, spender: Address) -> U256 {
        let chain = &self.world.chain;
        chain.allowance(xlayer::USDG, self.wallet, spender).unwrap()
    }

    fn usdg(&self) -> u64 {
        Self::holds(&self.world.chain, xlayer::USDG, self.wallet)
    }
}

fn kinds(data: &Value) -> Vec<String> {
    let steps = data["steps"].as_array().unwrap().iter();
    let of = |step: &Value| {
        let (kind, status) = (step["kind"].as_str(), step["status"].as_str());
        format!("{} {}", kind.unwrap(), status.unwrap())
    };
    steps.map(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_below_its_floor_is_partial_and_charged() {
    let stage = stage().await;
    let paid = stage.world.paid();
    stage.before_sent(TokenVault::depositCall::SELECTOR, |chain| {
        // A gift to the vault of one percent makes its shares dearer.
        let (from, vault) = (xlayer::DEX_ROUTER, xlayer::STATA_USDG);
        give_of(from, chain, xlayer::USDG, vault, 1_050_000_000);
    });
    let data = stage.done(INVEST, &deposit("erc4626")).await;
    assert_eq!(
        (&data["status"], &data["reason"]),
        (&json!("partial"), &json!("delivered_below_minimum")),
        "{data}"
    );
    assert_eq!(kinds(&data), ["approve success", "call success"]);
    let shares = Stage::holds(&stage.world.chain, xlayer::STATA_USDG, stage.wallet);
    let result = &data["result"];
    assert_eq!(result["shares_received_atoms"], shares.to_string());
    let least: u64 = result["shares_received_at_least_atoms"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!(shares < least, "{data}");
    assert_eq!(stage.world.paid() - paid, 50_000);
    assert_eq!(stage.usdg(), 60_000_000);
    assert_eq!(stage.allowance(xlayer::STATA_USDG), U256::ZERO);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swap_below_its_minimum_is_partial_and_charged() {
    let stage = stage().await;
    let paid = stage.world.paid();
    let short = DexRouter::setShortfallCall {
        basisPoints: U256::from(300),
    };
    let chain = &stage.world.chain;
    chain
        .call_as(MINTER.address, xlayer::DEX_ROUTER, &short)
        .unwrap();
    let (from, to) = (xlayer::USDG.to_string(), xlayer::USDT0.to_string());
    let swap = json!({
        "chain_id": "196", "from_token": from, "to_token": to, "amount": "20", "slippage": "1",
    });
    let data = stage.done("/auto-swap", &swap).await;
    assert_eq!(
        (&data["status"], &data["reason"]),
        (&json!("partial"), &json!("delivered_below_minimum")),
        "{data}"
    );
    let bought = Stage::holds(chain, xlayer::USDT0, stage.wallet);
    assert_eq!(data["result"]["amount_out_atoms"], bought.to_string());
    assert_eq!(stage.world.paid() - paid, 50_000);
    assert_eq!(stage.allowance(xlayer::DEX_APPROVE_PROXY), U256::ZERO);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_that_reverts_after_its_approval_is_failed_and_leaves_no_allowance() {
    let stage = stage().await;
    let paid = stage.world.paid();
    stage.before_sent(AavePool::supplyCall::SELECTOR, |chain| {
        let (asset, on) = (xlayer::USDG, true);
        let pause = AavePool::setPausedCall { asset, on };
        let pool = xlayer::AAVE_POOL;
        chain.call_as(MINTER.address, pool, &pause).unwrap();
    });
    let data = stage.done(INVEST, &deposit("aave-v3")).await;
    assert_eq!(
        (&data["status"], &data["reason"]),
        (&json!("failed"), &json!("step_reverted")),
        "{data}"
    );
    assert_eq!(
        kinds(&data),
        ["approve success", "call reverted", "clear success"]
    );
    assert_eq!(data["result"]["allowance_left_atoms"], "0");
    assert_eq!(stage.allowance(xlayer::AAVE_POOL), U256::ZERO);
    assert_eq!(stage.usdg(), 100_000_000);
    assert_eq!(stage.world.paid() - paid, 50_000);
}

/// The transaction needs more gas than any action should. Before a signature, the refusal costs
/// nothing. After an approval, the server takes the allowance back.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_asks_for_too_much_gas_is_not_sent() {
    let stage = stage().await;
    let is_supply = |params: &Value| {
        let input = params[0]["input"].as_str().or(params[0]["data"].as_str());
        input.is_some_and(|input| input.starts_with("0x617ba037"))
    };
    let too_much = || Some(json!("0x3d0901"));
    assert_eq!(AavePool::supplyCall::SELECTOR, fixed_bytes!("617ba037").0);
    stage.nodes[0].meddle(move |method, _| match method {
        "eth_estimateGas" => too_much(),
        _ => None,
    });
    let error = stage
        .refuses(
            INVEST,
            &deposit("aave-v3"),
            (422, "unsupported", "gas_too_high"),
        )
        .await;
    let ended = stage.ended(&error).await;
    assert_eq!(kinds(&ended), ["approve skipped", "call skipped"]);

    let paid = stage.world.paid();
    stage.nodes[0].meddle(move |method, params| match method {
        "eth_estimateGas" if is_supply(params) => too_much(),
        _ => None,
    });
    let data = stage.done(INVEST, &deposit("aave-v3")).await;
    assert_eq!(
        (&data["status"], &data["reason"]),
        (&json!("failed"), &json!("gas_too_high")),
        "{data}"
    );
    assert_eq!(
        kinds(&data),
        ["approve success", "call skipped", "clear success"]
    );
    assert_eq!(stage.allowance(xlayer::AAVE_POOL), U256::ZERO);
    assert_eq!(stage.world.paid() - paid, 50_000);
    stage.nodes[0].be_honest();
    let data = stage.done(INVEST, &deposit("aave-v3")).await;
    assert_eq!(data["status"], "completed", "{data}");
}

/// A node may keep a signed transaction and send it later, so the server replaces it by an empty
/// transaction of the wallet to itself. That has no effect, and costs the caller nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_every_node_refuses_costs_nothing() {
    let stage = Box::pin(Stage::fast()).await;
    stage.give_usdc(20_000_000);
    stage.give_coins(&stage.base);
    let refusal = BadAnswer::Error {
        code: -32_000,
        message: "intrinsic gas too low: have 21000, want 21404".to_owned(),
    };
    stage
        .base
        .inject(InjectedFault::new("eth_sendRawTransaction", refusal));
    let (paid, route) = (stage.world.paid(), "/auto-withdraw");
    let token = dev_chain::base::USDC.to_string();
    let withdraw = json!({ "chain_id": "8453", "token": token, "amount": "5" });
    let answer = stage.post(route, &withdraw).await;
    answer.is_refused(503, "upstream_unavailable");
    let error = answer.body()["error"].clone();
    assert_eq!(error["reason"], "step_refused_by_nodes", "{error}");
    assert_eq!(stage.world.paid(), paid);
    let ended = stage.ended(&error).await;
    assert_eq!(
        (&ended["status"], &ended["reason"]),
        (&json!("failed"), &json!("step_refused_by_nodes")),
        "{ended}"
    );
    let sent = stage.sent();
    let is_empty = |found: &MinedSummary| found.to == Some(stage.wallet) && found.input.is_empty();
    assert!(sent.iter().all(is_empty), "{sent:?}");
    let data = stage.done(route, &withdraw).await;
    assert_eq!(data["status"], "completed", "{data}");
    let held = Stage::holds(&stage.base, dev_chain::base::USDC, stage.wallet);
    assert_eq!(held, 15_000_000);
}
