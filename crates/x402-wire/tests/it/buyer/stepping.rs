//! Tests of the step after an answer.

use alloy_primitives::B256;
use serde_json::{Value, json};
use x402_wire::{
    buyer::{BoughtWith, PaymentOutcome, PaymentState, SellerAnswer, Step},
    encode_header,
};

use super::{PAYER, signed};

const URL: &str = "https://api.example/payments/1/2/3";

fn step(status: u16, body: &Value, retry_after_seconds: Option<u64>) -> Step {
    let body = body.to_string();
    let answer = SellerAnswer {
        status,
        body: body.as_bytes(),
        retry_after_seconds,
        ..SellerAnswer::default()
    };
    signed().step(&answer).unwrap()
}

fn look_up(after_seconds: u64, is_of_earlier: bool) -> Step {
    Step::LookUp {
        after_seconds,
        url: URL.to_owned(),
        is_of_earlier,
    }
}

#[test]
fn the_sellers_advice_is_followed() {
    let again = |after_seconds| Step::SendSameAgain { after_seconds };
    let look = json!({"action": "look_up", "url": URL});
    for (status, about, expected) in [
        (402, json!({"next": {"action": "sign_new"}}), Step::SignNew),
        (
            503,
            json!({"next": {"action": "send_same_again", "after_seconds": 7}}),
            again(7),
        ),
        (
            402,
            json!({"next": {"action": "wait", "after_seconds": 90, "url": URL}}),
            look_up(90, false),
        ),
        (
            409,
            json!({"code": "payment_bound_elsewhere", "next": look}),
            look_up(2, false),
        ),
        (
            409,
            json!({"code": "purchase_undecided", "next": look}),
            look_up(2, true),
        ),
        (
            409,
            json!({"code": "action_repeated", "next": look}),
            look_up(2, true),
        ),
        (
            429,
            json!({"code": "rate_limited", "reason": "too_many_repetitions", "next": look}),
            look_up(2, true),
        ),
        (503, json!({"next": {"action": "none"}}), Step::Stop),
        (409, json!({"next": {"action": "look_up"}}), Step::Stop),
        (
            503,
            json!({"next": {"action": "send_same_again", "after_seconds": u64::MAX}}),
            again(86_400),
        ),
    ] {
        let member = if status == 402 { "refusal" } else { "error" };
        assert_eq!(step(status, &json!({ member: about }), None), expected);
    }
}

#[test]
fn without_advice_the_same_header_is_sent_again_where_that_may_help() {
    let again = |after_seconds| Step::SendSameAgain { after_seconds };
    for (status, retry_after, expected) in [
        (500, None, again(1)),
        (502, None, again(1)),
        (429, Some(9), again(9)),
        (409, Some(3), again(3)),
        (409, None, Step::Stop),
        (400, None, Step::Stop),
        (402, None, Step::Stop),
    ] {
        assert_eq!(
            step(status, &Value::Null, retry_after),
            expected,
            "{status}"
        );
    }
}

#[test]
fn an_answer_says_which_payment_bought_it() {
    let transaction = B256::repeat_byte(3);
    let receipt = json!({"success": true, "transaction": transaction, "network": "eip155:196", "payer": PAYER});
    let receipt = encode_header(&receipt.to_string());
    let answer = |purchase_repeated, payment_response| {
        let answer = SellerAnswer {
            status: 200,
            payment_response,
            purchase_repeated,
            ..SellerAnswer::default()
        };
        signed().step(&answer).unwrap()
    };
    let outcome = Some(PaymentOutcome::Settled { transaction });
    assert_eq!(
        answer(None, Some(receipt.as_bytes())),
        Step::Answered {
            bought_with: BoughtWith::ThisPayment,
            outcome: outcome.clone(),
        }
    );
    // The earlier payment may have had another price.
    let other = json!({"success": true, "transaction": transaction, "amount": "1"});
    let other = encode_header(&other.to_string());
    let transaction = Some(transaction);
    for receipt in [&receipt, &other] {
        assert_eq!(
            answer(Some(b"1"), Some(receipt.as_bytes())),
            Step::Answered {
                bought_with: BoughtWith::EarlierPayment { transaction },
                outcome: outcome.clone(),
            }
        );
    }
    let unfit = signed().step(&SellerAnswer {
        status: 200,
        payment_response: Some(other.as_bytes()),
        ..SellerAnswer::default()
    });
    assert_eq!(unfit.unwrap_err().code(), "other_payment");
    assert_eq!(
        answer(Some(b"1"), None),
        Step::Answered {
            bought_with: BoughtWith::EarlierPayment { transaction: None },
            outcome: None,
        }
    );
}

#[test]
fn the_state_of_a_payment_is_read() {
    let hash = B256::repeat_byte(5);
    let transaction = Some(hash);
    for (body, expected) in [
        (json!({"state": "not_seen"}), Some(PaymentState::NotSeen)),
        (json!({"state": "in_flight"}), Some(PaymentState::InFlight)),
        (
            json!({"state": "settled", "transaction": hash}),
            Some(PaymentState::Settled { transaction }),
        ),
        (
            json!({"state": "released", "reason": "repetition", "transaction": hash}),
            Some(PaymentState::Repetition { transaction }),
        ),
        (json!({"state": "unknown"}), Some(PaymentState::Unknown)),
        (
            json!({"state": "undecidable"}),
            Some(PaymentState::Undecidable),
        ),
        (json!({"state": "lost"}), None),
        (json!([]), None),
    ] {
        assert_eq!(PaymentState::read(body.to_string().as_bytes()), expected);
    }
    assert_eq!(PaymentState::read(b"?"), None);
}
