//! Tests of callers that hang up: that changes nothing.

use std::pin::pin;

use super::payer::Payer;
use super::script::{Script, Work};
use super::stage::{Stage, refused, served};
use crate::payment::{MAX_IN_FLIGHT, MAX_UNPROVEN};

/// The most polls of a call: more than it takes from its beginning to its end.
const TURNS: usize = 80;

/// Drops the call after this many polls. Returns whether it had ended by then.
async fn hang_up_after<T>(turns: usize, call: impl Future<Output = T>) -> bool {
    let mut call = pin!(call);
    for _ in 0..turns {
        tokio::select! {
            biased;
            _ = &mut call => return true,
            () = tokio::task::yield_now() => {}
        }
    }
    false
}

fn assert_everything_is_given_back(stage: &Stage, turns: usize) {
    let shared = &stage.processor.shared;
    let places = (
        shared.places.available_permits(),
        shared.unproven_places.available_permits(),
    );
    assert_eq!(places, (MAX_IN_FLIGHT, MAX_UNPROVEN), "{turns}");
    assert!(shared.in_flight.is_empty(), "{turns}");
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_hangs_up_at_any_moment_gets_its_answer_by_the_same_payment() {
    let mut ended = 0;
    for turns in 0..TURNS {
        let (stage, payer) = (Stage::new(), Payer::new(1));
        let payment = stage.sign(&payer);
        ended += usize::from(hang_up_after(turns, stage.buy(&payment)).await);
        stage.finish().await;
        let began = stage.record(&payment).await.is_some();
        let delivered = served(stage.buy(&payment).await);
        assert_eq!(delivered.again, began, "{turns}");
        assert_eq!(stage.script.asked("settle"), 1, "{turns}");
        assert_eq!(stage.script.asked("work"), 1, "{turns}");
        assert_everything_is_given_back(&stage, turns);
        assert_eq!(stage.known_credit(&payer), Some((1_000, 0)), "{turns}");
    }
    // Some callers hung up in the middle, and some waited until the end.
    assert!((1..TURNS - 10).contains(&ended), "{ended}");
}

#[tokio::test(start_paused = true)]
async fn the_same_payment_sent_again_at_once_is_worked_on_once() {
    for turns in 1..TURNS {
        let (stage, payer) = (Stage::new(), Payer::new(1));
        let payment = stage.sign(&payer);
        hang_up_after(turns, stage.buy(&payment)).await;
        // The first call is still in flight, or it has its answer by now.
        if let crate::payment::Ended::Refused(refusal) = stage.buy(&payment).await {
            assert_eq!(refusal.name(), "payment_in_flight", "{turns}");
        }
        stage.finish().await;
        assert!(served(stage.buy(&payment).await).again, "{turns}");
        assert_eq!(stage.script.asked("settle"), 1, "{turns}");
        assert_everything_is_given_back(&stage, turns);
    }
}

#[tokio::test(start_paused = true)]
async fn an_uncharged_payment_is_released_after_its_caller_hung_up() {
    for turns in 1..TURNS {
        let (stage, payer) = (Stage::new(), Payer::new(1));
        stage.make_regular(&payer).await;
        Script::set(&stage.script.work, Work::Refuses);
        let payment = stage.sign(&payer);
        hang_up_after(turns, stage.buy(&payment)).await;
        stage.finish().await;
        refused(stage.buy(&payment).await);
        assert_everything_is_given_back(&stage, turns);
        assert_eq!(stage.known_credit(&payer).unwrap().1, 0, "{turns}");
        assert_eq!(
            stage.known_credit(&payer).unwrap().0,
            stage.credit(&payer).await
        );
    }
}
