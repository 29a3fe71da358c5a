//! Tests of a sub-wallet's history, which `/intents/{id}` and `/yield-farming-historical` show from
//! the intents in the store.

use std::collections::BTreeSet;

use alloy_primitives::{Address, B256, Bytes, U256};
use custody::Owner;
use dev_chain::BUYER;
use route_catalog::Operation as Route;
use serde_json::{Value, json};
use wallet_actions::{
    Allowance, At, Expected, Intent, Operation, SqliteStore, State, Status, Step, StepKind,
    Store as _,
};

use crate::routes::shop::Shop;
use crate::routes::sub_wallet::shop;

const DAY: u64 = 86_400;
const TOKEN: Address = Address::repeat_byte(7);

fn now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_second()).unwrap()
}

/// An intent that was completed this many days ago.
fn intent(number: u8, operation: Operation, days_ago: u64, received: u64, plan: Value) -> Intent {
    let wallet = Address::repeat_byte(9);
    let step = |kind, received| Step {
        kind,
        chain_id: 196,
        to: TOKEN,
        input: Bytes::new(),
        expects: Some(Expected {
            token: TOKEN,
            receiver: wallet,
            at_least: U256::from(1),
        }),
        returns_amount: false,
        returns_at_most: None,
        status: Status::Sealed {
            at: At {
                transaction: B256::repeat_byte(number),
                number: 21_000_000,
                block: B256::repeat_byte(1),
            },
            gas_limit: 100_000,
            received,
        },
    };
    let kind = match operation {
        Operation::Withdraw => StepKind::Transfer,
        _ => StepKind::Call,
    };
    let approves = matches!(operation, Operation::Swap | Operation::Invest);
    let mut steps = vec![step(kind, Some(U256::from(received)))];
    if approves {
        steps.insert(0, step(StepKind::Approve, None));
    }
    Intent {
        id: format!("{number:032x}").parse().unwrap(),
        revision: 0,
        owner: Owner::new(196, BUYER.address).to_string(),
        wallet,
        payment: B256::repeat_byte(number),
        call: String::new(),
        purchase: None,
        awaits_charge: false,
        price_micro_usd: 50_000,
        operation,
        created_at: now() - days_ago * DAY - 60,
        not_after: now(),
        state: State::Completed,
        halted: None,
        held: None,
        steps,
        allowance: approves.then_some(Allowance {
            chain_id: 196,
            token: TOKEN,
            spender: TOKEN,
            left: Some(U256::ZERO),
            clears: 0,
        }),
        bridge: None,
        plan,
        ended_at: Some(now() - days_ago * DAY),
        is_final: true,
        uncharged_at: None,
        reorganised_at: None,
    }
}

/// An intent that deposits this many whole tokens. The wallet had `before` atoms of shares.
fn deposit(number: u8, days_ago: u64, product: &str, amount: &str, before: &str) -> Intent {
    let plan = json!({
        "chain_id": 196, "protocol": "aave-v3", "product_id": product, "asset": TOKEN.to_string(),
        "amount": amount, "shares_before_atoms": before, "decimals": 6,
    });
    intent(number, Operation::Invest, days_ago, 100_000_000, plan)
}

fn withdrawal(number: u8, days_ago: u64, product: &str, received: u64, takes_all: bool) -> Intent {
    let plan = json!({
        "chain_id": 196, "protocol": "aave-v3", "product_id": product, "asset": TOKEN.to_string(),
        "takes_all": takes_all, "shares_before_atoms": "100000000", "decimals": 6,
    });
    intent(number, Operation::Divest, days_ago, received, plan)
}

