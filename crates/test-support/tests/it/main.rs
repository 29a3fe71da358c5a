//! Tests of the helpers: waiting for conditions, processes that end, a stand-in, and the clock.

mod cases;
mod http;
mod postgres;
mod process;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use test_support::{
    Dying, Fuse, ManualClock, PATIENCE, eventually, eventually_blocking, eventually_every, pass,
};
use tokio::time::Instant;

#[test]
fn a_clock_moves_only_when_a_test_moves_it() {
    let clock = ManualClock::at("2026-11-21T01:02:00Z".parse().unwrap());
    let same = clock.shared();
    clock.advance(Duration::from_millis(1_500));
    assert_eq!(same.now().to_string(), "2026-11-21T01:02:01.5Z");
    clock.set(-60);
    assert_eq!(same.now().to_string(), "2026-11-21T01:01:00Z");
}

#[tokio::test(start_paused = true)]
async fn a_met_condition_is_returned() {
    let mut looks = 0;
    let seen = eventually("a third look", async || {
        looks += 1;
        (looks == 3).then_some("seen")
    });
    assert_eq!(seen.await, "seen");
    assert_eq!(looks, 3);
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "not within 120s: nothing")]
async fn an_unmet_condition_fails_with_its_name() {
    eventually("nothing", async || None::<()>).await;
}

#[tokio::test(start_paused = true)]
async fn a_pause_may_be_set() {
    let (began, mut looks) = (Instant::now(), 0);
    let third = async || {
        looks += 1;
        (looks == 3).then_some(())
    };
    eventually_every(Duration::from_secs(7), "a third look", third).await;
    assert_eq!(began.elapsed(), Duration::from_secs(14));
}

#[test]
fn waiting_without_a_runtime_returns_the_result() {
    let mut looks = 0;
    let seen = eventually_blocking("a third look", || {
        looks += 1;
        (looks == 3).then_some("seen")
    });
    assert_eq!((seen, looks), ("seen", 3));
}

#[tokio::test(start_paused = true)]
async fn simulated_time_passes() {
    let began = Instant::now();
    pass(PATIENCE).await;
    assert_eq!(began.elapsed(), PATIENCE);
}

#[tokio::test]
#[should_panic(expected = "the time is not simulated")]
async fn real_time_cannot_be_passed() {
    pass(Duration::ZERO).await;
}

#[tokio::test]
async fn a_process_ends_before_or_after_its_last_effect() {
    for after in [false, true] {
        let fuse = Fuse::new(1, after);
        let mut effects = 0;
        fuse.guard(async { effects += 1 }).await;
        tokio::select! {
            () = fuse.guard(async { effects += 1 }) => panic!("it heard of its end"),
            () = fuse.died.notified() => assert!(fuse.is_dead()),
        }
        assert_eq!(effects, 1 + i32::from(after));
    }
}

/// The store writes as soon as it is called, whether its answer is awaited or not.
#[tokio::test]
async fn a_store_whose_process_ended_is_not_called() {
    for after in [false, true] {
        let writes = Arc::new(AtomicU32::new(0));
        let store = Dying::new(writes.clone(), 2, after, || "gone");
        assert_eq!(store.write(write).await, Ok(0));
        assert!(!store.is_dead());
        assert_eq!(store.write(write).await, Err("gone"));
        assert!(store.is_dead());
        assert_eq!(store.write(write).await, Err("gone"));
        assert_eq!(store.read(write).await, Err("gone"));
        assert_eq!(store.history().await, Err("gone"));
        assert_eq!(writes.load(Ordering::SeqCst), 1 + u32::from(after));
    }
}

type Written<'a> = Pin<Box<dyn Future<Output = Result<u32, &'static str>> + Send + 'a>>;

fn write(store: &AtomicU32) -> Written<'_> {
    let before = store.fetch_add(1, Ordering::SeqCst);
    Box::pin(async move { Ok(before) })
}
