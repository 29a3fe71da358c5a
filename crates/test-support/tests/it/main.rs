//! Conditions that come and that do not, programs and processes that end, a stand-in, and a clock.

mod http;
mod postgres;
mod process;

use std::time::Duration;

use test_support::{Fuse, ManualClock, eventually};

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
async fn what_comes_is_returned() {
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
async fn what_does_not_come_fails_by_its_name() {
    eventually("nothing", async || None::<()>).await;
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
