//! Tests of recognition: the server recognises a payment that the journal knows before it checks
//! anything else of it.

use std::time::Duration;

use http_body_util::BodyExt;
use http_edge::RequestIds;
use ledger::{Claim, Journal as _, Purchase, RequestBinding, Reservation, State};
use route_catalog::Next;
use serde_json::{Value, json};
use settlement::{Settlement, Verification};
use x402_wire::{Asset, PaymentPayload, Reason, Scheme, Terms};

use super::payer::{Order, Payer, written};
use super::script::{Script, Settles, unreachable};
use super::stage::{Stage, declined, refused, served, terms};
use crate::payment::{MAX_UNPROVEN, Refusal, answer_look_up};

fn unknown() -> Settles {
    Settles::As(Settlement::Unknown {
        transaction: None,
        cause: unreachable(),
    })
}

fn rejected() -> Settles {
    Settles::As(Settlement::Rejected {
        reason: Reason::InsufficientFunds,
        message: None,
    })
}

/// A payment with a session key of the broker.
fn deferred(stage: &Stage) -> PaymentPayload {
    deferred_until(stage, stage.script.now() + 100)
}

fn deferred_until(stage: &Stage, valid_before: u64) -> PaymentPayload {
    let order = Order {
        option: stage.option(Scheme::AggrDeferred),
        valid_before,
        ..stage.order()
    };
    written(Payer::new(1).address(), &order, &[7; 65])
}

/// The price is fixed for a release of the server; the operator can change every other part of an
/// offer.
#[tokio::test(start_paused = true)]
async fn a_known_payment_never_meets_the_challenge_of_another_offer() {
    let [_, second, third] = Asset::chain_196();
    let others = [
        Terms {
            pay_to: alloy_primitives::Address::repeat_byte(0x92),
            ..terms()
        },
        Terms {
            max_timeout_seconds: 60,
            ..terms()
        },
        Terms {
            assets: vec![second, third],
            ..terms()
        },
    ];
    for other in others {
        let (stage, payer) = (Stage::new(), Payer::new(1));
        let settled = stage.sign(&payer);
        let answer = served(stage.buy(&settled).await);
        Script::set(&stage.script.settles, unknown());
        let open = stage.sign(&payer);
        refused(stage.buy(&open).await);
        let stage = stage.restarted(other);
        // A new payment must match today's offer.
        let new = stage.sign(&payer);
        let mut new_order = stage.order();
        new_order.option = super::stage::Stage::new().option(Scheme::Exact);
        let of_old_offer = declined(stage.buy(&payer.sign(&new_order)).await);
        assert!(matches!(of_old_offer.next, Next::Wait { .. }));
        let again = served(stage.buy(&settled).await);
        assert!(again.again);
        assert_eq!(again.stored.answer, answer.stored.answer);
        let pending = refused(stage.buy(&open).await);
        assert!(matches!(pending, Refusal::Pending(_)), "{pending:?}");
        Script::set(&stage.script.settles, Settles::Taken);
        assert!(!served(stage.buy(&new).await).again);
    }
}

#[tokio::test(start_paused = true)]
async fn a_known_payment_is_answered_when_its_window_is_over() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let payment = stage.sign(&payer);
    served(stage.buy(&payment).await);
    stage.script.pass(1_000);
    assert!(served(stage.buy(&payment).await).again);
}

#[tokio::test(start_paused = true)]
async fn a_wallets_known_payment_needs_none_of_the_unproven_places() {
    let stage = Stage::with(Script::with_gate(1), 1_000_000);
    let known = stage.of_wallet(0xcc);
    assert!(!served(stage.buy(&known).await).again);
    // All these places wait for an answer of the settler.
    let waiting: Vec<_> = (0..MAX_UNPROVEN).map(|_| stage.of_wallet(0xcd)).collect();
    let mut calls: Vec<_> = waiting
        .iter()
        .map(|payment| Box::pin(stage.buy(payment)))
        .collect();
    for call in &mut calls {
        let none = tokio::time::timeout(Duration::from_millis(1), call).await;
        assert!(none.is_err());
    }
    let new = refused(stage.buy(&stage.of_wallet(0xcc)).await);
    assert!(matches!(new, Refusal::TooManyCalls), "{new:?}");
    assert!(served(stage.buy(&known).await).again);
    // A payer with a key needs no place of this kind.
    assert!(!served(stage.buy(&stage.sign(&Payer::new(1))).await).again);
}

