//! Tests of deciding unknown payments: each is decided by itself, and every one is decided in the
//! end.

use std::time::Duration;

use ledger::State;
use route_catalog::Next;
use settlement::{Cause, Reconciliation, RemoteCall, Settlement, Verification};
use x402_wire::{PaymentPayload, Reason};

use super::payer::Payer;
use super::script::{Reconciles, Script, Settles, unreachable};
use super::stage::{Stage, VERIFICATION, declined, refused, served};
use crate::payment::Refusal;

fn unknown() -> Settles {
    Settles::As(Settlement::Unknown {
        transaction: None,
        cause: unreachable(),
    })
}

async fn states(stage: &Stage, payments: &[PaymentPayload]) -> Vec<State> {
    let mut states = Vec::new();
    for payment in payments {
        states.push(stage.record(payment).await.unwrap().state);
    }
    states
}

/// A node that never answers about one payment delays neither the other payments nor the next
/// round.
#[tokio::test(start_paused = true)]
async fn a_silent_payment_delays_no_other() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.settles, unknown());
    // More payments than are looked at in parallel.
    let mut payments = Vec::new();
    for _ in 0..20 {
        let payment = stage.sign(&payer);
        refused(stage.buy(&payment).await);
        payments.push(payment);
    }
    let silent = payments[0].authorization().nonce;
    Script::set(&stage.script.reconciles, Reconciles::TakenBut(silent));
    stage.script.forget();
    let mut round = Box::pin(stage.processor.reconcile_all());
    // Far shorter than the time limit of a look.
    let ended = tokio::time::timeout(Duration::from_secs(1), &mut round).await;
    assert!(ended.is_err(), "the round ended before the silent payment");
    assert_eq!(states(&stage, &payments[..1]).await, [State::Unknown]);
    assert_eq!(states(&stage, &payments[1..]).await, [State::Settled; 19]);
    // The look at the silent payment is given up for now, and the round ends.
    tokio::time::timeout(Duration::from_secs(180), round)
        .await
        .unwrap();
    assert_eq!(stage.script.asked("reconcile"), 20);
    assert_eq!(states(&stage, &payments[..1]).await, [State::Unknown]);
    // Once the node answers, the payment is decided like the others.
    Script::set(&stage.script.reconciles, Reconciles::Taken);
    stage.script.pass(3_600);
    stage.processor.reconcile_all().await;
    assert_eq!(states(&stage, &payments[..1]).await, [State::Settled]);
    assert!(served(stage.buy(&payments[0]).await).again);
}

/// The payer has cancelled the payment: it can no longer move money, long before its window ends.
#[tokio::test(start_paused = true)]
async fn a_cancelled_payment_is_given_back_and_may_be_replaced_at_once() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.settles, unknown());
    let payment = stage.sign(&payer);
    refused(stage.buy(&payment).await);
    let cancelled = Reconciliation::NotSettled {
        reason: Reason::Cancelled,
    };
    Script::set(&stage.script.reconciles, Reconciles::As(cancelled));
    Script::set(&stage.script.is_spent, Ok(true));
    let ended = declined(stage.buy(&payment).await);
    assert_eq!(
        (ended.reason, ended.next),
        (Reason::Cancelled, Next::SignNew)
    );
    let record = stage.record(&payment).await.unwrap();
    assert_eq!(
        (record.state, record.reason.as_deref()),
        (State::Released, Some("cancelled"))
    );
    // A repetition of the payment gets the same advice, and no work is done for it.
    let used = Verification::Invalid {
        reason: Reason::InvalidExactEvmNonceAlreadyUsed,
        message: None,
    };
    Script::set(&stage.script.verifies, used);
    stage.script.forget();
    let again = declined(stage.buy(&payment).await);
    assert_eq!(again.next, Next::SignNew);
    assert_eq!(stage.script.asked("work"), 0);
    // If the chain cannot show how the nonce was used, it may have been this payment: the caller
    // looks it up, and does not replace it.
    for cannot_tell in [Ok(false), Err(unreachable())] {
        Script::set(&stage.script.is_spent, cannot_tell);
        let again = declined(stage.buy(&payment).await);
        assert!(matches!(again.next, Next::LookUp { .. }), "{again:?}");
    }
}

