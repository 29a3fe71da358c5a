//! Tests of actions whose transaction a node holds up: fees beside the gas, a least tip, and coins
//! that nobody brings. Such an action says what it waits for, and is not charged before one of its
//! transactions is in a block.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use alloy_primitives::U256;
use dev_chain::rollup::GAS_PRICE_ORACLE;
use dev_chain::{DEV_ACCOUNTS, base};
use serde_json::{Value, json};
use test_support::eventually;
use tokio::time::Instant;

use crate::wallets::stage::Stage;

const ROUTE: &str = "/auto-withdraw";

/// A thousandth of a thousandth of a coin.
const DATA_FEE: u64 = 1_000_000_000_000;

fn withdraw() -> Value {
    json!({ "chain_id": "8453", "token": base::USDC.to_string(), "amount": "max" })
}

impl Stage {
    /// How often the gas account has sent coins to the sub-wallet on Base.
    fn top_ups(&self) -> usize {
        let all = self.base.transactions();
        let gives = |from, to| from == DEV_ACCOUNTS[2].address && to == Some(self.wallet);
        all.iter()
            .filter(|found| gives(found.from, found.to))
            .count()
    }

    async fn withdraws(&self) {
        let data = self.done(ROUTE, &withdraw()).await;
        assert_eq!(data["status"], "completed", "{data}");
        assert!(data.get("held_since").is_none(), "{data}");
        assert_eq!(Self::holds(&self.base, base::USDC, self.wallet), 0);
    }

    /// Makes the nodes of Base state no fees beside the gas. They still demand them.
    fn hide_fees(&self) {
        let oracle = GAS_PRICE_ORACLE.to_string().to_lowercase();
        self.nodes[1].meddle(move |method, params| {
            let to = params[0]["to"].as_str().unwrap_or_default();
            let hidden = method == "eth_call" && to.eq_ignore_ascii_case(&oracle);
            hidden.then(|| json!(format!("0x{}", "0".repeat(64))))
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawal_pays_what_the_chain_adds_to_its_gas() {
    let stage = Box::pin(Stage::open()).await;
    let (data, operator) = (U256::from(DATA_FEE), U256::from(DATA_FEE / 10));
    stage.base.set_rollup_fees(data, operator).unwrap();
    stage.give_usdc(100_000_000);
    stage.withdraws().await;
    assert_eq!(stage.top_ups(), 1);
}

/// The fees of the chain are not what its contract states. The refusal of the node names the
/// balance that it demands, and the wallet gets it.
#[tokio::test(flavor = "multi_thread")]
async fn coins_that_only_a_refusal_names_come_in_another_top_up() {
    let stage = Box::pin(Stage::open()).await;
    stage
        .base
        .set_rollup_fees(U256::from(DATA_FEE), U256::ZERO)
        .unwrap();
    stage.hide_fees();
    stage.give_usdc(100_000_000);
    stage.withdraws().await;
    assert_eq!(stage.top_ups(), 2);
}

/// The node demands five times the tip that it suggests.
#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawal_meets_the_least_tip_of_a_node() {
    let stage = Box::pin(Stage::open()).await;
    stage.base.set_least_tip(5_000_000);
    stage.give_usdc(100_000_000);
    stage.withdraws().await;
}

/// No account brings the coins that the node demands. The call ends uncharged and says why. The
/// action goes on, and the same payment pays for it when its transaction is in a block.
#[tokio::test]
async fn a_held_action_says_what_it_waits_for_and_is_not_charged() {
    let open = Stage::open_with(|config| config.wallets.gas_account_key = None);
    let stage = Box::pin(open).await;
    stage.give_usdc(100_000_000);
    stage.give_coins(&stage.base);
    let two_coins = U256::from(2_000_000_000_000_000_000_u64);
    stage.base.set_rollup_fees(two_coins, U256::ZERO).unwrap();
    let (sent, looked) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (sends, looks) = (Arc::clone(&sent), Arc::clone(&looked));
    let oracle = GAS_PRICE_ORACLE.to_string().to_lowercase();
    stage.nodes[1].meddle(move |method, params| {
        match method {
            "eth_sendRawTransaction" => _ = sends.fetch_add(1, Ordering::SeqCst),
            // The action looks whether it gets coins. From the third time on, it does not see it.
            "eth_gasPrice"
                if sends.load(Ordering::SeqCst) > 0
                    && looks.fetch_add(1, Ordering::SeqCst) >= 2 =>
            {
                return Some(Value::Null);
            }
            _ => {}
        }
        let to = params[0]["to"].as_str().unwrap_or_default();
        let hidden = method == "eth_call" && to.eq_ignore_ascii_case(&oracle);
        hidden.then(|| json!(format!("0x{}", "0".repeat(64))))
    });
    let (paid, payment) = (stage.world.paid(), stage.identified(ROUTE).await);
    let (buyer, body) = (&stage.world.buyer, withdraw());
    let begun = Instant::now();
    let (answer, ()) = tokio::join!(buyer.post_paid(ROUTE, &body, &payment), async {
        // The second look comes after the first one was written down, and the fourth one after one
        // that failed: the known cause stays.
        let is_held = async || (looked.load(Ordering::SeqCst) >= 4).then_some(());
        eventually("the hold", is_held).await;
        // The action is given up some seconds before the call's time is over.
        let given_up = Duration::from_secs(55);
        test_support::skip(given_up.saturating_sub(begun.elapsed())).await;
    });
    answer.is_refused(503, "upstream_unavailable");
    let error = answer.body()["error"].clone();
    assert_eq!(error["reason"], "no_gas_account", "{error}");
    assert_eq!(answer.action(), "send_same_again", "{error}");
    assert!(error["held_since"].is_string() && error["held_until"].is_string());
    assert_eq!(stage.world.paid(), paid);
    let target = format!("/intents/{}", error["intent_id"].as_str().unwrap());
    let shown = buyer.get(&target).await.body();
    assert_eq!(
        (&shown["status"], &shown["reason"]),
        (&json!("in_progress"), &json!("no_gas_account")),
        "{shown}"
    );
    for member in ["held_since", "held_until"] {
        assert_eq!(shown[member], error[member], "{shown}");
    }
    assert!(stage.sent().is_empty());

    stage.nodes[1].be_honest();
    stage.base.set_rollup_fees(U256::ZERO, U256::ZERO).unwrap();
    // The work of the first call may still be ending.
    let repeated = async || {
        let answer = buyer.post_paid(ROUTE, &body, &payment).await;
        (answer.status != 409).then_some(answer)
    };
    let done = eventually("the end of the first call", repeated).await;
    assert_eq!(done.status, 200, "{}", done.text);
    let data = done.body()["data"].clone();
    assert_eq!(data["status"], "completed", "{data}");
    assert_eq!(data["intent_id"], error["intent_id"]);
    assert!(data.get("held_until").is_none(), "{data}");
    assert_eq!(stage.world.paid() - paid, 50_000);
    assert_eq!(stage.sent().len(), 1);
}
