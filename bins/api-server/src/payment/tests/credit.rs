//! Tests of the credit that pays for work without a paid answer.

use std::time::Duration;

use alloy_primitives::Address;
use ledger::{Journal, State};
use settlement::{Settlement, Verification};
use x402_wire::Reason;

use super::payer::Payer;
use super::script::{Reconciles, Script, Settles, Work, unreachable};
use super::stage::{HELD, Stage, VERIFICATION, refused, served};
use crate::payment::Refusal;

/// Runs a call until it waits for work that never ends.
async fn begin<T>(call: &mut (impl Future<Output = T> + Unpin)) {
    let ended = tokio::time::timeout(Duration::from_secs(1), call).await;
    assert!(ended.is_err());
}

#[tokio::test(start_paused = true)]
async fn without_a_chain_a_payer_without_credit_has_one_call_at_a_time() {
    for reads_chain in [false, true] {
        let stage = Stage::with(Script::with_chain(reads_chain), 1_000_000);
        let (newcomer, other, regular) = (Payer::new(1), Payer::new(2), Payer::new(3));
        for _ in 0..2 {
            stage.make_regular(&regular).await;
        }
        Script::set(&stage.script.work, Work::Never);
        let payments = [&newcomer, &regular].map(|payer| stage.sign(payer));
        let mut first = Box::pin(stage.buy(&payments[0]));
        begin(&mut first).await;
        let mut of_regular = Box::pin(stage.buy(&payments[1]));
        begin(&mut of_regular).await;
        Script::set(&stage.script.work, Work::Answers);
        let second = stage.buy(&stage.sign(&newcomer)).await;
        match reads_chain {
            true => assert!(!served(second).again),
            false => {
                let second = refused(second);
                assert!(matches!(second, Refusal::OneCallAtATime), "{second:?}");
                // The payment in flight is known, so it is not refused for exceeding the limit.
                let same = refused(stage.buy(&payments[0]).await);
                assert!(matches!(same, Refusal::InFlight { .. }), "{same:?}");
            }
        }
        for payer in [&other, &regular] {
            assert!(!served(stage.buy(&stage.sign(payer)).await).again);
        }
        // Once the call in flight has ended, the payer's next call is served.
        refused(first.await);
        assert!(!served(stage.buy(&stage.sign(&newcomer)).await).again);
    }
}

#[tokio::test(start_paused = true)]
async fn a_payer_out_of_credit_is_refused_before_any_work() {
    let stage = Stage::with(Script::default(), HELD + VERIFICATION);
    let (regular, newcomer) = (Payer::new(1), Payer::new(2));
    stage.make_regular(&regular).await;
    Script::set(&stage.script.work, Work::Refuses);
    for uncharged in 0..2 {
        let ended = refused(stage.buy(&stage.sign(&newcomer)).await);
        assert!(matches!(ended, Refusal::Work(_)), "{uncharged}: {ended:?}");
    }
    stage.script.forget();
    let out = refused(stage.buy(&stage.sign(&newcomer)).await);
    let Refusal::OutOfCredit {
        retry_after_seconds,
    } = out
    else {
        panic!("{out:?}")
    };
    assert_eq!(retry_after_seconds, VERIFICATION);
    assert_eq!(
        (stage.script.asked("verify"), stage.script.asked("work")),
        (0, 0)
    );
    // A payer who has paid before is not affected, and neither is a known payment.
    Script::set(&stage.script.work, Work::Answers);
    let paid = stage.sign(&regular);
    assert!(!served(stage.buy(&paid).await).again);
    stage
        .script
        .pass(i64::try_from(retry_after_seconds).unwrap());
    let payment = stage.sign(&newcomer);
    assert!(!served(stage.buy(&payment).await).again);
    // A paid call costs nothing: the pool is as full as before.
    Script::set(&stage.script.work, Work::Refuses);
    refused(stage.buy(&stage.sign(&Payer::new(3))).await);
    let out = refused(stage.buy(&stage.sign(&Payer::new(4))).await);
    assert!(matches!(out, Refusal::OutOfCredit { .. }), "{out:?}");
    assert!(served(stage.buy(&payment).await).again);
}

