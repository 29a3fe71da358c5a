//! Tests of second signatures: a second authorization for the same purchase is not a second charge.

use std::sync::Arc;
use std::time::Duration;

use ledger::{MAX_REPETITIONS, REPETITION, State};
use route_catalog::{Next, Operation};
use settlement::{Cause, Reconciliation, RemoteCall, Settlement, Verification};
use x402_wire::{PaymentPayload, Reason, Scheme};

use super::payer::{Order, Payer, written};
use super::script::{Reconciles, Script, Settles, Work, unreachable};
use super::stage::{Stage, VERIFICATION, declined, refused, served};
use crate::payment::{Ended, KeptCall, MAX_WAITING, PaidCall, Refusal};

fn unknown() -> Settles {
    Settles::As(Settlement::Unknown {
        transaction: None,
        cause: unreachable(),
    })
}

fn plain(stage: &Stage, payer: &Payer) -> PaymentPayload {
    payer.sign(&stage.plain_order())
}

/// The answer, which another payment has bought.
fn repeated(ended: Ended) -> ledger::StoredAnswer {
    let delivered = served(ended);
    assert!(delivered.again && delivered.stored.is_repetition);
    delivered.stored
}

fn undecided(ended: Ended) -> String {
    match refused(ended) {
        Refusal::PurchaseUndecided { url } => url,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_signature_waits_and_gets_the_answer_of_the_first() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let (first, second) = (plain(&stage, &payer), plain(&stage, &payer));
    let (one, two) = tokio::join!(stage.buy(&first), stage.buy(&second));
    let (one, two) = (served(one), served(two));
    assert_ne!(one.stored.is_repetition, two.stored.is_repetition);
    assert_eq!(one.stored.answer, two.stored.answer);
    assert_eq!(one.stored.receipt, two.stored.receipt);
    assert_eq!(stage.script.asked("settle"), 1);
    assert_eq!(stage.script.asked("work"), 1);
    let (bought, repetition) = match two.stored.is_repetition {
        true => (first, second),
        false => (second, first),
    };
    let record = stage.record(&repetition).await.unwrap();
    assert_eq!(record.state, State::Released);
    assert_eq!(record.reason.as_deref(), Some(REPETITION));
    assert_eq!(record.transaction.as_deref(), Some("0xab"));
    // Sent again, it gets the same answer, whatever was delivered. It buys nothing else.
    stage.processor.delivered(one.stored.entry);
    repeated(stage.buy(&repetition).await);
    let elsewhere = refused(stage.buy_with(Some("max_age=5"), &repetition).await);
    assert!(matches!(elsewhere, Refusal::BoundElsewhere { .. }));
    assert!(stage.processor.shared.waiting.is_empty());
    // A call that was made with it is never charged to it.
    for (payment, expected) in [(&repetition, true), (&bought, false)] {
        let call = PaidCall::new(stage.request_of(Operation::CryptoNews, ""), payment);
        let pays_elsewhere = stage.processor.pays_elsewhere(&call).await.unwrap();
        assert_eq!(pays_elsewhere, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_purchase_of_a_kept_call_is_a_request_and_an_identifier() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let of = |body, order: Order| {
        let request = stage.request_of(Operation::CreateYieldWatch, body);
        KeptCall::purchase(&KeptCall::text(&request, &payer.sign(&order))).unwrap()
    };
    let with_id = |id: &str| Order {
        payment_id: Some(id.to_owned()),
        ..stage.order()
    };
    let plain = of(MANDATE, stage.plain_order());
    assert_eq!(of(MANDATE, stage.plain_order()), plain);
    assert_ne!(of("{}", stage.plain_order()), plain);
    let named = of(MANDATE, with_id("an-identifier-00001"));
    assert_eq!(of(MANDATE, with_id("an-identifier-00001")), named);
    assert_ne!(of(MANDATE, with_id("an-identifier-00002")), named);
    assert_ne!(named, plain);
    assert_eq!(KeptCall::purchase("{}"), None);
}

/// Only the journal marks repetitions. A text of the settler does not.
#[tokio::test(start_paused = true)]
async fn a_refusal_that_is_called_a_repetition_is_none() {
    let stage = Stage::new();
    let invalid = Verification::Invalid {
        reason: Reason::from(REPETITION),
        message: None,
    };
    Script::set(&stage.script.verifies, invalid);
    let payment = stage.of_wallet(7);
    declined(stage.buy(&payment).await);
    let record = stage.record(&payment).await.unwrap();
    assert_eq!(record.reason.as_deref(), Some(REPETITION));
    assert!(!record.is_repetition);
    // After its window a stage before the claim refuses it, and looks it up.
    stage.script.pass(1_000);
    declined(stage.buy(&payment).await);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_given_again_until_one_is_delivered() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let bought = served(stage.buy(&plain(&stage, &payer)).await).stored;
    for _ in 0..2 {
        let again = repeated(stage.buy(&plain(&stage, &payer)).await);
        assert_eq!(again.receipt, bought.receipt);
    }
    stage.processor.delivered(bought.entry);
    assert!(!served(stage.buy(&plain(&stage, &payer)).await).again);
    assert_eq!(stage.script.asked("settle"), 2);
    // Another payer has its own purchases.
    assert!(!served(stage.buy(&plain(&stage, &Payer::new(2))).await).again);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_given_again_for_ten_minutes() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    served(stage.buy(&plain(&stage, &payer)).await);
    stage.script.pass(599);
    repeated(stage.buy(&plain(&stage, &payer)).await);
    stage.script.pass(1);
    assert!(!served(stage.buy(&plain(&stage, &payer)).await).again);
}

#[tokio::test(start_paused = true)]
async fn one_lost_answer_does_not_become_many_free_ones() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let first = plain(&stage, &payer);
    served(stage.buy(&first).await);
    for _ in 0..MAX_REPETITIONS {
        repeated(stage.buy(&plain(&stage, &payer)).await);
    }
    let url = stage
        .catalog
        .payment_url(&first.authorization_key().unwrap());
    let next = plain(&stage, &payer);
    match refused(stage.buy(&next).await) {
        Refusal::TooManyRepetitions { url: of_first } => assert_eq!(of_first, url),
        other => panic!("{other:?}"),
    }
    assert_eq!(stage.record(&next).await, None);
    assert_eq!(stage.script.asked("work"), 1);
}

#[tokio::test(start_paused = true)]
async fn an_undecided_purchase_refuses_the_next_signature_and_reserves_nothing() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.settles, unknown());
    let (first, second) = (plain(&stage, &payer), plain(&stage, &payer));
    refused(stage.buy(&first).await);
    let not_yet = Reconciliation::Undecided {
        transaction: None,
        cause: unreachable(),
    };
    Script::set(&stage.script.reconciles, Reconciles::As(not_yet));
    let url = stage
        .catalog
        .payment_url(&first.authorization_key().unwrap());
    assert_eq!(undecided(stage.buy(&second).await), url);
    assert_eq!(stage.record(&second).await, None);
    // Another identifier is another purchase.
    Script::set(&stage.script.settles, Settles::Taken);
    assert!(!served(stage.buy(&stage.sign(&payer)).await).again);
    // Once it is decided, the second signature gets the answer of the first.
    Script::set(&stage.script.reconciles, Reconciles::Taken);
    stage.script.pass(3_600);
    let late = plain(&stage, &payer);
    stage.processor.reconcile_all().await;
    repeated(stage.buy(&late).await);
    assert_eq!(stage.script.asked("settle"), 2);
}

