use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use data_sources::{Error, Provenance, SourceError, SourceErrorKind};
use storage::{SqliteStore, StoreOptions};
use test_support::ManualClock;

use super::*;
use crate::snapshots::{Absent, Gathered, Pace};

fn recorded_clock() -> ManualClock {
    ManualClock::at("2026-11-21T01:02:00Z".parse().unwrap())
}

/// Counts its gatherings. Fails while a test breaks it.
#[derive(Clone, Default)]
struct Counter {
    gathered: Arc<AtomicUsize>,
    broken: Arc<Mutex<bool>>,
}

impl Dataset for Counter {
    const NAME: &'static str = "counter";
    const PACE: Pace = Pace::HOURLY;
    type Value = usize;

    fn source_ids(&self) -> Vec<&'static str> {
        vec!["test.counter"]
    }

    async fn gather(&self, now: Timestamp) -> Result<Gathered<usize>, Error> {
        if *self.broken.lock().unwrap() {
            let kind = SourceErrorKind::Unreachable;
            return Err(Error::Source(SourceError {
                source: "test.counter",
                kind,
            }));
        }
        let value = self.gathered.fetch_add(1, Ordering::SeqCst) + 1;
        Ok(Gathered {
            value,
            sources: vec![Provenance::local("test.counter", now)],
            inputs_sha256: [1; 32],
        })
    }
}

struct Bench {
    _folder: tempfile::TempDir,
    store: Arc<SqliteStore>,
    clock: ManualClock,
    dataset: Counter,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store =
            SqliteStore::open(folder.path().join("store.db"), StoreOptions::default()).unwrap();
        Self {
            _folder: folder,
            store: Arc::new(store),
            clock: recorded_clock(),
            dataset: Counter::default(),
        }
    }

    fn job(&self, holder: &str) -> Job<Counter, SqliteStore> {
        let clock = Arc::new(self.clock.clone());
        Job::new(
            self.dataset.clone(),
            self.store.clone(),
            clock,
            holder.to_owned(),
        )
    }

    fn break_upstreams(&self, broken: bool) {
        *self.dataset.broken.lock().unwrap() = broken;
    }

    async fn read(&self, current: &Current<usize>) -> Result<usize, Absent> {
        let snapshot = current
            .within(Counter::PACE.refused, self.clock.now())
            .await;
        snapshot.map(|snapshot| snapshot.value)
    }
}

#[tokio::test]
async fn one_edition_in_each_period() {
    let bench = Bench::new();
    let job = bench.job("one");
    let current = job.current();
    assert_eq!(job.boot().await, Round::Published);
    assert_eq!(bench.read(&current).await, Ok(1));
    assert_eq!(job.round().await, Round::Followed);
    bench.clock.advance(Duration::from_secs(60 * 60));
    assert_eq!(job.round().await, Round::Published);
    assert_eq!(bench.read(&current).await, Ok(2));
}

#[tokio::test]
async fn a_failure_keeps_the_edition_until_it_is_too_old() {
    let bench = Bench::new();
    let job = bench.job("one");
    let current = job.current();
    job.boot().await;
    bench.break_upstreams(true);
    bench.clock.advance(Duration::from_secs(5 * 60 * 60));
    let kept = Round::Kept {
        reason: "upstream_unreachable".into(),
    };
    assert_eq!(job.round().await, kept);
    assert_eq!(bench.read(&current).await, Ok(1));
    bench.clock.advance(Duration::from_secs(59 * 60));
    assert_eq!(bench.read(&current).await, Ok(1));
    bench.clock.advance(Duration::from_secs(60));
    assert_eq!(
        bench.read(&current).await,
        Err(Absent::TooOld {
            age_seconds: 6 * 3600
        })
    );
    bench.break_upstreams(false);
    assert_eq!(job.round().await, Round::Published);
    assert_eq!(bench.read(&current).await, Ok(2));
}

#[tokio::test]
async fn a_restart_begins_with_the_store() {
    let bench = Bench::new();
    bench.job("one").boot().await;
    bench.break_upstreams(true);
    bench.clock.advance(Duration::from_secs(90 * 60));
    let restarted = bench.job("one");
    let current = restarted.current();
    assert!(matches!(restarted.boot().await, Round::Kept { .. }));
    let snapshot = current.latest().unwrap();
    assert_eq!(
        (snapshot.value, snapshot.age_seconds(bench.clock.now())),
        (1, 90 * 60)
    );
    assert!(snapshot.sources.iter().all(|source| source.cached));
}

#[tokio::test]
async fn only_one_of_two_servers_gathers() {
    let bench = Bench::new();
    let (one, two) = (bench.job("one"), bench.job("two"));
    let (first, second) = tokio::join!(one.boot(), two.boot());
    let outcomes = [first, second];
    assert!(outcomes.contains(&Round::Published), "{outcomes:?}");
    assert_eq!(
        bench.dataset.gathered.load(Ordering::SeqCst),
        1,
        "{outcomes:?}"
    );
    // The server that waited finds the edition in its next round.
    one.round().await;
    two.round().await;
    assert_eq!(bench.dataset.gathered.load(Ordering::SeqCst), 1);
    assert_eq!(
        (
            bench.read(&one.current()).await,
            bench.read(&two.current()).await
        ),
        (Ok(1), Ok(1))
    );
}

#[tokio::test]
async fn a_lease_that_is_held_elsewhere_is_waited_for() {
    let bench = Bench::new();
    let now = u64::try_from(bench.clock.now().as_second()).unwrap();
    assert!(
        bench
            .store
            .lease("counter", "another", now, 60)
            .await
            .unwrap()
    );
    let job = bench.job("one");
    assert_eq!(job.boot().await, Round::Waiting);
    assert_eq!(bench.read(&job.current()).await, Err(Absent::Never));
    // The other server died: its lease expires.
    bench.clock.advance(Duration::from_secs(2 * 60));
    assert_eq!(job.round().await, Round::Published);
}

#[tokio::test]
async fn readers_wait_for_the_first_edition() {
    let bench = Bench::new();
    let job = bench.job("one");
    let current = job.current();
    let (read, _) = tokio::join!(bench.read(&current), job.boot());
    assert_eq!(read, Ok(1));
    assert_eq!(bench.read(&Current::nothing()).await, Err(Absent::Never));
}