#[tokio::test(start_paused = true)]
async fn credit_is_earned_held_spent_and_given_back() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    assert!(!served(stage.buy(&stage.sign(&payer)).await).again);
    assert_eq!(stage.credit(&payer).await, 1_000);
    assert_eq!(stage.known_credit(&payer), Some((1_000, 0)));
    Script::set(&stage.script.work, Work::Never);
    let payment = stage.sign(&payer);
    let mut call = Box::pin(stage.buy(&payment));
    begin(&mut call).await;
    assert_eq!(stage.known_credit(&payer), Some((1_000, HELD)));
    refused(call.await);
    let left = 1_000 - VERIFICATION;
    assert_eq!(stage.known_credit(&payer), Some((left, 0)));
    assert_eq!(stage.credit(&payer).await, left);
    // A second call cannot hold the credit that the first one holds, so the newcomers' pool covers
    // it.
    Script::set(&stage.script.work, Work::Never);
    let payments = [stage.sign(&payer), stage.sign(&payer)];
    let mut first = Box::pin(stage.buy(&payments[0]));
    begin(&mut first).await;
    let mut second = Box::pin(stage.buy(&payments[1]));
    begin(&mut second).await;
    assert_eq!(stage.known_credit(&payer), Some((left, HELD)));
}

#[tokio::test(start_paused = true)]
async fn work_that_panics_gives_back_what_it_held() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    stage.make_regular(&payer).await;
    Script::set(&stage.script.work, Work::Panics);
    refused(stage.buy(&stage.sign(&payer)).await);
    assert_eq!(stage.known_credit(&payer), Some((1_000, 0)));
}

/// The settler reports twice that a payment is settled, because the journal could not record it the
/// first time.
#[tokio::test(start_paused = true)]
async fn a_settlement_is_credited_once_however_often_it_is_found() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    stage.make_regular(&payer).await;
    Script::set(
        &stage.script.settles,
        Settles::As(Settlement::Unknown {
            transaction: None,
            cause: unreachable(),
        }),
    );
    let payment = stage.sign(&payer);
    refused(stage.buy(&payment).await);
    Script::set(&stage.script.reconciles, Reconciles::Taken);
    stage.journal.break_call("settle");
    for _ in 0..3 {
        refused(stage.buy(&payment).await);
        tokio::time::sleep(Duration::from_secs(100)).await;
    }
    // Credit pays for a call that has ended without a known outcome.
    let left = 1_000 - VERIFICATION;
    assert_eq!(stage.known_credit(&payer), Some((left, 0)));
    assert_eq!(stage.credit(&payer).await, left);
    stage.journal.mend();
    stage.finish().await;
    assert!(served(stage.buy(&payment).await).again);
    assert_eq!(stage.known_credit(&payer), Some((left + 1_000, 0)));
    assert_eq!(stage.credit(&payer).await, left + 1_000);
}

/// A list of unknown payments may be outdated when the last of them is looked at.
#[tokio::test(start_paused = true)]
async fn a_settlement_is_credited_once_when_an_old_list_names_it_again() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    stage.make_regular(&payer).await;
    Script::set(&stage.script.settles, Settles::Never);
    let payment = stage.sign(&payer);
    refused(stage.buy(&payment).await);
    let list = stage.journal.undecided(None, 8).await.unwrap();
    Script::set(&stage.script.reconciles, Reconciles::Taken);
    assert!(served(stage.buy(&payment).await).again);
    assert_eq!(stage.known_credit(&payer), Some((2_000 - VERIFICATION, 0)));
    for undecided in list {
        stage.processor.begin(undecided).await;
    }
    assert_eq!(stage.known_credit(&payer), Some((2_000 - VERIFICATION, 0)));
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Settled);
}