/// The journal has lost the payment. It may have had an answer, so there is no second one, and the
/// refusal names the transaction.
#[tokio::test(start_paused = true)]
async fn a_payment_that_only_the_chain_knows_is_neither_charged_nor_answered() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let used = Verification::Invalid {
        reason: Reason::InvalidExactEvmNonceAlreadyUsed,
        message: None,
    };
    Script::set(&stage.script.verifies, used);
    Script::set(&stage.script.paid_by, Ok(Some("0xab".to_owned())));
    let payment = stage.sign(&payer);
    for _ in 0..2 {
        match refused(stage.buy(&payment).await) {
            Refusal::NoAnswer { transaction, .. } => assert_eq!(transaction, "0xab"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(stage.script.asked("work"), 0);
    assert_eq!(stage.script.asked("settle"), 0);
    let record = stage.record(&payment).await.unwrap();
    assert_eq!(
        (record.state, record.reason.as_deref()),
        (State::Released, Some("no_answer"))
    );
    // While the chain does not show the transfer, the nonce may have been used otherwise.
    for cannot_tell in [Ok(None), Err(unreachable())] {
        Script::set(&stage.script.paid_by, cannot_tell);
        let ended = declined(stage.buy(&payment).await);
        assert!(matches!(ended.next, Next::LookUp { .. }), "{ended:?}");
    }
}

/// The facilitator refuses the payment because it was cancelled before its settlement.
#[tokio::test(start_paused = true)]
async fn a_payment_that_was_cancelled_before_its_settlement_may_be_replaced_at_once() {
    for (is_spent, waits) in [
        (Ok(true), false),
        (Ok(false), true),
        (Err(unreachable()), true),
    ] {
        let (stage, payer) = (Stage::new(), Payer::new(1));
        let rejected = Settles::As(Settlement::Rejected {
            reason: Reason::Cancelled,
            message: None,
        });
        Script::set(&stage.script.settles, rejected);
        Script::set(&stage.script.is_spent, is_spent);
        let payment = stage.sign(&payer);
        let ended = declined(stage.buy(&payment).await);
        assert!(ended.receipt.is_some());
        assert_eq!(matches!(ended.next, Next::Wait { .. }), waits, "{ended:?}");
        assert_eq!(ended.next == Next::SignNew, !waits);
        let record = stage.record(&payment).await.unwrap();
        assert_eq!((record.state, record.attempted), (State::Released, true));
    }
}

/// This server's transaction has failed because the payer had cancelled the authorization before.
#[tokio::test(start_paused = true)]
async fn an_own_transaction_that_a_cancellation_has_broken_ends_the_payment() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.settles, unknown());
    let payment = stage.sign(&payer);
    refused(stage.buy(&payment).await);
    let failed = Reconciliation::Failed {
        transaction: "0xfa".to_owned(),
        reason: Reason::Cancelled,
    };
    Script::set(&stage.script.reconciles, Reconciles::As(failed));
    stage.processor.reconcile_all().await;
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Unknown);
    Script::set(&stage.script.is_spent, Ok(true));
    stage.script.pass(30);
    stage.processor.reconcile_all().await;
    let record = stage.record(&payment).await.unwrap();
    assert_eq!(
        (record.state, record.reason.as_deref()),
        (State::Released, Some("cancelled"))
    );
}

/// A verification at the facilitator is a remote call, so the payer pays for it whatever the
/// verdict.
#[tokio::test(start_paused = true)]
async fn a_refused_verification_is_paid_for_by_credit() {
    let (stage, payer) = (
        Stage::with(Script::with_chain(false), 1_000_000),
        Payer::new(1),
    );
    stage.make_regular(&payer).await;
    let invalid = Verification::Invalid {
        reason: Reason::InvalidExactEvmPayloadSignature,
        message: None,
    };
    Script::set(&stage.script.verifies, invalid);
    // In the end the rest does not cover a call, so the newcomers' pool covers it.
    for (left, missing) in [(900, 0), (800, 0), (800, VERIFICATION)] {
        declined(stage.buy(&stage.sign(&payer)).await);
        assert_eq!(stage.credit(&payer).await, left);
        assert_eq!(stage.missing_of_pool().await, missing);
    }
    assert_eq!(stage.script.asked("work"), 0);
}

/// A payload that makes the facilitator fail also costs a call. If no remote party was asked, the
/// payer is not charged.
#[tokio::test(start_paused = true)]
async fn a_verification_that_fails_is_paid_for_by_credit_when_somebody_was_asked() {
    let call = RemoteCall::Verify;
    let failed = Cause::Status { call, status: 500 };
    let late = Cause::Timeout {
        call,
        after: Duration::from_secs(1),
    };
    let unsupported = Cause::Status {
        call: RemoteCall::Supported,
        status: 500,
    };
    for (cause, cost) in [
        (failed, VERIFICATION),
        (late, VERIFICATION),
        (Cause::Unreachable { call }, 0),
        (unsupported, 0),
    ] {
        let (stage, payer) = (Stage::new(), Payer::new(1));
        stage.make_regular(&payer).await;
        let unavailable = Verification::Unavailable {
            cause: cause.clone(),
        };
        Script::set(&stage.script.verifies, unavailable);
        let payment = stage.sign(&payer);
        let ended = refused(stage.buy(&payment).await);
        assert!(matches!(ended, Refusal::SettlementUnavailable), "{ended:?}");
        assert_eq!(stage.credit(&payer).await, 1_000 - cost, "{cause}");
        assert_eq!(stage.script.asked("work"), 0);
        // The payment is still valid.
        Script::set(&stage.script.verifies, Verification::Valid);
        assert!(!served(stage.buy(&payment).await).again);
    }
}
