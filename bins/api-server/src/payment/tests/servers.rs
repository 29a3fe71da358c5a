//! Tests of several servers with one journal, in moments that one server alone never has.

use std::pin::pin;
use std::time::Duration;

use ledger::State;
use route_catalog::Next;
use settlement::{Reconciliation, Settlement, Verification};
use x402_wire::Reason;

use super::payer::Payer;
use super::script::{Reconciles, Script, Settles, unreachable};
use super::stage::{Stage, declined, refused, served};

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
    // A new payment is taken.
    served(two.buy(&stage.sign(&payer)).await);
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
    // Longer than the pauses between the tries.
    tokio::time::sleep(Duration::from_secs(400)).await;
    assert_eq!(state().await, State::Unknown);
    assert!(server.processor.shared.tasks.is_empty());
}