/// Leaves less in the newcomers' pool than one call holds, and more than a verification costs.
async fn dry_the_pool(stage: &Stage) {
    Script::set(&stage.script.work, Work::Refuses);
    refused(stage.buy(&stage.sign(&Payer::new(9))).await);
    let out = refused(stage.buy(&stage.sign(&Payer::new(8))).await);
    assert!(matches!(out, Refusal::OutOfCredit { .. }), "{out:?}");
    Script::set(&stage.script.work, Work::Answers);
}

/// Abuse by others does not affect a payer who has paid before, whatever form its signature has.
#[tokio::test(start_paused = true)]
async fn a_proven_wallet_is_served_from_its_own_credit_while_the_pool_is_dry() {
    let stage = Stage::with(Script::default(), HELD);
    let wallet = Address::repeat_byte(0xcc);
    served(stage.buy(&stage.of_wallet(0xcc)).await);
    assert_eq!(stage.credit_of(wallet).await, 1_000);
    dry_the_pool(&stage).await;
    let missing = stage.missing_of_pool().await;
    Script::set(&stage.script.work, Work::Never);
    let payment = stage.of_wallet(0xcc);
    let mut call = Box::pin(stage.buy(&payment));
    begin(&mut call).await;
    let account = || stage.processor.credit().account(wallet);
    assert_eq!(account(), Some((1_000, HELD)));
    // The wallet pays for its refused work, not the pool.
    refused(call.await);
    let left = 1_000 - VERIFICATION;
    assert_eq!(account(), Some((left, 0)));
    assert_eq!(stage.credit_of(wallet).await, left);
    assert_eq!(stage.missing_of_pool().await, missing);
    Script::set(&stage.script.work, Work::Answers);
    assert!(!served(stage.buy(&stage.of_wallet(0xcc)).await).again);

    // A wallet without credit is a newcomer: the pool pays for its verification, and does not hold
    // the cost of its work.
    stage.script.forget();
    let payment = stage.of_wallet(0xcd);
    let out = refused(stage.buy(&payment).await);
    assert!(matches!(out, Refusal::OutOfCredit { .. }), "{out:?}");
    assert_eq!(
        (stage.script.asked("verify"), stage.script.asked("work")),
        (1, 0)
    );
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Released);
    assert_eq!(stage.missing_of_pool().await, missing + VERIFICATION);
    // After a refill of the pool the wallet is served.
    stage.script.pass(300);
    assert!(!served(stage.buy(&stage.of_wallet(0xcd)).await).again);
}

/// Forgeries spend the newcomers' pool, and never the credit of the wallet in whose name they are
/// written.
#[tokio::test(start_paused = true)]
async fn forgeries_in_the_name_of_a_wallet_leave_its_credit_alone() {
    let stage = Stage::with(Script::default(), HELD);
    let wallet = Address::repeat_byte(0xcc);
    served(stage.buy(&stage.of_wallet(0xcc)).await);
    let invalid = Verification::Invalid {
        reason: Reason::InvalidExactEvmPayloadSignature,
        message: None,
    };
    Script::set(&stage.script.verifies, invalid);
    let mut forged = 0;
    while let Refusal::Declined(_) = refused(stage.buy(&stage.of_wallet(0xcc)).await) {
        forged += 1;
    }
    // The pool covers this many verifications. Afterwards no forgery is verified.
    assert_eq!(forged, HELD / VERIFICATION);
    assert_eq!(stage.missing_of_pool().await, HELD);
    assert_eq!(stage.credit_of(wallet).await, 1_000);
}

/// When only the broker vouches for a payment, it earns and spends no credit of the payer's.
#[tokio::test(start_paused = true)]
async fn without_a_chain_a_wallet_is_never_proven() {
    let stage = Stage::with(Script::with_chain(false), HELD);
    served(stage.buy(&stage.of_wallet(0xcc)).await);
    dry_the_pool(&stage).await;
    let out = refused(stage.buy(&stage.of_wallet(0xcc)).await);
    assert!(matches!(out, Refusal::OutOfCredit { .. }), "{out:?}");
}
