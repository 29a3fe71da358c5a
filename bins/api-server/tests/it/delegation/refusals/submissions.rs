//! Tests of refused submissions.

use alloy_primitives::{B256, U256};
use delegation_fence::Order;
use fence_server::Ordered;
use serde_json::{Value, json};

use super::{AMOUNT, OTHER_ID, SUBMISSIONS, assert_refused, granted};
use crate::delegation::sample::{NOW, STRANGER};
use crate::delegation::served::body;
use crate::delegation::stage::{GRANT_ID, NOBODY, delegate, key, order, plan_into, sign};
use crate::delegation::world::ordered;

/// The attacks 11, 18, 21 to 24, 28, 45 and 46 of `docs/THREATS.md` that a body can contain. A dry
/// run names the same rule as a submission.
#[tokio::test]
async fn submissions_are_refused_by_name() {
    let served = granted().await;
    let usual = ordered(AMOUNT, GRANT_ID);
    let with = |edit: fn(&mut Order)| {
        let mut message = usual.order.message().clone();
        edit(&mut message);
        let mut changed = usual.clone();
        changed.order = sign(message, &delegate());
        body(&changed, None)
    };
    let edited = |pointer: &str, value: Value| {
        let mut changed = body(&usual, None);
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    let mut foreign = usual.clone();
    foreign.order = sign(usual.order.message().clone(), &key(0x77));
    let above = body(&ordered(5_000_000_001, GRANT_ID), None);
    // A stolen delegate's key orders a swap into a token of the thief's own.
    let (request, envelope) = plan_into(STRANGER, AMOUNT);
    let message = Order {
        output_token: STRANGER,
        ..order(&envelope, GRANT_ID).message().clone()
    };
    let stolen = Ordered {
        order: sign(message, &delegate()),
        request,
        envelope,
        ..usual.clone()
    };
    for (submitted, status, code) in [
        (body(&stolen, None), 403, "fence_output_token"),
        (body(&foreign, None), 403, "order_not_by_delegate"),
        (
            with(|order| order.deadline = NOW - 1),
            403,
            "order_deadline_passed",
        ),
        (
            with(|order| order.min_amount_out = U256::ZERO),
            403,
            "order_min_out_invalid",
        ),
        (
            with(|order| order.output_token = STRANGER),
            403,
            "order_mismatch",
        ),
        (
            with(|order| order.call_hash = B256::ZERO),
            403,
            "order_mismatch",
        ),
        (
            with(|order| order.payload_digest = B256::ZERO),
            403,
            "order_mismatch",
        ),
        (
            edited("/grant_id", json!(OTHER_ID.to_string())),
            404,
            "grant_not_found",
        ),
        (
            edited("/account", json!(NOBODY.to_string())),
            404,
            "grant_not_found",
        ),
        (
            edited("/envelope/payload/steps/1/kind", json!("call")),
            403,
            "envelope_unverified",
        ),
        (
            edited("/request/fromAmount", json!("1000000008")),
            403,
            "envelope_unverified",
        ),
        (
            edited("/envelope", json!("plan")),
            403,
            "envelope_unverified",
        ),
        (edited("/request", json!([])), 403, "envelope_unverified"),
        (above, 403, "fence_approve_cap"),
    ] {
        let answer = served.post(SUBMISSIONS, submitted.to_string()).await;
        assert_eq!(answer.error(), (status, code.to_owned()), "{answer:?}");
        // Only the refusal of a plan that does not verify names a check.
        let check = &answer.json()["error"]["check"];
        assert_eq!(
            check.is_string(),
            code == "envelope_unverified",
            "{answer:?}"
        );
        let mut tried = submitted.clone();
        tried["dry_run"] = true.into();
        let tried = served.post(SUBMISSIONS, tried.to_string()).await.ok(200);
        assert_eq!(
            (&tried["admitted"], &tried["refused_by"]),
            (&json!(false), &json!(code))
        );
    }
    // The body has a member twice, and two readers may use different values of it.
    let text = body(&usual, None).to_string();
    let twice = text.replacen("\"payload\":{", "\"payload\":{\"steps\":[],", 1);
    assert_refused(&served, SUBMISSIONS, twice, 403, "envelope_unverified").await;
    let twice = text.replacen("{\"account\"", "{\"grant_id\":\"0x00\",\"account\"", 1);
    assert_refused(&served, SUBMISSIONS, twice, 422, "typed_data_malformed").await;

    // The plan and the order have expired.
    served.clock.pass(31);
    assert_refused(
        &served,
        SUBMISSIONS,
        text.clone(),
        403,
        "order_deadline_passed",
    )
    .await;
    let patient = with(|order| order.deadline = NOW + 1000).to_string();
    assert_refused(&served, SUBMISSIONS, patient, 403, "plan_expired").await;
}

#[tokio::test]
async fn a_plan_that_was_used_is_named_before_a_plan_in_flight() {
    let served = granted().await;
    let first = ordered(AMOUNT, GRANT_ID);
    let text = body(&first, None).to_string();
    served.post(SUBMISSIONS, text.clone()).await.ok(202);
    served.post(SUBMISSIONS, text).await.ok(200);
    let mut again = first.clone();
    let mut message = first.order.message().clone();
    message.deadline -= 1;
    again.order = sign(message, &delegate());
    assert_refused(
        &served,
        SUBMISSIONS,
        body(&again, None).to_string(),
        409,
        "order_already_used",
    )
    .await;
    let other = body(&ordered(AMOUNT + 1, GRANT_ID), None).to_string();
    assert_refused(&served, SUBMISSIONS, other, 409, "plan_in_flight").await;
    let tried = served
        .post(SUBMISSIONS, body(&first, Some(true)).to_string())
        .await
        .ok(200);
    assert_eq!(tried["refused_by"], "order_already_used");
}
