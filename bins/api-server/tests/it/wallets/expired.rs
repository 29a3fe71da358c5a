//! Tests of actions whose payment can no longer be settled, because its window closed while the
//! server was down.

use alloy_primitives::U256;
use dev_chain::base;
use reqwest::Method;
use serde_json::{Value, json};
use test_support::eventually;
use wallet_actions::{Intent, State, Status, Store as _};
use x402_wire::PaymentPayload;

use crate::wallets::stage::Stage;

const COUNTED: &str = "svc_wallet_actions_uncharged_total{operation=\"withdraw\"}";

/// Makes a payment whose window has closed.
async fn expired(stage: &Stage) -> Value {
    let buyer = &stage.world.buyer;
    let mut draft = buyer.draft(Method::POST, "/auto-withdraw").await;
    let now = u64::try_from(jiff::Timestamp::now().as_second()).unwrap();
    draft.authorization.valid_before = U256::from(now - 5);
    buyer.signed(&draft)
}

/// The metric's count of such actions.
async fn counted(stage: &Stage) -> u64 {
    let metrics = stage.world.buyer.get("/metrics").await.text;
    let line = metrics.lines().find_map(|line| line.strip_prefix(COUNTED));
    line.map_or(0, |count| count.trim().parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_after_its_payments_window_is_uncharged_and_counted_once() {
    let mut stage = Box::pin(Stage::open()).await;
    stage.give_usdc(5_000_000);
    let token = base::USDC.to_string();
    let body = json!({ "chain_id": "8453", "token": token, "amount": "1" });
    let done = stage.done("/auto-withdraw", &body).await;
    assert_eq!(done["status"], "completed");
    let payment = expired(&stage).await;
    let paid = stage.world.paid();
    assert_eq!(counted(&stage).await, 0);

    // The records of an action whose process was killed after the first of two transactions.
    let path = stage.world.folder().join("ledger.wallets.db");
    let (text, id) = (payment.to_string(), done["intent_id"].clone());
    let restarted = stage.world.restart_over(async |_| {
        let store = wallet_actions::SqliteStore::open(path.clone()).unwrap();
        let id = id.as_str().unwrap().parse().unwrap();
        let first = store.get(&id).await.unwrap().unwrap();
        let mut call: Value = serde_json::from_str(&first.call).unwrap();
        call["payment"] = text.clone().into();
        let payload = PaymentPayload::from_json(text.as_bytes()).unwrap();
        let mut steps = first.steps.clone();
        steps.push(wallet_actions::Step {
            status: Status::Planned,
            ..first.steps[0].clone()
        });
        let cut_off = Intent {
            id: "00000000000000000000000000000abc".parse().unwrap(),
            payment: payload.authorization_key().unwrap().digest(),
            call: call.to_string(),
            not_after: first.not_after + 3_600,
            state: State::Running,
            ended_at: None,
            is_final: false,
            steps,
            ..first
        };
        store.insert(cut_off).await.unwrap();
    });
    Box::pin(restarted).await;

    // The action continues, and its record shows its effect.
    let shown = json!({ "intent_id": "00000000000000000000000000000abc" });
    let ended = stage.ended(&shown).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let statuses: Vec<_> = ended["steps"].as_array().unwrap().iter().collect();
    assert_eq!(statuses.len(), 2);
    assert_eq!(statuses[1]["status"], "success");
    assert_eq!(
        Stage::holds(&stage.base, base::USDC, stage.wallet),
        3_000_000
    );
    // Nothing was charged, and the ledger has the reason.
    let noted = async || (counted(&stage).await == 1).then_some(());
    eventually("the note in the ledger", noted).await;
    let standing = stage.world.look_up(&payment).await;
    assert_eq!(standing["state"], "released");
    assert_eq!(standing["reason"], "expired_uncharged");
    assert_eq!(stage.world.paid(), paid);

    // The record is made once. Real time passes, in which a restarted server would repeat it.
    Box::pin(stage.world.restart()).await;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(counted(&stage).await, 1);
    assert_eq!(stage.world.look_up(&payment).await, standing);
}
