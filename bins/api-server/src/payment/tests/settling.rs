//! Tests of calls whose work or settlement fails.

use std::time::Duration;

use alloy_primitives::Address;
use ledger::State;
use route_catalog::{ErrorCode, Next};
use settlement::{Reconciliation, Settlement, Verification};
use x402_wire::Reason;

use super::payer::Payer;
use super::script::{Reconciles, Script, Settles, Work, unreachable};
use super::stage::{Stage, TRANSACTION, VERIFICATION, declined, refused, served};
use crate::payment::{Ended, MAX_IN_FLIGHT, Refusal};

fn failed() -> Settles {
    Settles::As(Settlement::Failed {
        transaction: "0xfa".to_owned(),
        reason: Reason::TransactionFailed,
    })
}

fn rejected() -> Settles {
    Settles::As(Settlement::Rejected {
        reason: Reason::InsufficientFunds,
        message: None,
    })
}

fn still_open() -> Settles {
    Settles::As(Settlement::StillOpen {
        reason: Reason::InsufficientFunds,
        message: Some("not enough".to_owned()),
    })
}

fn refused_by_simulation() -> Verification {
    Verification::Invalid {
        reason: Reason::InvalidExactEvmTransactionSimulationFailed,
        message: None,
    }
}

#[tokio::test(start_paused = true)]
async fn work_that_takes_too_long_is_not_charged() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.work, Work::Never);
    let payment = stage.sign(&payer);
    let Refusal::Work(error) = refused(stage.buy(&payment).await) else {
        panic!("another refusal")
    };
    assert_eq!(error.code(), ErrorCode::UpstreamUnavailable);
    assert_eq!(error.reason(), "timed_out");
    assert_eq!(stage.script.asked("settle"), 0);
    // The payment was released, so it is good for another try.
    Script::set(&stage.script.work, Work::Answers);
    assert!(!served(stage.buy(&payment).await).again);
}

#[tokio::test(start_paused = true)]
async fn a_window_that_closes_during_the_work_is_not_settled_into() {
    for (seconds, settled) in [(60, true), (61, false)] {
        let (stage, payer) = (Stage::new(), Payer::new(1));
        Script::set(&stage.script.work, Work::Takes(seconds));
        let payment = stage.sign(&payer);
        let ended = stage.buy(&payment).await;
        assert_eq!(stage.script.asked("settle"), usize::from(settled));
        if settled {
            assert!(!served(ended).again);
            continue;
        }
        let late = declined(ended);
        assert_eq!(
            (late.reason, late.next),
            (
                Reason::InvalidExactEvmPayloadAuthorizationValidBefore,
                Next::SignNew
            )
        );
        let record = stage.record(&payment).await.unwrap();
        assert_eq!((record.state, record.attempted), (State::Released, false));
    }
}

#[tokio::test(start_paused = true)]
async fn a_settler_that_never_returns_leaves_the_outcome_unknown() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.settles, Settles::Never);
    let payment = stage.sign(&payer);
    let pending = refused(stage.buy(&payment).await);
    assert!(matches!(pending, Refusal::Pending(_)), "{pending:?}");
    assert_eq!(stage.script.asked("settle"), 1);
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Unknown);
    // The settler is asked for the outcome, and never settles again.
    let pending = refused(stage.buy(&payment).await);
    assert!(matches!(pending, Refusal::Pending(_)), "{pending:?}");
    Script::set(&stage.script.reconciles, Reconciles::Taken);
    assert!(served(stage.buy(&payment).await).again);
    assert_eq!(stage.script.asked("settle"), 1);
}

#[tokio::test(start_paused = true)]
async fn work_that_panics_leaves_an_entry_that_a_sweep_gives_back() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.work, Work::Panics);
    let payment = stage.sign(&payer);
    let pending = refused(stage.buy(&payment).await);
    assert!(matches!(pending, Refusal::Pending(_)), "{pending:?}");
    assert!(stage.processor.shared.in_flight.is_empty());
    stage.processor.close_orphans().await;
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Working);
    stage.script.pass(61);
    stage.processor.close_orphans().await;
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Released);
}

