//! Tests of upstreams, lists and nodes that lie. The server refuses each lie by name and uncharged,
//! and signs nothing.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use alloy_primitives::{Address, U256, address, hex};
use alloy_sol_types::{SolCall as _, sol};
use dev_chain::{BadAnswer, InjectedFault, arbitrum, base, xlayer};
use serde_json::{Value, json};

use crate::wallets::between::Liar;
use crate::wallets::stage::Stage;

sol! {
    function uniswapV3SwapTo(uint256 receiver, uint256 amount, uint256 minReturn, uint256[] pools) external returns (uint256);
    function balanceOf(address account) external view returns (uint256);
}

const THIEF: Address = address!("00000000000000000000000000000000000badad");

const CHECK_FAILED: (u16, &str, &str) = (422, "unsupported", "check_failed");

fn home_swap() -> Value {
    let (from, to) = (xlayer::USDG.to_string(), xlayer::USDT0.to_string());
    json!({ "chain_id": "196", "from_token": from, "to_token": to, "amount": "20", "slippage": "1" })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quote_that_pays_another_receiver_is_refused() {
    let stage = Box::pin(Stage::over("lifi_receiver_changed", |_, _| {})).await;
    stage.give_usdc(2_000_000_000);
    let swap = json!({
        "chain_id": "8453", "from_token": base::USDC.to_string(), "to_token": base::WETH.to_string(),
        "amount": "1000", "slippage": "0.5",
    });
    let error = stage.refuses("/auto-swap", &swap, CHECK_FAILED).await;
    assert_eq!(error["check"], "agg_receiver_account_bound", "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_of_an_unreviewed_spender_is_refused() {
    let stage = Box::pin(Stage::over("spender_unreviewed", |_, _| {})).await;
    stage.give_usdg(100_000_000);
    let error = stage
        .refuses("/auto-swap", &home_swap(), CHECK_FAILED)
        .await;
    assert_eq!(error["check"], "spender_unreviewed", "{error}");
}

/// The home chain's aggregator lies about its transaction, in one way at a time.
#[tokio::test(flavor = "multi_thread")]
async fn an_altered_transaction_of_the_aggregator_is_refused() {
    let lie = Arc::new(AtomicU32::new(0));
    let told = Arc::clone(&lie);
    let (liar, url) = Liar::telling(move |path, answer| {
        if !path.contains("/aggregator/swap") {
            return;
        }
        let tx = &mut answer["data"][0]["tx"];
        match told.load(Ordering::SeqCst) {
            0 => tx["to"] = json!(THIEF),
            1 => tx["value"] = "1".into(),
            2 => {
                // The thief gets the output.
                let call = uniswapV3SwapToCall {
                    receiver: U256::from_be_slice(THIEF.as_slice()),
                    amount: U256::from(20_000_000),
                    minReturn: U256::from(19_900_000),
                    pools: vec![U256::from(1)],
                };
                tx["data"] = hex::encode_prefixed(call.abi_encode()).into();
            }
            3 => {
                // The call spends twice as much. The amount is the fourth word.
                let data = tx["data"].as_str().unwrap().to_owned();
                let at = 2 + 8 + 3 * 64;
                let amount = format!("{:064x}", 40_000_000);
                tx["data"] = format!("{}{amount}{}", &data[..at], &data[at + 64..]).into();
            }
            _ => {}
        }
    })
    .await;
    let open = Stage::over("", |config, replay| {
        liar.hears(replay.url());
        let okx = config.upstreams.0.entry("okx".to_owned()).or_default();
        okx.base_url = Some(format!("{url}/web3.okx.com"));
    });
    let stage = Box::pin(open).await;
    stage.give_usdg(100_000_000);
    for (number, check) in [
        (0, "router_unreviewed"),
        (1, "value_not_zero"),
        (2, "receiver_mismatch"),
        (3, "amount_mismatch"),
    ] {
        lie.store(number, Ordering::SeqCst);
        let error = stage
            .refuses("/auto-swap", &home_swap(), CHECK_FAILED)
            .await;
        assert_eq!(error["check"], check, "{number}: {error}");
    }
    lie.store(9, Ordering::SeqCst);
    let data = stage.done("/auto-swap", &home_swap()).await;
    assert_eq!(data["status"], "completed", "{data}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_whose_inputs_cannot_be_read_is_not_begun() {
    let stage = Box::pin(Stage::over("lifi_gateway_page", |_, _| {})).await;
    stage.give_usdc(2_000_000_000);
    let (token, weth) = (base::USDC.to_string(), base::WETH.to_string());
    let swap = json!({
        "chain_id": "8453", "from_token": token, "to_token": weth, "amount": "1000", "slippage": "0.5",
    });
    let unavailable = |reason| (503, "upstream_unavailable", reason);
    let reason = unavailable("quote_unavailable");
    stage.refuses("/auto-swap", &swap, reason).await;
    let busy = BadAnswer::Error {
        code: -32_000,
        message: "the node is busy".to_owned(),
    };
    for method in ["eth_blockNumber", "eth_getBlockByNumber"] {
        let fault = InjectedFault::new(method, busy.clone()).times(u32::MAX);
        stage.base.inject(fault);
    }
    let withdraw = json!({ "chain_id": "8453", "token": token, "amount": "5" });
    let reason = unavailable("chain_unreadable");
    stage.refuses("/auto-withdraw", &withdraw, reason).await;
}

/// The operator's list has contracts of another kind as products.
#[tokio::test(flavor = "multi_thread")]
async fn a_product_that_is_another_contract_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("targets.toml");
    let text = include_str!("../../../../../docs/wallet-targets.example.toml");
    // The list names the market's position token as the vault, and the vault as the market.
    let swapped = text
        .replace(&xlayer::STATA_USDG.to_string(), &xlayer::A_USDC.to_string())
        .replace(
            &xlayer::AAVE_POOL.to_string(),
            &xlayer::STATA_USDG.to_string(),
        );
    assert_ne!(swapped, text);
    std::fs::write(&list, swapped).unwrap();
    let open = Stage::open_with(|config| config.wallets.reviewed = Some(list));
    let stage = Box::pin(open).await;
    stage.give_usdg(100_000_000);
    for protocol in ["aave-v3", "erc4626"] {
        let invest =
            json!({ "chain_id": "196", "protocol": protocol, "asset": "USDG", "amount": "5" });
        let unreadable = (422, "unsupported", "product_unreadable");
        stage
            .refuses("/auto-defi-invest", &invest, unreadable)
            .await;
    }
}

/// The node reports a higher balance than the sub-wallet has.
#[tokio::test(flavor = "multi_thread")]
async fn a_false_balance_is_not_spent() {
    let stage = Box::pin(Stage::fast()).await;
    stage.give_coins(&stage.world.chain);
    let call = balanceOfCall {
        account: stage.wallet,
    };
    let (asked, token) = (hex::encode_prefixed(call.abi_encode()), xlayer::USDG);
    stage.nodes[0].meddle(move |method, params| {
        let (to, input) = (&params[0]["to"], &params[0]["input"]);
        let is_it = method == "eth_call"
            && to.as_str().and_then(|to| to.parse().ok()) == Some(token)
            && input.as_str().or(params[0]["data"].as_str()) == Some(asked.as_str());
        is_it.then(|| json!(format!("0x{:064x}", 900_000_000)))
    });
    let reverts = (422, "unsupported", "step_would_revert");
    let token = xlayer::USDG.to_string();
    let withdraw = json!({ "chain_id": "196", "token": token, "amount": "100" });
    stage.refuses("/auto-withdraw", &withdraw, reverts).await;
    let invest =
        json!({ "chain_id": "196", "protocol": "aave-v3", "asset": "USDG", "amount": "100" });
    stage.refuses("/auto-defi-invest", &invest, reverts).await;
}

/// The server does not bring the message of another burn to the destination. It brings the right
/// one.
#[tokio::test(flavor = "multi_thread")]
async fn an_attested_message_that_is_not_that_of_the_burn_is_not_minted() {
    let lies = Arc::new(AtomicU32::new(0));
    let told = Arc::clone(&lies);
    let wallet: Arc<OnceLock<String>> = Arc::default();
    let of = Arc::clone(&wallet);
    let (liar, url) = Liar::telling(move |_, answer| {
        if let Some(message) = answer.pointer_mut("/messages/0/message")
            && let Some(text) = message.as_str()
            && text.len() > 2
            && told.fetch_add(1, Ordering::SeqCst) == 0
        {
            let thief = hex::encode(THIEF);
            let turned = text.replace(of.get().unwrap(), &thief);
            assert_ne!(turned, text);
            *message = turned.into();
        }
    })
    .await;
    let open = Stage::over("", |config, _| {
        let circle = config.upstreams.0.entry("circle".to_owned()).or_default();
        liar.hears(circle.base_url.replace(url).unwrap());
    });
    let stage = Box::pin(open).await;
    wallet.set(hex::encode(stage.wallet)).unwrap();
    stage.give_usdc(20_000_000);
    let token = base::USDC.to_string();
    let bridge =
        json!({ "from_chain": "8453", "to_chain": "42161", "token": token, "amount": "5" });
    let answer = stage.post("/auto-bridge", &bridge).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    let ended = stage.ended(&answer.body()["data"]).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert!(lies.load(Ordering::SeqCst) > 1, "it was believed");
    for (account, expected) in [(THIEF, 0), (stage.wallet, 5_000_000)] {
        let held = Stage::holds(&stage.arbitrum, arbitrum::USDC, account);
        assert_eq!(held, expected, "{account}");
    }
}