/// The first call ends uncharged while the second one waits.
#[tokio::test(start_paused = true)]
async fn a_waiting_signature_goes_on_when_the_first_is_released() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let order = |stage: &Stage| Order {
        valid_before: stage.script.now() + 290,
        ..stage.plain_order()
    };
    Script::set(&stage.script.work, Work::Never);
    let first = payer.sign(&order(&stage));
    let second = payer.sign(&order(&stage));
    let mut one = Box::pin(stage.buy(&first));
    let begun = tokio::time::timeout(Duration::from_secs(1), &mut one).await;
    assert!(begun.is_err(), "the work does not end");
    let mut two = Box::pin(stage.buy(&second));
    let waits = tokio::time::timeout(Duration::from_secs(1), &mut two).await;
    assert!(waits.is_err(), "the second signature waits");
    Script::set(&stage.script.work, Work::Answers);
    let (one, two) = tokio::join!(one, two);
    assert!(matches!(refused(one), Refusal::Work(_)));
    assert!(!served(two).again);
    assert_eq!(stage.script.asked("settle"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_the_wait_with_the_usual_answer() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.settles, Settles::Never);
    let (first, second) = (plain(&stage, &payer), plain(&stage, &payer));
    let mut one = Box::pin(stage.buy(&first));
    let settles = tokio::time::timeout(Duration::from_secs(1), &mut one).await;
    assert!(settles.is_err(), "the settlement does not end");
    let mut two = Box::pin(stage.buy(&second));
    let waits = tokio::time::timeout(Duration::from_secs(1), &mut two).await;
    assert!(waits.is_err(), "the second signature waits");
    stage.processor.stop_waiting();
    let at_once = tokio::time::timeout(Duration::from_millis(100), two).await;
    undecided(at_once.unwrap());
    assert_eq!(stage.record(&second).await, None);
}

