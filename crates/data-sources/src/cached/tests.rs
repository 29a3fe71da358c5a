use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;

use super::*;
use crate::provenance::Provenance;

/// A clock that a test sets.
#[derive(Default)]
struct Hand(AtomicU64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        let second = i64::try_from(self.0.load(Ordering::SeqCst)).unwrap();
        Timestamp::from_second(second).unwrap()
    }
}

struct Bench {
    clock: Arc<Hand>,
    cached: Cached<&'static str, usize>,
    fetched: Arc<AtomicUsize>,
}

impl Bench {
    fn new() -> Self {
        let clock = Arc::new(Hand::default());
        Self {
            cached: Cached::new(8, Ages::seconds(10, 60), clock.clone()),
            clock,
            fetched: Arc::default(),
        }
    }

    fn at(&self, second: u64) {
        self.clock.0.store(second, Ordering::SeqCst);
    }

    async fn get(&self, max_age: Option<u64>) -> Result<Sourced<usize>, Error> {
        let (fetched, now) = (self.fetched.clone(), self.clock.now());
        let fetch = || async move {
            let count = fetched.fetch_add(1, Ordering::SeqCst);
            Ok(value(count, now))
        };
        let max_age = max_age.map(Duration::from_secs);
        self.cached.get("k", max_age, fetch).await
    }

    async fn fail(&self) -> Result<Sourced<usize>, Error> {
        let fetched = self.fetched.clone();
        let fetch = || async move {
            fetched.fetch_add(1, Ordering::SeqCst);
            Err(down())
        };
        self.cached.get("k", None, fetch).await
    }

    fn fetches(&self) -> usize {
        self.fetched.load(Ordering::SeqCst)
    }
}

fn value(value: usize, now: Timestamp) -> Sourced<usize> {
    Sourced {
        value,
        sources: vec![Provenance::local("a.b", now)],
    }
}

fn down() -> Error {
    let kind = SourceErrorKind::Timeout { limit_ms: 1 };
    SourceError {
        source: "a.b",
        kind,
    }
    .into()
}

#[tokio::test]
async fn a_fresh_value_is_not_fetched_again_and_an_old_one_is() {
    let bench = Bench::new();
    let first = bench.get(None).await.unwrap();
    assert!(!first.sources[0].cached);
    bench.at(10);
    let second = bench.get(None).await.unwrap();
    assert!((second.value, second.sources[0].cached) == (0, true));
    bench.at(11);
    assert_eq!(bench.get(None).await.unwrap().value, 1);
    // A caller may ask for a younger value than usual.
    bench.at(16);
    assert_eq!(bench.get(Some(5)).await.unwrap().value, 1);
    assert_eq!(bench.get(Some(4)).await.unwrap().value, 2);
    assert_eq!(bench.get(Some(0)).await.unwrap().value, 2);
}

#[tokio::test]
async fn a_failed_refresh_serves_the_old_value_and_says_so() {
    let bench = Bench::new();
    bench.get(None).await.unwrap();
    bench.at(30);
    let stale = bench.fail().await.unwrap();
    let reason = "upstream_timeout".to_owned();
    assert_eq!(stale.sources[0].status, SourceStatus::Stale { reason });
    // The failure is not repeated at once, and the value does not live for ever.
    bench.fail().await.unwrap();
    assert_eq!(bench.fetches(), 2);
    bench.at(61);
    assert_eq!(bench.fail().await.unwrap_err(), down());
    assert_eq!(bench.fail().await.unwrap_err(), down());
    assert_eq!(bench.fetches(), 3);
    bench.at(64);
    assert_eq!(bench.get(None).await.unwrap().value, 3);
}

#[tokio::test]
async fn one_of_many_callers_fetches_and_the_others_survive_its_end() {
    let bench = Bench::new();
    let (gate, fetched) = (Arc::new(Notify::new()), bench.fetched.clone());
    let fetch = {
        let gate = gate.clone();
        || async move {
            fetched.fetch_add(1, Ordering::SeqCst);
            gate.notified().await;
            Ok(value(7, Timestamp::UNIX_EPOCH))
        }
    };
    // The caller that started the fetch goes away.
    let mut first = Box::pin(bench.cached.get("k", None, fetch));
    tokio::select! {
        biased;
        _ = &mut first => panic!("the gate is shut"),
        () = tokio::task::yield_now() => {}
    }
    drop(first);
    let others = async { tokio::join!(bench.get(None), bench.get(None), bench.get(Some(0))) };
    let open = async {
        tokio::task::yield_now().await;
        gate.notify_one();
    };
    let ((a, b, c), ()) = tokio::join!(others, open);
    for answer in [a, b, c] {
        assert_eq!(answer.unwrap().value, 7);
    }
    assert_eq!(bench.fetches(), 1);
}

#[tokio::test]
async fn callers_get_the_old_value_instead_of_waiting_for_a_slow_source() {
    let bench = Bench::new();
    bench.get(None).await.unwrap();
    bench.at(20);
    let gate = Arc::new(Notify::new());
    let slow = {
        let gate = gate.clone();
        || async move {
            gate.notified().await;
            Ok(value(9, Timestamp::UNIX_EPOCH))
        }
    };
    let stale = bench.cached.get("k", None, slow).await.unwrap();
    let reason = "refreshing".to_owned();
    assert_eq!(stale.sources[0].status, SourceStatus::Stale { reason });
    assert_eq!(stale.value, 0);
    gate.notify_one();
    // A caller that cannot take the old value waits for the new one.
    assert_eq!(bench.get(Some(1)).await.unwrap().value, 9);
}

