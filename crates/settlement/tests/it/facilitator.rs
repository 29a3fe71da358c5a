//! Tests of a plain x402 v2 facilitator: the meaning of its answers.

use alloy_primitives::U256;
use dev_chain::BUYER;
use settlement::{
    Cause, Facilitator, Readiness, Reconciliation, Settlement, Settler, Verification,
};
use test_support::eventually;
use x402_wire::{Network, Payment, Reason, facilitator};

use crate::payments::{NOW, USDC, USDT0, deferred, impatient, payment, timeouts};
use crate::stage::{Act, Stage, json, with_status};

pub(crate) const HASH: &str = "0xabababababababababababababababababababababababababababababababab";

pub(crate) fn settled() -> String {
    format!(
        r#"{{"success":true,"transaction":"{HASH}","network":"eip155:196","payer":"{}"}}"#,
        BUYER.address
    )
}

pub(crate) fn refused(reason: &str, transaction: &str) -> String {
    format!(
        r#"{{"success":false,"errorReason":"{reason}","transaction":"{transaction}","network":"eip155:196"}}"#
    )
}

pub(crate) fn client(stage: &Stage) -> Facilitator {
    Facilitator::new(&stage.url(), Network::evm(196), timeouts()).unwrap()
}

pub(crate) async fn settle_with(act: crate::stage::Act) -> Settlement {
    let stage = Stage::open().await;
    stage.plays("/settle", [act]);
    client(&stage).settle(&payment(USDT0)).await
}

async fn verify_with(act: crate::stage::Act) -> Verification {
    let stage = Stage::open().await;
    stage.plays("/verify", [act]);
    client(&stage)
        .verify(&payment(USDT0), U256::ZERO, NOW)
        .await
}

fn reason(settlement: &Settlement) -> &str {
    match settlement {
        Settlement::Rejected { reason, .. } => reason.as_str(),
        other => panic!("expected a rejection, observed {other:?}"),
    }
}

pub(crate) fn unknown(settlement: &Settlement) -> (Option<&str>, &Cause) {
    match settlement {
        Settlement::Unknown { transaction, cause } => (transaction.as_deref(), cause),
        other => panic!("expected an unknown outcome, observed {other:?}"),
    }
}

pub(crate) fn not_sent(settlement: &Settlement) -> &Cause {
    match settlement {
        Settlement::NotSent { cause } => cause,
        other => panic!("expected that nothing is sent, observed {other:?}"),
    }
}

