//! Tests of several servers with one journal, in moments that one server alone never has.

use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloy_primitives::Address;
use ledger::State;
use route_catalog::{Next, Operation};
use serde_json::{Value, json};
use settlement::{Reconciliation, Settlement, Verification};
use x402_wire::{PaymentPayload, Reason, Terms};

use super::payer::{Payer, written};
use super::script::{Reconciles, Script, Settles, unreachable};
use super::stage::{Stage, declined, refused, served, terms};

/// After one server has refused a payment for good, no other one takes it, not even from an earlier
/// copy.
#[tokio::test(start_paused = true)]
async fn a_payment_that_must_be_signed_anew_is_taken_by_no_server() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let (one, two) = (stage.as_server(1), stage.as_server(2));
    let payment = stage.sign(&payer);
    let reason = Reason::InvalidExactEvmTransactionSimulationFailed;
    let invalid = Verification::Invalid {
        reason: reason.clone(),
        message: None,
    };
    Script::set(&stage.script.verifies, invalid);
    assert_eq!(declined(one.buy(&payment).await).next, Next::SignNew);
    Script::set(&stage.script.verifies, Verification::Valid);
    let again = declined(two.buy(&payment).await);
    assert_eq!((again.reason, again.next), (reason, Next::SignNew));
    assert_eq!(stage.script.asked("settle"), 0);
    // A new payment of the same payer is taken.
    served(two.buy(&stage.sign(&payer)).await);
}

/// One server alone does not take such a payment again either, not even for another request.
#[tokio::test(start_paused = true)]
async fn a_payment_that_must_be_signed_anew_is_never_taken() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let payment = stage.sign(&payer);
    let reason = Reason::InvalidExactEvmTransactionSimulationFailed;
    let invalid = Verification::Invalid {
        reason: reason.clone(),
        message: None,
    };
    Script::set(&stage.script.verifies, invalid);
    assert_eq!(declined(stage.buy(&payment).await).next, Next::SignNew);
    Script::set(&stage.script.verifies, Verification::Valid);
    let stage = stage.restarted(terms());
    for _ in 0..2 {
        let copy = declined(stage.buy(&payment).await);
        assert_eq!((copy.reason, copy.next), (reason.clone(), Next::SignNew));
        let elsewhere = declined(stage.buy_with(Some("max_age=5"), &payment).await);
        assert_eq!(elsewhere.next, Next::SignNew);
    }
    assert_eq!(stage.script.asked("settle"), 0);
    served(stage.buy(&stage.sign(&payer)).await);
}

/// An action that a crash has interrupted goes on. Its payer must not order it a second time, and
/// its payment must stay chargeable.
#[tokio::test(start_paused = true)]
async fn a_payment_that_has_begun_an_action_is_not_replaced() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let payment = stage.sign(&payer);
    Script::set(&stage.script.has_begun, true);
    let invalid = Verification::Invalid {
        reason: Reason::InvalidExactEvmTransactionSimulationFailed,
        message: None,
    };
    Script::set(&stage.script.verifies, invalid);
    let again = Next::SendSameAgain { after_seconds: 5 };
    assert_eq!(declined(stage.buy(&payment).await).next, again);
    Script::set(&stage.script.verifies, Verification::Valid);
    served(stage.buy(&payment).await);

    let late = stage.sign(&payer);
    let record = stage.record(&late).await;
    assert_eq!(record, None);
    stage.script.pass(60);
    let refused = declined(stage.buy(&late).await);
    assert!(matches!(refused.next, Next::LookUp { .. }), "{refused:?}");
    assert!(refused.message.contains("has begun an action"));
    Script::set(&stage.script.has_begun, false);
    assert_eq!(declined(stage.buy(&late).await).next, Next::SignNew);
}

/// A forged payment must not make the payment itself useless, whatever the settler says of the
/// forged one. Whoever knows the nonce of a payment can send a forged one.
#[tokio::test(start_paused = true)]
async fn a_forged_payment_retires_nothing() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.wallets, Ok(true));
    let order = stage.order();
    let payment = payer.sign(&order);
    let forged = written(payer.address(), &order, &[7; 66]);
    for reason in [
        Reason::InvalidExactEvmTransactionSimulationFailed,
        Reason::InvalidExactEvmPayloadUndeployedSmartWallet,
    ] {
        let invalid = Verification::Invalid {
            reason,
            message: None,
        };
        Script::set(&stage.script.verifies, invalid);
        let next = declined(stage.buy(&forged).await).next;
        assert!(matches!(next, Next::Wait { .. }), "{next:?}");
    }
    Script::set(&stage.script.verifies, Verification::Valid);
    served(stage.buy(&payment).await);
}