/// Restarts the server on these intents.
async fn with(shop: &mut Shop, intents: Vec<Intent>) {
    let ledger = shop.world.config.storage.url().to_owned();
    let path = ledger.strip_prefix("sqlite://").unwrap();
    let path = std::path::Path::new(path).with_extension("wallets.db");
    let insert = async |_ledger: &ledger::SqliteLedger| {
        let store = SqliteStore::open(path.clone()).unwrap();
        for intent in intents {
            store.insert(intent, None).await.unwrap();
        }
    };
    shop.world.restart_over(insert).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deposits_and_withdrawals_are_listed_with_the_gain_of_closed_positions() {
    let folder = tempfile::tempdir().unwrap();
    let mut shop = shop(folder.path()).await;
    shop.buy("/sub-wallet").await;
    let closed = [
        deposit(1, 90, "closed", "100", "0"),
        withdrawal(2, 3, "closed", 101_500_000, true),
    ];
    let others = [
        deposit(3, 2, "open", "50", "0"),
        // The wallet had shares before, and their cost is unknown.
        deposit(4, 20, "unknown", "10", "5"),
        withdrawal(5, 1, "unknown", 16_000_000, true),
    ];
    with(&mut shop, [closed.as_slice(), &others].concat()).await;
    let body = shop.buy("/yield-farming-historical?days=7").await;
    let rows = body["data"]["realised"].as_array().unwrap();
    let told: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["kind"].as_str().unwrap(),
                row["product_id"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("withdrawal", "unknown"),
            ("deposit", "open"),
            ("withdrawal", "closed")
        ]
    );
    assert_eq!(
        (&rows[1]["amount"], &rows[1]["shares_received"]),
        (&json!("50"), &json!("100"))
    );
    assert_eq!(rows[2]["amount"], "101.5");
    assert_eq!(rows[2]["tx_hash"], B256::repeat_byte(2).to_string());
    // The deposit is older than the requested days; the gain covers the whole position. The other
    // positions show no gain.
    assert_eq!(
        body["data"]["gains"],
        json!([{"chain_id": 196, "product_id": "closed", "gain": "1.5"}])
    );
    let body = shop.buy("/yield-farming-historical?days=365").await;
    assert_eq!(body["data"]["realised"].as_array().unwrap().len(), 5);
}

/// The catalog's examples of actions have the same members as intents.
#[tokio::test(flavor = "multi_thread")]
async fn the_examples_of_actions_are_intents_as_they_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let mut shop = shop(folder.path()).await;
    let routes = [
        (Route::AutoSwap, Operation::Swap),
        (Route::AutoWithdraw, Operation::Withdraw),
        (Route::AutoDefiInvest, Operation::Invest),
        (Route::AutoDefiWithdraw, Operation::Divest),
    ];
    let example = |route: Route| -> Value { serde_json::from_str(route.route().example).unwrap() };
    let mut intents = Vec::new();
    for (number, (route, operation)) in (1..).zip(routes) {
        // The result has the plan, and then the effect.
        let mut plan = example(route)["result"].clone();
        let is_added = |name: &str| {
            let added = [
                "amount_out",
                "delivered",
                "shares_received",
                "allowance_left",
            ];
            added.iter().any(|added| name.starts_with(added))
        };
        plan.as_object_mut()
            .unwrap()
            .retain(|name, _| !is_added(name));
        intents.push(intent(number, operation, 0, 5, plan));
    }
    with(&mut shop, intents.clone()).await;
    for ((route, operation), intent) in routes.into_iter().zip(&intents) {
        let path = format!("/intents/{}", intent.id.as_str());
        let answer = shop.world.buyer.get(&path).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let (shown, example) = (answer.body(), example(route));
        assert_eq!(shown["operation"], operation.as_str());
        assert_eq!(example["operation"], operation.as_str());
        for place in ["", "/steps/0", "/result"] {
            assert_eq!(
                members(&shown, place),
                members(&example, place),
                "{operation:?} {place}"
            );
        }
        let id = example["intent_id"].as_str().unwrap();
        assert!(id.parse::<wallet_actions::IntentId>().is_ok(), "{id}");
    }
}

fn members(value: &Value, place: &str) -> BTreeSet<String> {
    let object = value.pointer(place).unwrap().as_object().unwrap();
    object.keys().cloned().collect()
}
