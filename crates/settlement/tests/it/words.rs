//! Tests of the words of facilitators and brokers: which of them end a settlement, and which texts
//! the settlement keeps.

use settlement::{DECISION_MARGIN_SECONDS, Reconciliation, Settlement, Settler};

use crate::broker::{self, SETTLE, STATUS, broker, envelope};
use crate::facilitator::{HASH, client, refused, settle_with, settled, unknown};
use crate::payments::{NOW, USDT0, deferred, payment, timeouts};
use crate::stage::{Stage, json, with_status};

/// Facilitators use several words for a finished settlement.
#[tokio::test]
async fn every_word_for_finished_is_a_settlement() {
    for word in [
        "success",
        "settled",
        "Settled",
        "confirmed",
        "COMPLETED",
        "",
    ] {
        let body = settled().replace(
            r#""success":true"#,
            &format!(r#""success":true,"status":"{word}","blockNumber":7,"next":{{"a":[]}}"#),
        );
        let outcome = settle_with(json(body)).await;
        let Settlement::Settled(receipt) = outcome else {
            panic!("{word}: {outcome:?}")
        };
        assert_eq!(receipt.status.as_deref(), Some(word));
    }
    for word in ["pending", "timeout", "failed", "unsettled", "settled?"] {
        let body = settled().replace(
            r#""success":true"#,
            &format!(r#""success":true,"status":"{word}""#),
        );
        let stage = Stage::open().await;
        stage.plays("/settle", [json(body.clone()), json(body)]);
        let outcome = client(&stage).settle(&payment(USDT0)).await;
        let (hash, cause) = unknown(&outcome);
        assert_eq!((hash, cause.code()), (Some(HASH), "pending"), "{word}");
    }
}

#[tokio::test]
async fn a_success_with_a_reason_for_a_failure_is_not_believed() {
    let body = settled().replace(
        r#""success":true"#,
        r#""success":true,"status":"settled","errorReason":"insufficient_funds""#,
    );
    let outcome = settle_with(json(body)).await;
    let (hash, cause) = unknown(&outcome);
    assert_eq!((hash, cause.code()), (Some(HASH), "contradiction"));
}

/// The facilitator's words get into headers, logs and the ledger.
#[tokio::test]
async fn a_facilitators_words_are_short_and_ascii() {
    let long = "\u{20ac}x".repeat(3_000);
    let body = settled().replace(
        r#""success":true"#,
        &format!(
            r#""success":true,"extra":{{"a":"{long}"}},"extensions":{{"b":"{long}"}},"status":"settled""#
        ),
    );
    let Settlement::Settled(receipt) = settle_with(json(body)).await else {
        panic!()
    };
    assert!(receipt.extra.is_none() && receipt.extensions.is_none());

    let noted = settled().replace(
        r#""success":true"#,
        r#""success":true,"extra":{"note":"\u20ac"},"extensions":{"note":"€ \" €"}"#,
    );
    let Settlement::Settled(receipt) = settle_with(json(noted)).await else {
        panic!()
    };
    let header = receipt.into_response().to_header();
    let text = x402_wire::decode_header(header.as_bytes()).unwrap();
    assert!(text.is_ascii(), "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["extensions"]["note"], "€ \" €");

    // The hash of a deferred payment may be any text, so its length is limited.
    let stage = Stage::open().await;
    let stored = format!(
        r#"{{"success":true,"transaction":"{long}","network":"eip155:196","status":"{long}"}}"#
    );
    stage.plays("/settle", [json(stored.clone()), json(stored)]);
    let outcome = client(&stage).settle(&deferred(USDT0)).await;
    let (hash, cause) = unknown(&outcome);
    assert_eq!(hash, Some("x".repeat(80).as_str()));
    assert!(cause.to_string().len() < 200 && cause.to_string().is_ascii());

    let message = format!(
        r#"{{"success":false,"errorReason":"{long}","errorMessage":"{long}","network":"eip155:196"}}"#
    );
    let Settlement::Rejected { reason, message } = settle_with(json(message)).await else {
        panic!()
    };
    assert_eq!(reason.as_str(), "x".repeat(80));
    assert_eq!(message.unwrap(), format!("{}…", "€x".repeat(150)));
}

/// The answer is the same when somebody else has sent the payment first.
#[tokio::test]
async fn already_used_is_unknown_without_a_chain() {
    for reason in [
        "invalid_exact_evm_nonce_already_used",
        "invalid_exact_evm_transfer_event_mismatch",
        "nonce_used",
    ] {
        for status in [200, 402, 409] {
            let outcome = settle_with(with_status(status, refused(reason, ""))).await;
            let (hash, cause) = unknown(&outcome);
            assert_eq!((hash, cause.code()), (None, "refusal_inconclusive"));
        }
    }
}

#[tokio::test]
async fn an_open_payment_is_undecidable_after_the_window() {
    let end = NOW + 300 + DECISION_MARGIN_SECONDS;
    for (payment, body) in [
        (payment(USDT0), refused("nonce_used", "")),
        (payment(USDT0), "<html>".to_owned()),
        (deferred(USDT0), refused("settlement_pending", "")),
    ] {
        for (now, expected) in [(end - 1, "undecided"), (end, "undecidable")] {
            let stage = Stage::open().await;
            stage.plays("/settle", [json(body.clone())]);
            let outcome = client(&stage).reconcile(&payment, Some(HASH), now).await;
            assert_eq!(outcome.outcome(), expected, "{body}");
            if let Reconciliation::Undecidable { transaction, .. } = outcome {
                assert_eq!(transaction.as_deref(), Some(HASH));
            }
        }
        // A decision that comes late counts nevertheless.
        let stage = Stage::open().await;
        stage.plays("/settle", [json(settled())]);
        let outcome = client(&stage).reconcile(&payment, None, end).await;
        assert_eq!(outcome.outcome(), "settled");
    }
}

/// The broker says the same things in its envelope, in an error code, or with the state of a
/// transaction.
#[tokio::test]
async fn a_brokers_words_mean_the_same_as_a_facilitators() {
    for word in ["settled", "Confirmed", "completed"] {
        let stage = Stage::open().await;
        stage.plays(SETTLE, [envelope(&broker::settled(word))]);
        let outcome = broker(&stage, timeouts()).settle(&payment(USDT0)).await;
        assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");

        let stage = Stage::open().await;
        stage.plays(SETTLE, [envelope(&broker::settled("pending"))]);
        stage.plays(STATUS, [envelope(&broker::settled(word))]);
        let outcome = broker(&stage, timeouts()).settle(&payment(USDT0)).await;
        assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
    }
    let refusal = r#"{"success":false,"errorReason":"nonce_used","transaction":""}"#;
    let coded = r#"{"code":"1","msg":"","data":null,"error_code":"nonce_used"}"#;
    for act in [envelope(refusal), with_status(400, coded)] {
        let stage = Stage::open().await;
        stage.plays(SETTLE, [act]);
        let outcome = broker(&stage, timeouts()).settle(&payment(USDT0)).await;
        assert_eq!(unknown(&outcome).1.code(), "refusal_inconclusive");
    }
}

#[tokio::test]
async fn a_payment_is_undecidable_when_the_broker_never_knows_it() {
    let end = NOW + 300 + DECISION_MARGIN_SECONDS;
    for payment in [payment(USDT0), deferred(USDT0)] {
        for (now, expected) in [(end - 1, "undecided"), (end, "undecidable")] {
            let stage = Stage::open().await;
            stage.plays(STATUS, [with_status(503, "")]);
            let broker = broker(&stage, timeouts());
            let outcome = broker.reconcile(&payment, Some(HASH), now).await;
            assert_eq!(outcome.outcome(), expected);
            let outcome = broker.reconcile(&payment, None, now).await;
            assert_eq!(outcome.outcome(), expected);
        }
    }
}