/// A wallet may accept a signature later that it refuses now, and nothing is known about another
/// signature of the same authorization.
#[tokio::test(start_paused = true)]
async fn a_signature_that_a_wallet_refuses_is_not_replaced_at_once() {
    let stage = Stage::new();
    Script::set(&stage.script.wallets, Ok(true));
    for reason in [
        Reason::InvalidExactEvmPayloadSignature,
        Reason::InvalidExactEvmPayloadUndeployedSmartWallet,
    ] {
        let order = stage.order();
        let signed = |byte| written(Address::repeat_byte(0xcc), &order, &[byte; 66]);
        let invalid = Verification::Invalid {
            reason,
            message: None,
        };
        Script::set(&stage.script.verifies, invalid);
        let next = declined(stage.buy(&signed(8)).await).next;
        assert!(matches!(next, Next::Wait { .. }), "{next:?}");
        Script::set(&stage.script.verifies, Verification::Valid);
        served(stage.buy(&signed(7)).await);
    }
}

/// The operator may change the terms and change them back while a payment is valid. Its payer waits
/// until no server takes it any more.
#[tokio::test(start_paused = true)]
async fn a_payment_for_other_terms_is_not_replaced_while_they_may_return() {
    let payer = Payer::new(1);
    let other = || Terms {
        pay_to: Address::repeat_byte(0x92),
        ..terms()
    };
    let stage = Stage::new();
    let payment = stage.sign(&payer);
    let stage = stage.restarted(other());
    let Next::Wait { after_seconds, .. } = declined(stage.buy(&payment).await).next else {
        panic!("the payer may sign a new one");
    };
    stage.script.pass(i64::try_from(after_seconds).unwrap() - 4);
    let advice = declined(stage.buy(&payment).await).next;
    assert!(
        matches!(
            advice,
            Next::Wait {
                after_seconds: 4,
                ..
            }
        ),
        "{advice:?}"
    );
    // The operator restores the earlier terms meanwhile.
    let stage = stage.restarted(terms());
    served(stage.buy(&payment).await);

    let late = stage.sign(&payer);
    let stage = stage.restarted(other());
    let Next::Wait { after_seconds, .. } = declined(stage.buy(&late).await).next else {
        panic!("the payer may sign a new one");
    };
    stage.script.pass(i64::try_from(after_seconds).unwrap());
    assert_eq!(declined(stage.buy(&late).await).next, Next::SignNew);
    let stage = stage.restarted(terms());
    let copy = declined(stage.buy(&late).await);
    assert_eq!(
        copy.reason,
        Reason::InvalidExactEvmPayloadAuthorizationValidBefore
    );
}

/// A payment that is presented with another request than its own may still be charged for its own.
/// Its payer waits until its window is too short for every request.
#[tokio::test(start_paused = true)]
async fn a_payment_for_another_request_is_not_replaced_while_its_own_may_take_it() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let own = Some("max_age=5");
    let url = stage.catalog.resource_url(Operation::CryptoNews, own);
    let paid_for = |payment: PaymentPayload| {
        let mut message: Value = serde_json::from_str(payment.raw()).unwrap();
        message["resource"] = json!({ "url": url });
        PaymentPayload::from_json(message.to_string().as_bytes()).unwrap()
    };
    let payment = paid_for(stage.sign(&payer));
    let elsewhere = declined(stage.buy(&payment).await);
    assert_eq!(elsewhere.reason, Reason::ResourceMismatch);
    // The fastest operations need 50 seconds, and this one more.
    let slow = declined(stage.buy_of(Operation::AutoSwap, None, &payment).await);
    for next in [elsewhere.next, slow.next] {
        let Next::Wait { after_seconds, .. } = next else {
            panic!("the payer may sign a new one");
        };
        assert_eq!(after_seconds, 53);
    }
    served(stage.buy_with(own, &payment).await);

    let late = paid_for(stage.sign(&payer));
    stage.script.pass(53);
    for operation in [Operation::CryptoNews, Operation::AutoSwap] {
        let refused = declined(stage.buy_of(operation, None, &late).await);
        assert_eq!(refused.next, Next::SignNew, "{operation}");
    }
    let copy = declined(stage.buy_with(own, &late).await);
    assert_eq!(
        copy.reason,
        Reason::InvalidExactEvmPayloadAuthorizationValidBefore
    );
}