#[tokio::test(start_paused = true)]
async fn sixty_four_signatures_of_a_payer_wait_and_a_further_one_is_refused_at_once() {
    let stage = Arc::new(Stage::new());
    let payer = Payer::new(1);
    Script::set(&stage.script.settles, Settles::Never);
    let places = stage.processor.shared.places.available_permits();
    let mut calls = Vec::new();
    for _ in 0..=MAX_WAITING {
        let (stage, payment) = (Arc::clone(&stage), plain(&stage, &payer));
        calls.push(tokio::spawn(async move { stage.buy(&payment).await }));
        // The first one settles before the others come.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    // They take no places.
    assert_eq!(
        stage.processor.shared.places.available_permits(),
        places - 1
    );
    let further = plain(&stage, &payer);
    let at_once = tokio::time::timeout(Duration::from_millis(100), stage.buy(&further)).await;
    undecided(at_once.unwrap());
    // Another payer is not slowed down.
    Script::set(&stage.script.settles, Settles::Taken);
    let other = plain(&stage, &Payer::new(2));
    let served_at_once = tokio::time::timeout(Duration::from_millis(100), stage.buy(&other)).await;
    assert!(!served(served_at_once.unwrap()).again);
    for call in calls.into_iter().skip(1) {
        undecided(call.await.unwrap());
    }
}

/// A payer without credit has one call at a time where balances cannot be read. A repetition of
/// that call waits for it.
#[tokio::test(start_paused = true)]
async fn a_repetition_needs_neither_place_nor_credit() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.work, Work::Takes(1));
    let (first, second) = (plain(&stage, &payer), plain(&stage, &payer));
    let (one, two) = tokio::join!(stage.buy(&first), stage.buy(&second));
    assert!(served(one).again != served(two).again);
    let dry = Stage::with(Script::default(), 0);
    let first = plain(&dry, &payer);
    assert!(matches!(
        refused(dry.buy(&first).await),
        Refusal::OutOfCredit { .. }
    ));
}

/// The signature of a contract wallet is proven by the verification: before it, the payment counts
/// for nothing.
#[tokio::test(start_paused = true)]
async fn a_wallet_is_answered_after_its_verification() {
    let stage = Stage::new();
    let wallet = |stage: &Stage| {
        let address = alloy_primitives::Address::repeat_byte(7);
        written(address, &stage.plain_order(), &[7; 66])
    };
    let bought = served(stage.buy(&wallet(&stage)).await);
    assert!(!bought.again);
    assert_eq!(stage.missing_of_pool().await, 0);
    let second = wallet(&stage);
    let again = repeated(stage.buy(&second).await);
    assert_eq!(again.receipt, bought.stored.receipt);
    assert_eq!(stage.script.asked("settle"), 1);
    // Its verification was not free.
    assert_eq!(stage.missing_of_pool().await, VERIFICATION);
    // A forged one is told nothing.
    let forged = Verification::Invalid {
        reason: Reason::InvalidExactEvmPayloadSignature,
        message: None,
    };
    Script::set(&stage.script.verifies, forged);
    let refusal = declined(stage.buy(&wallet(&stage)).await);
    assert_eq!(refusal.reason, Reason::InvalidExactEvmPayloadSignature);
}

