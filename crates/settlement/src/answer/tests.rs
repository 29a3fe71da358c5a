//! Tests with random answers of a facilitator. A payment is valid or settled only when every member
//! of the answer says so.

use alloy_primitives::hex;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

const PAYER: &str = "0x0202020202020202020202020202020202020202";
const HASH: &str = "0xabababababababababababababababababababababababababababababababab";

fn payment(scheme: &str) -> Payment {
    let requirements = format!(
        r#"{{"scheme":"{scheme}","network":"eip155:196","amount":"2000",
        "asset":"0x0101010101010101010101010101010101010101",
        "payTo":"0x0101010101010101010101010101010101010101",
        "maxTimeoutSeconds":300,"extra":{{"name":"USD Coin","version":"2"}}}}"#
    );
    let payload = format!(
        r#"{{"x402Version":2,"accepted":{requirements},"payload":{{"signature":"0x","authorization":{{
            "from":"{PAYER}","to":"0x0101010101010101010101010101010101010101",
            "value":"2000","validAfter":"0","validBefore":"9","nonce":"{HASH}"}}}}}}"#
    );
    Payment::restore(payload.as_bytes(), requirements.as_bytes()).unwrap()
}

/// Makes a value of a member. It is often a good one.
fn value() -> impl Strategy<Value = Value> {
    let texts = prop::sample::select(vec![
        "",
        "success",
        "pending",
        "timeout",
        "settled",
        "Confirmed",
        "COMPLETED",
        "eip155:196",
        "eip155:1",
        "2000",
        "02000",
        "20_00",
        "2001",
        PAYER,
        "0x0303030303030303030303030303030303030303",
        HASH,
        "0xab",
        "settlement_pending",
        "insufficient_funds",
        "invalid_exact_evm_nonce_already_used",
        "unexpected_settle_error",
        "of its own",
    ]);
    prop_oneof![
        6 => texts.prop_map(Value::from),
        2 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(json!({"a": [1]})),
    ]
}

/// Makes an answer in which some members are good, some are wrong, and some are missing.
fn answer(good: Value) -> impl Strategy<Value = Value> {
    let good: Map<String, Value> = good.as_object().unwrap().clone();
    let members: Vec<_> = good
        .into_iter()
        .map(|(name, good)| {
            let value = prop_oneof![
                6 => Just(Some(good)),
                1 => value().prop_map(Some),
                1 => Just(None),
            ];
            (Just(name), value)
        })
        .collect();
    members.prop_map(|members| {
        let given = members.into_iter();
        given
            .filter_map(|(name, value)| Some((name, value?)))
            .collect::<Map<_, _>>()
            .into()
    })
}

fn statuses() -> impl Strategy<Value = u16> {
    prop_oneof![4 => Just(200), 1 => prop::sample::select(vec![201, 299, 300, 400, 402, 500, 502])]
}

/// Whether a member is absent, null or empty. Facilitators use all three for the same.
fn none(value: &Value) -> bool {
    value.is_null() || value == ""
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn a_payment_is_valid_only_when_the_whole_answer_says_so(
        status in statuses(),
        said in answer(json!({"isValid": true, "payer": PAYER, "invalidReason": null, "other": 1})),
    ) {
        let reply = Reply { status, body: said.to_string().into() };
        let is_valid = said["isValid"] == true
            && (200..300).contains(&status)
            && (none(&said["payer"]) || said["payer"] == PAYER);
        let readable = ["payer", "invalidReason"]
            .iter()
            .all(|name| said[*name].is_null() || said[*name].is_string());
        let verification = verification(&payment("exact"), &reply);
        prop_assert_eq!(verification == Verification::Valid, is_valid && readable, "{} {}", status, said);
    }

    #[test]
    fn a_payment_is_settled_only_when_the_whole_answer_says_so(
        status in statuses(),
        deferred in any::<bool>(),
        said in answer(json!({
            "success": true, "transaction": HASH, "network": "eip155:196", "payer": PAYER, "amount": "2000",
            "status": "success", "errorReason": null, "errorMessage": null,
        })),
    ) {
        let reply = Reply { status, body: said.to_string().into() };
        let answered = settlement(&payment(if deferred { "aggr_deferred" } else { "exact" }), &reply);
        let texts = ["transaction", "network", "payer", "amount", "status", "errorReason", "errorMessage"];
        let readable = texts.iter().all(|name| said[*name].is_null() || said[*name].is_string());
        let is_hash = |text: &str| hex::decode(text).is_ok_and(|bytes| bytes.len() == 32);
        let agrees = readable
            && said["network"] == "eip155:196"
            && (none(&said["payer"]) || said["payer"] == PAYER)
            && (none(&said["amount"]) || said["amount"] == "2000" || said["amount"] == "02000");
        let done = none(&said["status"])
            || said["status"].as_str().is_some_and(|status| {
                let status = status.to_ascii_lowercase();
                ["success", "settled", "confirmed", "completed"].contains(&status.as_str())
            });
        let done = done && none(&said["errorReason"]);
        let settled = agrees
            && said["success"] == true
            && (200..300).contains(&status)
            && (deferred || said["transaction"].as_str().is_some_and(is_hash))
            && done;
        let observed = matches!(&answered, SettleAnswer::Final(Settlement::Settled(_)));
        prop_assert_eq!(observed, settled, "{} {} {:?}", status, said, answered);
        if let SettleAnswer::Final(Settlement::Settled(receipt)) = &answered {
            prop_assert_eq!(receipt.transaction.as_str(), said["transaction"].as_str().unwrap_or_default());
        }
        // A rejection must say that it is one, and must not be the error of a gateway.
        if let SettleAnswer::Final(Settlement::Rejected { .. }) = &answered {
            prop_assert!(said["success"] == false, "{} {}", status, said);
        }
    }

    #[test]
    fn bytes_that_are_not_an_answer_decide_nothing(status in any::<u16>(), body in any::<Vec<u8>>()) {
        prop_assume!(serde_json::from_slice::<Value>(&body).is_err());
        let reply = Reply { status, body: body.into() };
        let verified = verification(&payment("exact"), &reply);
        prop_assert!(matches!(verified, Verification::Unavailable { .. }), "{verified:?}");
        let settled = settlement(&payment("exact"), &reply);
        let unknown = matches!(settled, SettleAnswer::Final(Settlement::Unknown { transaction: None, .. }));
        prop_assert!(unknown, "{settled:?}");
    }
}