#[tokio::test(start_paused = true)]
async fn a_deferred_payment_is_recognised_while_the_settler_cannot_say_what_it_supports() {
    let answers = [
        Verification::Unavailable {
            cause: unreachable(),
        },
        Verification::Invalid {
            reason: Reason::UnsupportedScheme,
            message: None,
        },
    ];
    for answer in answers {
        let stage = Stage::new();
        let known = deferred(&stage);
        assert!(!served(stage.buy(&known).await).again);
        Script::set(&stage.script.supports, answer.clone());
        assert!(served(stage.buy(&known).await).again);
        let new = refused(stage.buy(&deferred(&stage)).await);
        match answer {
            Verification::Unavailable { .. } => {
                assert!(matches!(new, Refusal::SettlementUnavailable), "{new:?}");
            }
            _ => assert!(matches!(new, Refusal::Declined(_)), "{new:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_payment_is_good_for_one_request_and_under_one_signature() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let order = stage.order();
    let payment = payer.sign(&order);
    served(stage.buy(&payment).await);
    let elsewhere = refused(stage.buy_with(Some("max_age=5"), &payment).await);
    assert!(
        matches!(elsewhere, Refusal::BoundElsewhere { .. }),
        "{elsewhere:?}"
    );
    for length in [65, 66] {
        let forged = written(payer.address(), &order, &vec![7; length]);
        let forged = refused(stage.buy(&forged).await);
        assert!(
            matches!(forged, Refusal::BoundElsewhere { .. }),
            "{forged:?}"
        );
    }
    assert_eq!(stage.script.asked("settle"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_forged_payment_leaves_no_entry() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let forged = written(payer.address(), &stage.order(), &[7; 65]);
    let ended = declined(stage.buy(&forged).await);
    assert_eq!(ended.reason, Reason::InvalidExactEvmPayloadSignature);
    assert_eq!(stage.record(&forged).await, None);
    assert_eq!(
        (
            stage.script.asked("verify"),
            stage.script.asked("accepts_wallet")
        ),
        (0, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn an_identifier_that_was_used_leads_to_the_payment_that_used_it() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let with_id = || Order {
        payment_id: Some("an-identifier-of-mine".to_owned()),
        ..stage.order()
    };
    let first = payer.sign(&with_id());
    served(stage.buy(&first).await);
    let url = stage
        .catalog
        .payment_url(&first.authorization_key().unwrap());
    let again = served(stage.buy(&payer.sign(&with_id())).await);
    assert!(again.again && again.stored.is_repetition);
    let other_request = payer.sign(&with_id());
    let taken = refused(stage.buy_with(Some("max_age=5"), &other_request).await);
    let Refusal::IdentifierTaken {
        transaction,
        url: of_first,
    } = taken
    else {
        panic!("{taken:?}")
    };
    assert_eq!(
        (transaction.as_deref(), of_first.as_str()),
        (Some("0xab"), url.as_str())
    );
    assert_eq!(stage.script.asked("settle"), 1);
    // Identifiers of another payer are independent.
    let other = Payer::new(2);
    assert!(!served(stage.buy(&other.sign(&with_id())).await).again);
}

/// The payment's URL cannot be read without the journal. Its error repeats the advice to look it
/// up.
#[tokio::test(start_paused = true)]
async fn a_look_up_without_a_journal_says_what_to_do() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let payment = stage.sign(&payer);
    served(stage.buy(&payment).await);
    let url = stage
        .catalog
        .payment_url(&payment.authorization_key().unwrap());
    stage.journal.break_call("look_up");
    let path = url.strip_prefix(stage.catalog.base_url()).unwrap();
    let request = http::Request::get(path).body(()).unwrap();
    let (parts, ()) = request.into_parts();
    let id = RequestIds::new().next_id();
    let reply = answer_look_up(&parts, &stage.processor, id).await;
    assert_eq!(reply.status(), 503);
    assert_eq!(reply.headers()["retry-after"], "5");
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["error"]["code"], "ledger_unavailable");
    assert_eq!(
        body["error"]["next"],
        json!({ "action": "look_up", "url": url })
    );
}

#[tokio::test(start_paused = true)]
async fn a_payment_is_not_judged_while_the_journal_cannot_be_read() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    let payment = stage.sign(&payer);
    stage.journal.break_call("look_up");
    stage.script.pass(1_000);
    let ended = refused(stage.buy(&payment).await);
    assert!(matches!(ended, Refusal::LedgerUnavailable), "{ended:?}");
}

/// The same header arrives twice. The first call still waits when the second one finds that the
/// window has become too short.
#[tokio::test(start_paused = true)]
async fn a_payment_is_not_replaced_while_another_call_carries_it() {
    let stage = Stage::with(Script::with_gate(0), 1_000_000);
    let payment = stage.of_wallet(0xcc);
    let mut first = Box::pin(stage.buy(&payment));
    let waiting = tokio::time::timeout(Duration::from_secs(1), &mut first).await;
    assert!(waiting.is_err());
    stage.script.pass(61);
    let second = refused(stage.buy(&payment).await);
    assert!(matches!(second, Refusal::InFlight { .. }), "{second:?}");
    stage.script.pass(-20);
    stage.script.gate.add_permits(1);
    assert!(!served(first.await).again);
    // Once no call carries it, an unknown payment whose window is over is replaced.
    let late = stage.of_wallet(0xcc);
    stage.script.pass(100);
    assert_eq!(declined(stage.buy(&late).await).next, Next::SignNew);
    assert_eq!(stage.record(&late).await, None);
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Settled);
}

/// The first request may have had an effect, as the action of a wallet has.
#[tokio::test(start_paused = true)]
async fn a_payment_that_failed_to_settle_pays_for_no_other_request() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.settles, rejected());
    let payment = stage.sign(&payer);
    declined(stage.buy(&payment).await);
    Script::set(&stage.script.settles, Settles::Taken);
    let advised = async || match refused(stage.buy_with(Some("max_age=5"), &payment).await) {
        Refusal::BoundElsewhere { next } => next,
        other => panic!("{other:?}"),
    };
    // Its own request may still be charged.
    let next = advised().await;
    assert!(matches!(next, Next::Wait { .. }), "{next:?}");
    assert_eq!(stage.record(&payment).await.unwrap().state, State::Released);
    Script::set(&stage.script.is_void, Ok(true));
    assert_eq!(advised().await, Next::SignNew);
    Script::set(&stage.script.has_begun, true);
    let next = advised().await;
    assert!(matches!(next, Next::LookUp { .. }), "{next:?}");
    Script::set(&stage.script.is_void, Ok(false));
    assert!(!served(stage.buy(&payment).await).again);
}

/// A payment that is released between two reads may have been sent to a settlement before, and can
/// still be executed.
#[tokio::test(start_paused = true)]
async fn a_payment_that_is_released_while_it_is_looked_up_is_not_replaced() {
    let (stage, payer) = (Stage::new(), Payer::new(1));
    Script::set(&stage.script.settles, rejected());
    let payment = stage.sign(&payer);
    declined(stage.buy(&payment).await);
    // A call that ended without a record had claimed it once more.
    let claim = Claim {
        key: payment.authorization_key().unwrap(),
        request: RequestBinding::new("GET", "/crypto-news", None, b"")
            .for_payment(payment.signature().as_str(), payment.payment_id()),
        payment_id: None,
        purchase: Purchase::Unproven,
        amount: payment.authorization().value,
        valid_before: stage.script.now() + 100,
        now: stage.script.now(),
    };
    let Reservation::Reserved(orphan) = stage.journal.reserve(claim).await.unwrap() else {
        panic!("it is known")
    };
    stage.journal.sweep_after("look_up", orphan);
    stage.script.pass(90);
    let late = declined(stage.buy(&payment).await);
    assert!(matches!(late.next, Next::Wait { .. }), "{late:?}");
    let record = stage.record(&payment).await.unwrap();
    assert_eq!((record.state, record.attempted), (State::Released, true));
}

/// Only the broker settles a deferred payment, and it has refused this one for good.
#[tokio::test(start_paused = true)]
async fn a_deferred_payment_that_the_broker_refused_is_retired_and_replaced() {
    let stage = Stage::new();
    Script::set(&stage.script.settles, rejected());
    let payment = deferred(&stage);
    let sent = declined(stage.buy(&payment).await);
    assert_eq!(sent.reason, Reason::InsufficientFunds);
    assert_eq!(sent.next, Next::SignNew);
    // No server takes it again.
    Script::set(&stage.script.settles, Settles::Taken);
    let again = declined(stage.as_server(2).buy(&payment).await);
    assert_eq!(again.next, Next::SignNew);
    let record = stage.record(&payment).await.unwrap();
    assert_eq!((record.state, record.attempted), (State::Released, true));
    assert_eq!(stage.script.asked("settle"), 1);
}

/// A server may take such a payment at any time, so a new one beside it could be a second charge.
#[tokio::test(start_paused = true)]
async fn a_deferred_payment_that_is_not_retired_is_not_replaced() {
    for has_end in [true, false] {
        let stage = Stage::new();
        let payment = match has_end {
            true => deferred(&stage),
            false => deferred_until(&stage, u64::MAX),
        };
        // The settlement could not be sent, and the entry is released.
        let not_sent = Settlement::NotSent {
            cause: unreachable(),
        };
        Script::set(&stage.script.settles, Settles::As(not_sent));
        let ended = refused(stage.buy(&payment).await);
        assert!(matches!(ended, Refusal::SettlementUnavailable), "{ended:?}");
        let record = stage.record(&payment).await.unwrap();
        assert!(record.attempted && !record.is_retired);
        // The settler does not support the scheme for now.
        let unsupported = Verification::Invalid {
            reason: Reason::UnsupportedScheme,
            message: None,
        };
        Script::set(&stage.script.supports, unsupported);
        let next = async |payment| declined(stage.buy(payment).await).next;
        let is_kept = |next: &Next| match has_end {
            true => matches!(next, Next::Wait { .. }),
            false => matches!(next, Next::LookUp { .. }),
        };
        let new = match has_end {
            true => deferred(&stage),
            false => deferred_until(&stage, u64::MAX),
        };
        for payment in [&payment, &new] {
            let next = next(payment).await;
            assert!(is_kept(&next), "{next:?}");
        }
        // For another request as well, and it is replaced once it is retired.
        Script::set(&stage.script.supports, Verification::Valid);
        let elsewhere = async || match refused(stage.buy_with(Some("max_age=5"), &payment).await) {
            Refusal::BoundElsewhere { next } => next,
            other => panic!("{other:?}"),
        };
        let next = elsewhere().await;
        assert!(is_kept(&next), "{next:?}");
        assert!(stage.journal.retire(record.entry, true).await.unwrap());
        assert_eq!(elsewhere().await, Next::SignNew);
    }
}
