//! A swap through the reviewed router.

use alloy_primitives::Address;
use calldata_checks::swap::calldata::{FeeDistribution, SwapCall, decode_fees};
use serde_json::Value;

use super::{UNREADABLE, Words, data, describe_approvals, integer, target, text};
use crate::units;

pub(super) fn describe(plan: &Value, words: &mut Words) {
    let chain_id = integer(plan, "/payload/chain_id");
    let call = data(plan, 2).and_then(|data| SwapCall::decode(&data).ok());
    let Some(call) = call else {
        words.add(
            "does",
            format!("{UNREADABLE}: the third step is not a swap"),
        );
        return;
    };
    let deposits = call.legs.iter().filter(|leg| leg.requiresDeposit);
    let gives = deposits
        .map(|leg| units::amount(chain_id, leg.sendingAssetId, leg.fromAmount))
        .collect::<Vec<_>>()
        .join(" and ");
    words.add("gives", or_unreadable(gives));
    let received = call.legs.last().map(|leg| leg.receivingAssetId);
    words.add(
        "gets at least",
        received.map_or_else(
            || UNREADABLE.to_owned(),
            |token| units::amount(chain_id, token, call.min_amount_out),
        ),
    );
    words.add("to", recipient(plan, call.receiver));
    describe_fees(plan, chain_id, &call, words);
    let contract = target(plan, 2).map_or_else(|| UNREADABLE.to_owned(), |to| to.to_string());
    words.add("contract", contract);
    describe_approvals(plan, chain_id, words);
}

/// Every recipient of a fee with its amount, as the fee leg pays them.
fn describe_fees(plan: &Value, chain_id: Option<u64>, call: &SwapCall, words: &mut Words) {
    let fees = call
        .legs
        .first()
        .and_then(|leg| decode_fees(&leg.callData).ok());
    match fees {
        None => words.add("fees", "none is decoded".to_owned()),
        Some(fees) => {
            for FeeDistribution { recipient, amount } in fees._distributions {
                let role = role(plan, recipient);
                let amount = units::amount(chain_id, fees._token, amount);
                words.add("fee", format!("{amount} to {recipient} ({role})"));
            }
        }
    }
    words.add("fee version", text(plan, "/fee_attribution/version"));
}

/// The role in the envelope; the verifier compares it with the configuration.
fn role(plan: &Value, recipient: Address) -> String {
    let named = plan
        .pointer("/fee_attribution/recipients")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .find(|entry| {
            entry
                .get("address")
                .and_then(Value::as_str)
                .and_then(|address| address.parse().ok())
                == Some(recipient)
        });
    named.map_or_else(
        || "a role that is not named".to_owned(),
        |entry| text(entry, "/role"),
    )
}

fn recipient(plan: &Value, receiver: Address) -> String {
    let account = text(plan, "/account_binding/address").parse::<Address>();
    if account == Ok(receiver) {
        format!("{receiver} (the account itself)")
    } else {
        format!("{receiver} (NOT the account)")
    }
}

fn or_unreadable(text: String) -> String {
    if text.is_empty() {
        UNREADABLE.to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_receiver_stands_out() {
        let plan = serde_json::json!({"account_binding": {"address": Address::ZERO.to_string()}});
        assert!(recipient(&plan, Address::ZERO).ends_with("(the account itself)"));
        assert!(recipient(&plan, Address::repeat_byte(1)).ends_with("(NOT the account)"));
    }
}
