//! Accounts at Hyperliquid.

use alloy_primitives::{Address, address};
use data_sources::{Error, Sourced, hyperliquid_info::HyperliquidInfo};
use readings::derivatives::Account;
use serde_json::{Value, json};

use crate::markets::{
    NOW, connect,
    hyperliquid::{body, only, venue},
    json as answer, raw, reason, recorded,
};

pub(crate) const USER: Address = address!("1f9840a85d5aF5bf1D1762F925BDADdC4201F984");

async fn account(change: impl FnOnce(&mut Value)) -> Result<Sourced<Account>, Error> {
    let mut body = recorded("hyperliquid/clearinghouse_state_example.json");
    change(&mut body);
    let server = only("clearinghouseState", answer(&body)).await;
    connect(&server, HyperliquidInfo::new)
        .account(USER, "", None)
        .await
}

#[tokio::test]
async fn an_account_is_read_and_an_unused_one_is_empty() {
    let told = account(|_| {}).await.unwrap();
    assert_eq!(told.value.margin.account_value_usd.to_string(), "1204.51");
    let eth = &told.value.positions[1];
    assert_eq!(
        (eth.side, eth.size.to_string().as_str(), eth.liquidation_px),
        ("short", "-0.3", None)
    );
    assert_eq!(told.sources[0].as_of.unwrap().as_second(), NOW - 3);
    let empty = account(|body| *body = recorded("hyperliquid/clearinghouse_state_empty.json"))
        .await
        .unwrap();
    assert!(empty.value.is_empty() && !told.value.is_empty());
    // The caller's address in lower case, and no dex for the venue's own.
    let server = venue(|_, _| None).await;
    connect(&server, HyperliquidInfo::new)
        .account(USER, "", None)
        .await
        .unwrap();
    let asked = body(&server.received_requests().await.unwrap()[0]);
    assert_eq!(
        asked,
        json!({"type": "clearinghouseState", "user": "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984"})
    );
}

#[tokio::test]
async fn impossible_accounts_are_refused() {
    let changes: [fn(&mut Value); 7] = [
        |body| body["time"] = json!(1_795_233_000_000_u64),
        |body| drop(body.as_object_mut().unwrap().remove("time")),
        |body| body["marginSummary"]["accountValue"] = json!("NaN"),
        |body| {
            drop(
                body["marginSummary"]
                    .as_object_mut()
                    .unwrap()
                    .remove("accountValue"),
            )
        },
        |body| body["assetPositions"][0]["position"]["coin"] = json!("xyz:TSLA"),
        |body| body["assetPositions"][0]["position"]["szi"] = json!(""),
        |body| *body = Value::Null,
    ];
    for wrong in changes {
        assert_eq!(reason(account(wrong).await), "upstream_malformed");
    }
}

#[tokio::test]
async fn orders_and_balances_are_clean() {
    let mut orders = recorded("hyperliquid/frontend_open_orders_example.json");
    orders[0]["orderType"] = json!("Limit\u{202e}\u{0007}<b>");
    let twice = orders[1].clone();
    orders.as_array_mut().unwrap().push(twice);
    let hyperliquid = connect(
        &only("frontendOpenOrders", answer(&orders)).await,
        HyperliquidInfo::new,
    );
    let told = hyperliquid.open_orders(USER, "", None).await.unwrap().value;
    assert_eq!(told.len(), 2);
    let limit = told.iter().find(|order| order.coin == "BTC").unwrap();
    assert_eq!(
        (limit.order_type.as_str(), limit.trigger_px),
        ("Limit", None)
    );
    orders[0]["side"] = json!("X");
    let hyperliquid = connect(
        &only("frontendOpenOrders", answer(&orders)).await,
        HyperliquidInfo::new,
    );
    assert_eq!(
        reason(hyperliquid.open_orders(USER, "", None).await),
        "upstream_malformed"
    );

    let spot = json!({"balances": [{"coin": "US\u{200b}DC", "token": 7, "total": "1.0", "hold": "0.0", "entryNtl": "?"}]});
    let hyperliquid = connect(
        &only("spotClearinghouseState", answer(&spot)).await,
        HyperliquidInfo::new,
    );
    let told = hyperliquid.spot_balances(USER, None).await.unwrap().value;
    assert_eq!(
        (
            told[0].coin.as_str(),
            told[0].token,
            told[0].entry_value_usd
        ),
        ("USDC", 7, None)
    );
    let role = connect(
        &only("userRole", raw(r#"{"role":"agent","data":{}}"#)).await,
        HyperliquidInfo::new,
    );
    assert_eq!(role.role(USER, None).await.unwrap().value, "agent");
}