#[tokio::test(start_paused = true)]
async fn a_payment_whose_transaction_failed_is_kept_and_paid_for_by_credit() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    stage.make_regular(&payer).await;
    Script::set(&stage.script.settles, failed());
    let payment = stage.sign(&payer);
    let first = declined(stage.buy(&payment).await);
    assert_eq!(first.reason, Reason::TransactionFailed);
    assert!(
        matches!(
            first.next,
            Next::Wait {
                after_seconds: 160,
                ..
            }
        ),
        "{first:?}"
    );
    let record = stage.record(&payment).await.unwrap();
    assert_eq!(
        (record.state, record.transaction.as_deref()),
        (State::Unknown, Some("0xfa"))
    );
    let left = 1_000 - VERIFICATION - TRANSACTION;
    assert_eq!(stage.credit(&payer).await, left);
    assert_eq!(stage.known_credit(&payer), Some((left, 0)));
    // While others can execute the payment, its entry stays unknown, and it is not sent again.
    let still = Reconciliation::Failed {
        transaction: "0xfa".to_owned(),
        reason: Reason::TransactionFailed,
    };
    Script::set(&stage.script.reconciles, Reconciles::As(still));
    let pending = refused(stage.buy(&payment).await);
    assert!(matches!(pending, Refusal::Pending(_)), "{pending:?}");
    assert_eq!(stage.script.asked("settle"), 1);
}

/// A party that refused the payment holds it and may execute it later. Then the payer gets the
/// answer.
#[tokio::test(start_paused = true)]
async fn a_refused_payment_that_moves_later_is_answered() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    stage.make_regular(&payer).await;
    Script::set(&stage.script.settles, still_open());
    let payment = stage.sign(&payer);
    let first = declined(stage.buy(&payment).await);
    assert_eq!(
        (&first.reason, first.message.as_str()),
        (&Reason::InsufficientFunds, "not enough")
    );
    assert!(matches!(first.next, Next::Wait { .. }), "{first:?}");
    assert!(first.receipt.is_some());
    let record = stage.record(&payment).await.unwrap();
    assert_eq!((record.state, record.transaction), (State::Unknown, None));
    // The work was done, and credit pays for it.
    assert_eq!(stage.credit(&payer).await, 1_000 - VERIFICATION);
    let pending = refused(stage.buy(&payment).await);
    assert!(matches!(pending, Refusal::Pending(_)), "{pending:?}");
    Script::set(&stage.script.reconciles, Reconciles::Taken);
    stage.processor.reconcile_all().await;
    assert!(served(stage.buy(&payment).await).again);
    assert_eq!(stage.script.asked("settle"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_payment_is_released_when_it_can_no_longer_be_taken() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.settles, still_open());
    let payment = stage.sign(&payer);
    declined(stage.buy(&payment).await);
    let over = Reconciliation::NotSettled {
        reason: Reason::InvalidExactEvmPayloadAuthorizationValidBefore,
    };
    Script::set(&stage.script.reconciles, Reconciles::As(over));
    Script::set(&stage.script.is_void, Ok(true));
    stage.processor.reconcile_all().await;
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Released);
    Script::set(&stage.script.verifies, refused_by_simulation());
    assert_eq!(declined(stage.buy(&payment).await).next, Next::SignNew);
}

/// A settler keeps reporting that its transaction has failed, even after the window has ended.
#[tokio::test(start_paused = true)]
async fn a_payment_whose_transaction_failed_is_given_back_when_it_is_void() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.settles, failed());
    let still = Reconciliation::Failed {
        transaction: "0xfa".to_owned(),
        reason: Reason::TransactionFailed,
    };
    Script::set(&stage.script.reconciles, Reconciles::As(still));
    let payment = stage.sign(&payer);
    declined(stage.buy(&payment).await);
    Script::set(&stage.script.is_void, Err(unreachable()));
    stage.processor.reconcile_all().await;
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Unknown);
    Script::set(&stage.script.is_void, Ok(true));
    let void = declined(stage.buy(&payment).await);
    assert_eq!(
        (void.reason, void.next),
        (Reason::TransactionFailed, Next::SignNew)
    );
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Released);
}