#[tokio::test]
async fn a_fetch_that_panics_is_a_failure_and_not_the_end() {
    let bench = Bench::new();
    let broken = || async move { panic!("a bug") };
    assert!(bench.cached.get("k", None, broken).await.is_err());
    assert_eq!(bench.get(None).await.unwrap().value, 0);
}

#[tokio::test]
async fn a_fetch_that_panics_does_not_make_an_old_value_fresh() {
    let bench = Bench::new();
    let broken = || async move { panic!("a bug") };
    bench.get(None).await.unwrap();
    bench.at(30);
    let stale = bench.cached.get("k", None, broken).await.unwrap();
    let reason = "upstream_unreachable".to_owned();
    assert_eq!(stale.sources[0].status, SourceStatus::Stale { reason });
    bench.at(61);
    assert!(bench.cached.get("k", None, broken).await.is_err());
    bench.at(62);
    assert_eq!(bench.get(None).await.unwrap().value, 1);
}

#[test]
fn floors_follow_from_how_long_values_are_fresh() {
    let floor = |fresh| Ages::seconds(fresh, 2 * fresh).floor.as_millis();
    let expected = [
        (0, 0),
        (2, 1_000),
        (8, 2_000),
        (60, 3_000),
        (600, 30_000),
        (7 * 86_400, 30_000),
    ];
    for (fresh, millis) in expected {
        assert_eq!(floor(fresh), millis, "{fresh}");
    }
    let ages = Ages::seconds(1_800, 1_800).with_floor(300);
    assert_eq!(ages.floor, Duration::from_secs(300));
}

#[tokio::test]
async fn no_caller_fetches_again_before_the_floor() {
    let bench = Bench::new();
    bench.at(100);
    bench.get(Some(0)).await.unwrap();
    // A caller that wants a newer value gets the kept one with its true age.
    bench.at(102);
    let kept = bench.get(Some(0)).await.unwrap();
    assert_eq!((kept.value, bench.fetches()), (0, 1));
    assert!(kept.sources[0].cached);
    assert_eq!(kept.sources[0].fetched_at.as_second(), 100);
    assert_eq!(kept.sources[0].status, SourceStatus::Ok);
    bench.at(103);
    assert_eq!(bench.get(Some(0)).await.unwrap().value, 1);
}

#[tokio::test]
async fn an_absence_is_kept_like_a_value() {
    let bench = Bench::new();
    let absent = async |max_age: Option<u64>| {
        let fetched = bench.fetched.clone();
        let fetch = || async move {
            fetched.fetch_add(1, Ordering::SeqCst);
            let message = String::new();
            let reason = "symbol_not_found";
            Err(Error::NotFound { reason, message })
        };
        let max_age = max_age.map(Duration::from_secs);
        let told = bench.cached.get("none", max_age, fetch).await;
        assert_eq!(told.unwrap_err().code(), "symbol_not_found");
        bench.fetches()
    };
    assert_eq!(absent(None).await, 1);
    bench.at(2);
    assert_eq!(absent(Some(0)).await, 1);
    bench.at(10);
    assert_eq!(absent(None).await, 1);
    // A caller that wants a newer answer asks again, after the floor.
    assert_eq!(absent(Some(9)).await, 2);
    bench.at(21);
    assert_eq!(absent(None).await, 3);
}

fn over_budget() -> Error {
    SourceError {
        source: "a",
        kind: SourceErrorKind::OverBudget { retry_after: 9 },
    }
    .into()
}

/// A newcomer that repeats a refused fetch does not keep the value from a payer with credit.
#[tokio::test]
async fn a_refusal_of_a_newcomers_budget_is_no_answer_for_others() {
    let bench = Bench::new();
    let newcomer = Meter::new(Caller::Newcomer);
    let refused = || async { Err(over_budget()) };
    let told = newcomer.scope(bench.cached.get("k", None, refused)).await;
    assert_eq!(told.unwrap_err(), over_budget());
    // Another newcomer gets the kept refusal.
    let kept = newcomer.scope(bench.get(None)).await;
    assert_eq!((kept.unwrap_err(), bench.fetches()), (over_budget(), 0));
    let payer = Meter::new(Caller::Credited);
    assert_eq!(payer.scope(bench.get(None)).await.unwrap().value, 0);
    // The value is for everybody.
    assert_eq!(newcomer.scope(bench.get(None)).await.unwrap().value, 0);
    // Another failure is one for everybody, too.
    bench.at(100);
    bench.fail().await.unwrap_err();
    assert_eq!(payer.scope(bench.get(None)).await.unwrap_err(), down());
}

#[tokio::test]
async fn a_payer_that_waits_behind_a_refused_newcomer_fetches_itself() {
    let bench = Bench::new();
    let refuse = Arc::new(Notify::new());
    let refused = || {
        let refuse = refuse.clone();
        async move {
            refuse.notified().await;
            Err(over_budget())
        }
    };
    let first = Meter::new(Caller::Newcomer);
    let first = first.scope(bench.cached.get("k", None, refused));
    let second = Meter::new(Caller::Newcomer);
    let second = second.scope(bench.get(None));
    let payer = Meter::new(Caller::Credited);
    let payer = payer.scope(bench.get(None));
    let end = async {
        assert_eq!(bench.fetches(), 0, "all wait behind the newcomer's fetch");
        refuse.notify_one();
    };
    let (first, second, payer, ()) = tokio::join!(first, second, payer, end);
    assert_eq!(payer.unwrap().value, 0);
    for told in [first, second] {
        // It may find the payer's value already.
        assert!(told.is_ok() || told.unwrap_err() == over_budget());
    }
    assert_eq!(bench.fetches(), 1);
}