#[tokio::test]
async fn the_callers_message_is_sent_byte_for_byte_with_our_own_requirements() {
    let stage = Stage::open().await;
    stage.plays("/x402/verify", [json(r#"{"isValid":true}"#)]);
    stage.plays("/x402/settle", [json(settled())]);
    let base = format!("{}/x402/", stage.url());
    let client = Facilitator::new(&base, Network::evm(196), timeouts()).unwrap();
    let payment = payment(USDC);
    assert_eq!(
        client.verify(&payment, U256::ZERO, NOW).await,
        Verification::Valid
    );
    assert!(matches!(
        client.settle(&payment).await,
        Settlement::Settled(_)
    ));
    let expected = facilitator::request_body(&payment, None);
    assert_eq!(stage.bodies("/x402/verify"), [expected.as_str()]);
    assert_eq!(stage.bodies("/x402/settle"), [expected.as_str()]);
    assert_eq!(stage.seen()[0].headers["content-type"], "application/json");
}

#[tokio::test]
async fn a_settled_payment_has_a_receipt() {
    let Settlement::Settled(receipt) = settle_with(json(settled())).await else {
        panic!()
    };
    let response = serde_json::to_value(receipt.into_response()).unwrap();
    let expected = serde_json::json!({
        "success": true, "transaction": HASH, "network": "eip155:196",
        "payer": BUYER.address.to_string(), "amount": "2000",
    });
    assert_eq!(response, expected);
}

#[tokio::test]
async fn addresses_come_in_any_case_and_extensions_are_kept() {
    let body = format!(
        r#"{{"success":true,"transaction":"{HASH}","network":"eip155:196","payer":"{}",
        "amount":"2000","extensions":{{"a":[1, 2]}},"errorReason":null,"status":null}}"#,
        BUYER.address.to_string().to_lowercase()
    );
    let Settlement::Settled(receipt) = settle_with(json(body)).await else {
        panic!()
    };
    assert_eq!(receipt.extensions.unwrap().get(), r#"{"a":[1, 2]}"#);
}

#[tokio::test]
async fn a_refusal_is_read_with_any_client_status() {
    for status in [200, 400, 402, 422] {
        let body = refused("insufficient_funds", "");
        let outcome = settle_with(with_status(status, body)).await;
        assert_eq!(reason(&outcome), "insufficient_funds", "{status}");
    }
}

#[tokio::test]
async fn a_refusal_may_have_null_members() {
    let body = r#"{"success":false,"errorReason":"insufficient_funds","errorMessage":"not enough",
        "transaction":null,"network":null,"payer":null}"#;
    let Settlement::Rejected { reason, message } = settle_with(json(body)).await else {
        panic!()
    };
    assert_eq!(reason, Reason::InsufficientFunds);
    assert_eq!(message.as_deref(), Some("not enough"));
}

#[tokio::test]
async fn a_server_error_decides_only_with_a_reason_that_decides() {
    let conclusive = refused("invalid_exact_evm_payload_signature", "");
    let outcome = settle_with(with_status(500, conclusive)).await;
    assert_eq!(reason(&outcome), "invalid_exact_evm_payload_signature");

    for vague in [
        "unexpected_settle_error",
        "transaction_failed",
        "database_down",
    ] {
        let outcome = settle_with(with_status(500, refused(vague, ""))).await;
        assert_eq!(unknown(&outcome).1.code(), "http_status", "{vague}");
    }
}

#[tokio::test]
async fn a_refusal_after_a_broadcast_is_unknown_with_its_hash() {
    for open in [
        "unexpected_settle_error",
        "confirmation_timed_out",
        "invalid_exact_evm_nonce_already_used",
        "invalid_exact_evm_transfer_event_mismatch",
    ] {
        for status in [200, 400, 402] {
            let outcome = settle_with(with_status(status, refused(open, HASH))).await;
            let (hash, cause) = unknown(&outcome);
            assert_eq!(
                (hash, cause.code()),
                (Some(HASH), "refusal_inconclusive"),
                "{open} {status}"
            );
        }
    }
}

#[tokio::test]
async fn a_hash_does_not_open_what_its_reason_decides() {
    for decided in [
        "transaction_failed",
        "invalid_transaction_state",
        "invalid_exact_evm_payload_signature",
        "invalid_exact_evm_transaction_simulation_failed",
        "insufficient_funds",
    ] {
        for status in [200, 402] {
            let outcome = settle_with(with_status(status, refused(decided, HASH))).await;
            assert_eq!(reason(&outcome), decided, "{status}");
        }
    }
}

#[tokio::test]
async fn a_pending_settlement_is_sent_once_more_with_the_identical_request() {
    for status in [200, 500] {
        let stage = Stage::open().await;
        let pending = with_status(status, refused("settlement_pending", HASH));
        stage.plays("/settle", [pending, json(settled())]);
        let outcome = client(&stage).settle(&payment(USDT0)).await;
        assert!(matches!(outcome, Settlement::Settled(_)), "{outcome:?}");
        let bodies = stage.bodies("/settle");
        assert_eq!(bodies.len(), 2);
        assert_eq!(bodies[0], bodies[1]);
    }
}

#[tokio::test]
async fn a_settlement_that_stays_pending_is_unknown_with_its_hash() {
    let pending = refused("settlement_pending", HASH);
    let used = refused("invalid_exact_evm_nonce_already_used", "");
    for second in [
        with_status(500, pending.clone()),
        json(used),
        json("garbage"),
    ] {
        let stage = Stage::open().await;
        stage.plays("/settle", [with_status(500, pending.clone()), second]);
        let outcome = client(&stage).settle(&payment(USDT0)).await;
        let (hash, cause) = unknown(&outcome);
        assert_eq!((hash, cause.code()), (Some(HASH), "pending"));
        assert_eq!(stage.bodies("/settle").len(), 2);
    }
}

#[tokio::test]
async fn a_pending_settlement_without_a_hash_is_not_sent_again() {
    let stage = Stage::open().await;
    stage.plays("/settle", [json(refused("settlement_pending", ""))]);
    let outcome = client(&stage).settle(&payment(USDT0)).await;
    assert_eq!(unknown(&outcome).1.code(), "pending");
    assert_eq!(stage.bodies("/settle").len(), 1);
}

#[tokio::test]
async fn verification_reads_the_body_before_the_status() {
    let payer = BUYER.address;
    let good = format!(r#"{{"isValid":true,"payer":"{payer}"}}"#);
    assert_eq!(verify_with(json(good)).await, Verification::Valid);
    for status in [200, 400, 402, 500] {
        let body = r#"{"isValid":false,"invalidReason":"insufficient_funds","invalidMessage":"m"}"#;
        let expected = Verification::Invalid {
            reason: Reason::InsufficientFunds,
            message: Some("m".to_owned()),
        };
        assert_eq!(
            verify_with(with_status(status, body)).await,
            expected,
            "{status}"
        );
    }
    let vague = r#"{"isValid":false,"invalidReason":"unexpected_verify_error"}"#;
    assert!(matches!(
        verify_with(with_status(500, vague)).await,
        Verification::Unavailable {
            cause: Cause::Status { status: 500, .. }
        }
    ));
}

#[tokio::test]
async fn deferred_payments_need_a_facilitator_that_lists_them() {
    let exact = r#"{"x402Version":2,"scheme":"exact","network":"eip155:196"}"#;
    let other = r#"{"x402Version":2,"scheme":"aggr_deferred","network":"eip155:8453"}"#;
    let listed = r#"{"x402Version":2,"scheme":"aggr_deferred","network":"eip155:196"}"#;
    for supported in [
        json(format!(
            r#"{{"kinds":[{exact},{other}],"extensions":[],"signers":{{}}}}"#
        )),
        with_status(404, "not found"),
    ] {
        let stage = Stage::open().await;
        stage.plays("/supported", [supported]);
        let client = client(&stage);
        // The facilitator is asked for its list once, though two payments are verified.
        for _ in 0..2 {
            let refused = Verification::Invalid {
                reason: Reason::UnsupportedScheme,
                message: None,
            };
            assert_eq!(
                client.verify(&deferred(USDT0), U256::ZERO, NOW).await,
                refused
            );
        }
        assert_eq!(stage.seen().len(), 1);
    }

    let stage = Stage::open().await;
    stage.plays(
        "/supported",
        [json(format!(r#"{{"kinds":[{exact},{listed}]}}"#))],
    );
    stage.plays("/verify", [json(r#"{"isValid":true}"#)]);
    let stored = r#"{"success":true,"transaction":"","network":"eip155:196","status":"success"}"#;
    stage.plays("/settle", [json(stored)]);
    let client = client(&stage);
    assert_eq!(
        client.verify(&deferred(USDT0), U256::ZERO, NOW).await,
        Verification::Valid
    );
    let Settlement::Settled(receipt) = client.settle(&deferred(USDT0)).await else {
        panic!()
    };
    assert_eq!(receipt.transaction, "");
    assert_eq!(
        client.readiness().await,
        Readiness::Ready {
            aggr_deferred: true,
            settlements_left: None,
        }
    );
}

const DECLARED: &str = r#"{"info":{"input":{}},"schema":{}}"#;

fn listing(extensions: &str) -> String {
    format!(
        r#"{{"kinds":[{{"x402Version":2,"scheme":"exact","network":"eip155:196"}}],"extensions":{extensions}}}"#
    )
}

#[tokio::test]
async fn only_a_facilitator_that_lists_bazaar_gets_our_declaration() {
    for (extensions, is_listed) in [
        (r#"["bazaar"]"#, true),
        (r#"["other"]"#, false),
        ("[]", false),
    ] {
        let stage = Stage::open().await;
        stage.plays("/supported", [json(listing(extensions))]);
        stage.plays("/verify", [json(r#"{"isValid":true}"#)]);
        stage.plays("/settle", [json(settled()), json(settled())]);
        let client = client(&stage);
        assert!(matches!(client.readiness().await, Readiness::Ready { .. }));
        let payment = payment(USDT0).with_bazaar(DECLARED.into());
        let verified = client.verify(&payment, U256::ZERO, NOW).await;
        assert_eq!(verified, Verification::Valid);
        let paid = client.settle(&payment).await;
        assert!(matches!(paid, Settlement::Settled(_)), "{paid:?}");
        let again = client.reconcile(&payment, None, NOW).await;
        assert!(matches!(again, Reconciliation::Settled(_)), "{again:?}");
        let expected = match is_listed {
            true => facilitator::request_body_declaring(&payment, None),
            false => facilitator::request_body(&payment, None),
        };
        assert_eq!(expected.contains(DECLARED), is_listed);
        assert_eq!(stage.bodies("/verify"), [expected.as_str()]);
        assert_eq!(stage.bodies("/settle"), [expected.as_str(); 2]);
        assert_eq!(stage.bodies("/supported").len(), 1);
    }
}

/// A facilitator that hangs at `/supported` delays no payment. The list comes beside a payment.
#[tokio::test]
async fn the_list_of_extensions_is_read_beside_a_payment() {
    let stage = Stage::open().await;
    stage.plays("/supported", [Act::Hang]);
    stage.plays("/verify", [json(r#"{"isValid":true}"#)]);
    let client = client(&stage);
    let payment = payment(USDT0).with_bazaar(DECLARED.into());
    let verified = client.verify(&payment, U256::ZERO, NOW).await;
    assert_eq!(verified, Verification::Valid);
    let undeclared = facilitator::request_body(&payment, None);
    assert_eq!(stage.bodies("/verify"), [undeclared.as_str()]);

    // While a settlement takes its time, the list arrives.
    let client = Facilitator::new(&stage.url(), Network::evm(196), impatient()).unwrap();
    let learned = async || {
        stage.plays("/supported", [json(listing(r#"["bazaar"]"#))]);
        stage.plays("/settle", [Act::Hang]);
        let open = client.settle(&payment).await;
        assert!(!matches!(open, Settlement::Settled(_)), "{open:?}");
        let bodies = stage.bodies("/settle");
        bodies.last()?.contains(DECLARED).then_some(())
    };
    eventually("a declared settlement", learned).await;
}

async fn reconcile_with(payment: &Payment, body: String) -> Reconciliation {
    let stage = Stage::open().await;
    stage.plays("/settle", [json(body)]);
    client(&stage).reconcile(payment, Some(HASH), NOW).await
}

#[tokio::test]
async fn reconciling_sends_the_identical_settlement_again() {
    let payment = payment(USDT0);
    let outcome = reconcile_with(&payment, settled()).await;
    assert!(matches!(outcome, Reconciliation::Settled(_)), "{outcome:?}");
    let outcome = reconcile_with(&payment, refused("invalid_payload", "")).await;
    assert!(
        matches!(outcome, Reconciliation::NotSettled { .. }),
        "{outcome:?}"
    );
}

/// If the first attempt has taken the payment, each of these refusals may come.
#[tokio::test]
async fn a_refusal_that_fits_an_earlier_success_decides_nothing() {
    for reason in [
        "invalid_exact_evm_nonce_already_used",
        "invalid_exact_evm_transfer_event_mismatch",
        "invalid_exact_evm_transaction_simulation_failed",
        "insufficient_funds",
        "invalid_exact_evm_payload_authorization_valid_before",
        "transaction_failed",
        "something new",
    ] {
        let outcome = reconcile_with(&payment(USDT0), refused(reason, "")).await;
        let Reconciliation::Undecided { transaction, cause } = outcome else {
            panic!("{reason}: {outcome:?}");
        };
        assert_eq!(transaction.as_deref(), Some(HASH));
        assert_eq!(cause.code(), "refusal_inconclusive");
    }
}