#[tokio::test(start_paused = true)]
async fn an_action_is_not_begun_again_after_its_answer_was_delivered() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let operation = Operation::CreateYieldWatch;
    let order = || Order {
        payment_id: None,
        valid_before: stage.script.now() + 290,
        ..stage.order_of(operation)
    };
    let request = || stage.request_of(operation, MANDATE);
    let bought = served(stage.buy_request(request(), &payer.sign(&order())).await);
    // An answer that was lost is given to the same payer.
    repeated(stage.buy_request(request(), &payer.sign(&order())).await);
    stage.processor.delivered(bought.stored.entry);
    let refusal = refused(stage.buy_request(request(), &payer.sign(&order())).await);
    let Refusal::ActionRepeated { began, .. } = refusal else {
        panic!("{refusal:?}")
    };
    assert_eq!(began["intent_id"], "an-intent");
    // Another identifier is another action.
    let wanted = Order {
        valid_before: stage.script.now() + 290,
        ..stage.order_of(operation)
    };
    assert!(!served(stage.buy_request(request(), &payer.sign(&wanted)).await).again);
    stage.script.pass(600);
    assert!(!served(stage.buy_request(request(), &payer.sign(&order())).await).again);
}

/// The body of a call that makes a mandate.
const MANDATE: &str = r#"{"rules":{"min_apy_delta_bps":50,"max_slippage_bps":50,"max_move_usd":"1000",
    "allowed_protocols":["aave-v3"],"check_interval":3600},"mode":"notify",
    "expires_at":"2027-01-31T00:00:00Z"}"#;

/// The broker stores a deferred payment, and never answers about another one.
#[tokio::test(start_paused = true)]
async fn a_deferred_payment_without_an_answer_is_left_to_the_operator() {
    let stage = Stage::new();
    let deferred = |stage: &Stage| {
        let order = Order {
            option: stage.option(Scheme::AggrDeferred),
            valid_before: stage.script.now() + 290,
            ..stage.plain_order()
        };
        written(alloy_primitives::Address::repeat_byte(9), &order, &[7; 65])
    };
    Script::set(&stage.script.settles, unknown());
    let silent = Reconciliation::Undecided {
        transaction: None,
        cause: Cause::Timeout {
            call: RemoteCall::Settle,
            after: Duration::from_secs(1),
        },
    };
    Script::set(&stage.script.reconciles, Reconciles::As(silent));
    let first = deferred(&stage);
    refused(stage.buy(&first).await);
    stage.script.pass(289);
    stage.processor.reconcile_all().await;
    assert_eq!(stage.record(&first).await.unwrap().state, State::Unknown);
    stage.script.pass(601);
    stage.processor.reconcile_all().await;
    let record = stage.record(&first).await.unwrap();
    assert_eq!(record.state, State::Undecidable);
    // It counts no longer: the next one is bought, beside it.
    Script::set(&stage.script.settles, Settles::Taken);
    assert!(!served(stage.buy(&deferred(&stage)).await).again);
}

#[tokio::test(start_paused = true)]
async fn an_identifier_of_a_purchase_whose_answer_is_gone_says_so() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let with_id = || Order {
        payment_id: Some("an-identifier-of-mine".to_owned()),
        ..stage.order()
    };
    Script::set(&stage.script.settles, unknown());
    let first = payer.sign(&with_id());
    refused(stage.buy(&first).await);
    let not_yet = Reconciliation::Undecided {
        transaction: None,
        cause: unreachable(),
    };
    Script::set(&stage.script.reconciles, Reconciles::As(not_yet));
    let url = undecided(stage.buy(&payer.sign(&with_id())).await);
    let expected = stage
        .catalog
        .payment_url(&first.authorization_key().unwrap());
    assert_eq!(url, expected);
    let next = Next::LookUp { url };
    assert_eq!(next.action(), "look_up");
}

/// The journal decides between servers, and the one that waits finds the decision there.
#[tokio::test(start_paused = true)]
async fn a_second_signature_at_another_server_waits_as_well() {
    let (one, payer) = (Stage::new().as_server(1), Payer::new(1));
    let two = one.as_server(2);
    let (first, second) = (plain(&one, &payer), plain(&one, &payer));
    let (bought, again) = tokio::join!(one.buy(&first), two.buy(&second));
    let (bought, again) = (served(bought), served(again));
    assert!(bought.stored.is_repetition != again.stored.is_repetition);
    assert_eq!(bought.stored.receipt, again.stored.receipt);
    assert_eq!(one.script.asked("settle"), 1);
}