/// The payer pays once for a failure that is seen after the end of its call.
#[tokio::test(start_paused = true)]
async fn a_transaction_that_turns_out_to_have_failed_is_paid_for_by_credit() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    stage.make_regular(&payer).await;
    Script::set(&stage.script.settles, Settles::Never);
    let payment = stage.sign(&payer);
    refused(stage.buy(&payment).await);
    assert_eq!(stage.credit(&payer).await, 1_000 - VERIFICATION);
    let late = Reconciliation::Failed {
        transaction: "0xfa".to_owned(),
        reason: Reason::TransactionFailed,
    };
    Script::set(&stage.script.reconciles, Reconciles::As(late));
    for _ in 0..2 {
        refused(stage.buy(&payment).await);
        let left = 1_000 - VERIFICATION - TRANSACTION;
        assert_eq!(stage.credit(&payer).await, left);
        assert_eq!(stage.known_credit(&payer), Some((left, 0)));
    }
}

/// The wallet is proven, so it pays for its failed transaction, and the newcomers do not.
#[tokio::test(start_paused = true)]
async fn a_wallets_failed_transaction_is_paid_for_by_the_wallet() {
    let stage = Stage::new();
    let wallet = Address::repeat_byte(0xcc);
    served(stage.buy(&stage.of_wallet(0xcc)).await);
    Script::set(&stage.script.settles, failed());
    declined(stage.buy(&stage.of_wallet(0xcc)).await);
    let left = 1_000 - VERIFICATION - TRANSACTION;
    assert_eq!(stage.credit_of(wallet).await, left);
    assert_eq!(stage.processor.credit().account(wallet), Some((left, 0)));
    assert_eq!(stage.missing_of_pool().await, 0);
}

/// A claimed payment keeps its call's place until its end is recorded, so there are never more open
/// entries than places.
#[tokio::test(start_paused = true)]
async fn a_payment_that_cannot_be_given_back_keeps_its_place_and_its_owner() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.work, Work::Refuses);
    stage.journal.break_call("release");
    let payment = stage.sign(&payer);
    refused(stage.buy(&payment).await);
    let shared = &stage.processor.shared;
    assert_eq!(shared.places.available_permits(), MAX_IN_FLIGHT - 1);
    assert_eq!(shared.in_flight.entries().len(), 1);
    stage.journal.mend();
    stage.finish().await;
    assert_eq!(shared.places.available_permits(), MAX_IN_FLIGHT);
    assert!(shared.in_flight.is_empty());
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Released);
}

/// An entry whose end is not recorded keeps its place and its owner, however long the journal
/// refuses writes.
#[tokio::test(start_paused = true)]
async fn a_place_is_kept_for_as_long_as_the_journal_takes_no_write() {
    for (call, settles, ends) in [
        ("release", rejected(), State::Released),
        ("mark_unknown", failed(), State::Unknown),
        ("settle", Settles::Taken, State::Settled),
    ] {
        let (stage, payer) = (Stage::new(), Payer::new(1));
        Script::set(&stage.script.settles, settles);
        stage.journal.break_call(call);
        let payment = stage.sign(&payer);
        let _ = stage.buy(&payment).await;
        let shared = &stage.processor.shared;
        for minute in 1..=20 {
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(
                (
                    shared.places.available_permits(),
                    shared.in_flight.entries().len()
                ),
                (MAX_IN_FLIGHT - 1, 1),
                "{call}: after {minute} minutes"
            );
        }
        stage.journal.mend();
        stage.finish().await;
        assert_eq!(shared.places.available_permits(), MAX_IN_FLIGHT, "{call}");
        assert_eq!(stage.record(&payment).await.unwrap().state, ends, "{call}");
    }
}