/// A payment that names no request may be taken by any. Its payer waits until its window is too
/// short for the fastest one.
#[tokio::test(start_paused = true)]
async fn a_payment_that_is_too_late_for_slow_work_is_not_replaced_while_other_work_takes_it() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let payment = payer.sign(&stage.order_of(Operation::YieldCopilot));
    stage.script.pass(10);
    let late = declined(stage.buy_of(Operation::YieldCopilot, None, &payment).await);
    assert_eq!(
        late.reason,
        Reason::InvalidExactEvmPayloadAuthorizationValidBefore
    );
    let Next::Wait { after_seconds, .. } = late.next else {
        panic!("the payer may sign a new one");
    };
    assert_eq!(after_seconds, 43);
    stage.script.pass(43);
    let later = declined(stage.buy_of(Operation::YieldCopilot, None, &payment).await);
    assert_eq!(later.next, Next::SignNew);
}

/// A claim that took long counts only while every server would still take the payment.
#[tokio::test(start_paused = true)]
async fn a_claim_is_given_back_when_the_window_has_become_too_short() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let payment = stage.sign(&payer);
    let mut call = pin!(stage.buy(&payment));
    // The call is matched, and waits for the journal.
    tokio::select! {
        biased;
        _ = &mut call => panic!("it has ended"),
        () = tokio::task::yield_now() => {}
    }
    stage.script.pass(55);
    let late = declined(call.await);
    assert_eq!(
        late.reason,
        Reason::InvalidExactEvmPayloadAuthorizationValidBefore
    );
    assert_eq!(stage.script.asked("verify"), 0);
    let record = stage.record(&payment).await.unwrap();
    assert_eq!(record.state, State::Released);
}

/// A call that could not release its entry leaves it alone after its server has lost its lease,
/// because its next owner may have sent the payment. That owner may even be the same server.
#[tokio::test(start_paused = true)]
async fn a_server_that_lost_an_entry_does_not_release_it() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let server = stage.as_server(1);
    let payment = stage.sign(&payer);
    let cause = unreachable();
    Script::set(
        &stage.script.settles,
        Settles::As(Settlement::NotSent { cause }),
    );
    let undecided = Reconciliation::Undecided {
        transaction: None,
        cause: unreachable(),
    };
    Script::set(&stage.script.reconciles, Reconciles::As(undecided));
    server.journal.break_call("release");
    refused(server.buy(&payment).await);
    server.journal.expire(&[1]);
    server.journal.mend();
    // Another server takes the entry over, and loses its own lease.
    stage.as_server(2).processor.close_orphans().await;
    server.journal.expire(&[2]);
    server.journal.go_on_as(3);
    server.processor.reconcile_all().await;
    let state = async || stage.record(&payment).await.unwrap().state;
    assert_eq!(state().await, State::Unknown);
    // Waits longer than the pauses between the tries.
    tokio::time::sleep(Duration::from_secs(400)).await;
    assert_eq!(state().await, State::Unknown);
    assert!(server.processor.shared.tasks.is_empty());
}

/// A facilitator may give a receipt only once. A server that was held up until another one had
/// taken its payment over records it all the same.
#[tokio::test(start_paused = true)]
async fn a_receipt_is_recorded_although_the_entry_was_taken_over() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let (server, other) = (stage.as_server(1), stage.as_server(2));
    let payment = stage.sign(&payer);
    server.journal.break_call("settle");
    served(server.buy(&payment).await);
    server.journal.expire(&[1]);
    other.processor.close_orphans().await;
    let state = async || stage.record(&payment).await.unwrap().state;
    assert_eq!(state().await, State::Unknown);
    server.journal.go_on_as(3);
    server.journal.mend();
    server.finish().await;
    assert_eq!(state().await, State::Settled);
    assert!(served(other.buy(&payment).await).again);
}

/// The replica that takes over has the entry, and lacks the answer.
#[tokio::test(start_paused = true)]
async fn an_answer_that_a_replica_lacks_is_stored_again() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let payment = stage.sign(&payer);
    stage.journal.break_call("settle");
    let sold = served(stage.buy(&payment).await);
    stage.journal.lose_answers();
    let state = async || stage.record(&payment).await.unwrap().state;
    assert_eq!(state().await, State::Reserved);
    stage.journal.mend();
    stage.finish().await;
    assert_eq!(state().await, State::Settled);
    let again = served(stage.buy(&payment).await);
    assert!(again.again);
    assert_eq!(again.stored.answer, sold.stored.answer);
}

/// The transaction of a charge that the journal does not take is at least in the log.
#[tokio::test(start_paused = true)]
async fn a_charge_that_cannot_be_recorded_is_in_the_log() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    stage.journal.break_call("settle");
    let sold = served(stage.buy(&stage.sign(&payer)).await);
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let mut lines = text.lines();
    let line = lines.find(|line| line.contains("a settled payment cannot be recorded"));
    assert!(
        line.unwrap().contains(&sold.stored.receipt.transaction),
        "{text}"
    );
}

/// The lines of a log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
