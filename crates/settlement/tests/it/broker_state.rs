//! Tests of the broker's states: which are polled, which are final, and which leave a payment open.

use settlement::{Reconciliation, Settlement, Settler};

use crate::broker::{SETTLE, STATUS, broker, envelope, settled};
use crate::facilitator::{HASH, unknown};
use crate::payments::{NOW, USDT0, impatient, payment, timeouts};
use crate::stage::{Act, Stage, with_status};

fn state(status: &str) -> Act {
    envelope(&format!(
        r#"{{"success":true,"errorReason":null,"payer":null,"transaction":"{HASH}","network":"eip155:196","status":"{status}"}}"#
    ))
}

fn failed(reason: &str) -> Act {
    envelope(&format!(
        r#"{{"success":false,"errorReason":"{reason}","transaction":"{HASH}","network":"eip155:196","status":"failed"}}"#
    ))
}

fn not_found() -> Act {
    envelope(
        r#"{"success":false,"errorReason":"not_found","errorMessage":null,"payer":null,"transaction":null,"network":null,"status":null}"#,
    )
}

#[tokio::test]
async fn an_open_state_is_polled_until_it_is_final() {
    for open in ["pending", "timeout"] {
        let stage = Stage::open().await;
        stage.plays(SETTLE, [envelope(&settled(open))]);
        // The transaction is first unknown; then an error comes; then it is pending; then it has
        // succeeded.
        let polls = [
            not_found(),
            with_status(502, ""),
            state("pending"),
            state("success"),
        ];
        stage.plays(STATUS, polls);
        let outcome = broker(&stage, timeouts()).settle(&payment(USDT0)).await;
        let Settlement::Settled(receipt) = outcome else {
            panic!("{open}: {outcome:?}")
        };
        assert_eq!(receipt.transaction, HASH);
        assert_eq!(
            (stage.bodies(STATUS).len(), stage.bodies(SETTLE).len()),
            (4, 1)
        );
    }
}

#[tokio::test]
async fn a_failed_transaction_is_a_rejection() {
    let stage = Stage::open().await;
    stage.plays(SETTLE, [envelope(&settled("pending"))]);
    stage.plays(STATUS, [failed("insufficient_balance")]);
    let outcome = broker(&stage, timeouts()).settle(&payment(USDT0)).await;
    let Settlement::Rejected { reason, .. } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(reason.as_str(), "insufficient_balance");
}

#[tokio::test]
async fn a_transaction_that_failed_because_the_nonce_is_used_leaves_the_payment_open() {
    let stage = Stage::open().await;
    stage.plays(SETTLE, [envelope(&settled("pending"))]);
    stage.plays(STATUS, [failed("nonce_used")]);
    let outcome = broker(&stage, timeouts()).settle(&payment(USDT0)).await;
    let (hash, cause) = unknown(&outcome);
    assert_eq!(
        (hash, cause.code()),
        (Some(HASH), "authorization_used_elsewhere")
    );
}

#[tokio::test]
async fn a_time_out_beyond_the_budget_is_unknown_with_its_hash() {
    let stage = Stage::open().await;
    stage.plays(SETTLE, [envelope(&settled("timeout"))]);
    stage.plays(STATUS, std::iter::repeat_n(state("pending"), 10_000));
    let budget = impatient().poll_budget;
    let patient = settlement::Timeouts {
        poll_budget: budget,
        ..timeouts()
    };
    let outcome = broker(&stage, patient).settle(&payment(USDT0)).await;
    let (hash, cause) = unknown(&outcome);
    assert_eq!((hash, cause.code()), (Some(HASH), "pending"));
    assert_eq!(stage.bodies(SETTLE).len(), 1);
}

#[tokio::test]
async fn a_state_of_another_payment_counts_for_nothing() {
    let stage = Stage::open().await;
    stage.plays(SETTLE, [envelope(&settled("pending"))]);
    let foreign = format!(
        r#"{{"success":true,"transaction":"{HASH}","network":"eip155:1","status":"success"}}"#
    );
    stage.plays(STATUS, std::iter::repeat_n(envelope(&foreign), 10_000));
    let budget = impatient().poll_budget;
    let patient = settlement::Timeouts {
        poll_budget: budget,
        ..timeouts()
    };
    let outcome = broker(&stage, patient).settle(&payment(USDT0)).await;
    assert_eq!(unknown(&outcome).1.code(), "contradiction");
}

#[tokio::test]
async fn reconciling_asks_for_the_state_and_sends_nothing() {
    for (act, expected) in [
        (state("success"), "settled"),
        (failed("onchain_error"), "not_settled"),
        (failed("nonce_used"), "undecided"),
        (state("pending"), "undecided"),
        (with_status(500, ""), "undecided"),
    ] {
        let stage = Stage::open().await;
        stage.plays(STATUS, [act.clone()]);
        let broker = broker(&stage, timeouts());
        let outcome = broker.reconcile(&payment(USDT0), Some(HASH), NOW).await;
        assert_eq!(outcome.outcome(), expected, "{act:?}");
        assert!(stage.bodies(SETTLE).is_empty());
    }
}

#[tokio::test]
async fn reconciling_sends_a_payment_again_that_the_broker_does_not_know() {
    for known in [Some(HASH), None, Some("not a hash")] {
        let stage = Stage::open().await;
        stage.plays(STATUS, [not_found()]);
        stage.plays(SETTLE, [envelope(&settled("success"))]);
        let broker = broker(&stage, timeouts());
        let outcome = broker.reconcile(&payment(USDT0), known, NOW).await;
        assert!(
            matches!(outcome, Reconciliation::Settled(_)),
            "{known:?}: {outcome:?}"
        );
        assert_eq!(stage.bodies(SETTLE).len(), 1);
        assert_eq!(stage.bodies(STATUS).len(), usize::from(known == Some(HASH)));
    }
}