/// A server that ends does not wait for a journal that refuses writes.
#[tokio::test(start_paused = true)]
async fn closing_tries_once_more_and_ends() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    stage.journal.break_call("settle");
    served(stage.buy(&stage.sign(&payer)).await);
    tokio::time::sleep(Duration::from_secs(600)).await;
    let closed = tokio::time::timeout(Duration::from_secs(1), stage.processor.close());
    closed.await.unwrap();
}

/// Work that could not be charged is not begun.
#[tokio::test(start_paused = true)]
async fn no_more_work_begins_than_the_gas_account_can_settle() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    stage.make_regular(&payer).await;
    Script::set(&stage.script.affords, Some(2));
    Script::set(&stage.script.work, Work::Takes(1));
    let payments: Vec<_> = (0..4).map(|_| stage.sign(&payer)).collect();
    let buy = |number: usize| stage.buy(&payments[number]);
    let (first, second, third, fourth) = tokio::join!(buy(0), buy(1), buy(2), buy(3));
    let (mut answers, mut unaffordable) = (0, None);
    for (number, ended) in [first, second, third, fourth].into_iter().enumerate() {
        match ended {
            Ended::Delivered(_) => answers += 1,
            Ended::Refused(Refusal::SettlementUnavailable) => unaffordable = Some(number),
            Ended::Refused(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(answers, 2);
    assert_eq!(stage.script.asked("work"), 2);
    // The payer is not charged for work that was not done, and there is room again.
    assert_eq!(stage.credit(&payer).await, 3_000);
    let again = stage.buy(&payments[unaffordable.unwrap()]).await;
    assert!(!served(again).again);
}

/// A full disk must not lose the transaction, which only this process knows: without it the payment
/// would be settled once more.
#[tokio::test(start_paused = true)]
async fn a_failed_transaction_is_written_down_as_soon_as_the_journal_takes_it() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.settles, failed());
    stage.journal.break_call("mark_unknown");
    let payment = stage.sign(&payer);
    declined(stage.buy(&payment).await);
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Settling);
    // No sweep decides the entry meanwhile.
    stage.script.pass(61);
    stage.processor.close_orphans().await;
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Settling);
    stage.journal.mend();
    stage.finish().await;
    let record = stage.record(&payment).await.unwrap();
    assert_eq!(
        (record.state, record.transaction.as_deref()),
        (State::Unknown, Some("0xfa"))
    );
    assert!(stage.processor.shared.in_flight.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_settled_payment_is_answered_although_it_cannot_be_recorded_at_once() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    stage.journal.break_call("settle");
    let payment = stage.sign(&payer);
    assert!(!served(stage.buy(&payment).await).again);
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Settling);
    tokio::time::sleep(Duration::from_secs(2)).await;
    stage.journal.mend();
    stage.finish().await;
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Settled);
    assert!(served(stage.buy(&payment).await).again);
}

/// A payment that was sent to a settlement is public: anyone who saw it may execute it until it
/// ends, whatever later calls find.
#[tokio::test(start_paused = true)]
async fn a_payment_that_came_to_a_settlement_is_never_replaced_before_it_is_void() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.settles, rejected());
    let payment = stage.sign(&payer);
    let first = declined(stage.buy(&payment).await);
    assert!(matches!(first.next, Next::Wait { .. }), "{first:?}");
    // The payment is tried again, and this time its verification fails.
    Script::set(&stage.script.verifies, refused_by_simulation());
    let second = declined(stage.buy(&payment).await);
    assert!(matches!(second.next, Next::Wait { .. }), "{second:?}");
    // Then the work takes so long that the window closes.
    Script::set(&stage.script.verifies, Verification::Valid);
    Script::set(&stage.script.work, Work::Takes(61));
    let third = declined(stage.buy(&payment).await);
    assert!(matches!(third.next, Next::Wait { .. }), "{third:?}");
    let fourth = declined(stage.buy(&payment).await);
    assert!(matches!(fourth.next, Next::Wait { .. }), "{fourth:?}");
    stage.script.pass(200);
    Script::set(&stage.script.is_void, Ok(true));
    assert_eq!(declined(stage.buy(&payment).await).next, Next::SignNew);
    assert_eq!(stage.script.asked("settle"), 1);
}
