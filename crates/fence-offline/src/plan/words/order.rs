//! Limit orders of venues, described from the signed members of the order and not from a
//! description of it.

use alloy_primitives::U256;
use serde_json::Value;

use super::{UNREADABLE, Words, amount, text};

/// Decimals of outcome tokens and of the collateral.
const PREDICTION_DECIMALS: u8 = 6;

pub(super) fn describe_prediction(plan: &Value, words: &mut Words) {
    let side = text(plan, "/payload/order/side");
    let maker = decimal(amount(plan, "/payload/order/makerAmount"));
    let taker = decimal(amount(plan, "/payload/order/takerAmount"));
    let (gives, gets) = match side.as_str() {
        "BUY" => (
            format!("at most {maker} collateral"),
            format!("{taker} outcome tokens"),
        ),
        "SELL" => (
            format!("at most {maker} outcome tokens"),
            format!("{taker} collateral"),
        ),
        _ => (UNREADABLE.to_owned(), UNREADABLE.to_owned()),
    };
    words.add("side", side);
    words.add("gives", gives);
    words.add("gets", format!("{gets} when all of it is filled"));
    words.add("outcome token", text(plan, "/payload/order/tokenId"));
    words.add("to", text(plan, "/payload/order/maker"));
    let fee = format!(
        "at most {} basis points to builder {}",
        text(plan, "/fee_attribution/max_fee_bps"),
        text(plan, "/payload/order/builder")
    );
    words.add("fee", fee);
    words.add("fee version", text(plan, "/fee_attribution/version"));
    words.add(
        "contract",
        text(plan, "/payload/typed_data/domain/verifyingContract"),
    );
}

pub(super) fn describe_perpetual(plan: &Value, words: &mut Words) {
    let orders = plan
        .pointer("/payload/action/orders")
        .and_then(Value::as_array);
    let coin = text(plan, "/payload/venue/coin");
    for order in orders.into_iter().flatten() {
        words.add("order", perpetual(order, &coin));
    }
    if orders.is_none_or(Vec::is_empty) {
        words.add("order", UNREADABLE.to_owned());
    }
    words.add("for", text(plan, "/payload/order_owner"));
    let fee = match plan.pointer("/payload/action/builder") {
        Some(builder) => format!(
            "{} tenths of a basis point to builder {}",
            text(builder, "/f"),
            text(builder, "/b")
        ),
        None => "no builder fee".to_owned(),
    };
    words.add("fee", fee);
    words.add("fee version", text(plan, "/fee_attribution/version"));
    words.add("venue", text(plan, "/payload/endpoint"));
}

fn perpetual(order: &Value, coin: &str) -> String {
    let side = match order.pointer("/b").and_then(Value::as_bool) {
        Some(true) => "buy",
        Some(false) => "sell",
        None => UNREADABLE,
    };
    let (size, price) = (text(order, "/s"), text(order, "/p"));
    let reduces = match order.pointer("/r").and_then(Value::as_bool) {
        Some(true) => ", only to reduce the position",
        _ => "",
    };
    let trigger = order
        .pointer("/t/trigger")
        .map_or_else(String::new, |trigger| {
            let kind = match trigger.pointer("/tpsl").and_then(Value::as_str) {
                Some("tp") => "take profit",
                Some("sl") => "stop loss",
                _ => UNREADABLE,
            };
            format!(", {kind} once the price is {}", text(trigger, "/triggerPx"))
        });
    format!("{side} {size} {coin} at {price}{reduces}{trigger}")
}

fn decimal(amount: Option<U256>) -> String {
    amount.map_or_else(
        || UNREADABLE.to_owned(),
        |amount| exact::format_units(amount, PREDICTION_DECIMALS),
    )
}
