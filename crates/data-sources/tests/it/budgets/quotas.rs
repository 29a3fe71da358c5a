//! Quotas of months and days: paced, and kept in a store.

use std::time::Duration;
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use data_sources::{
    Caller, Meter, QuotaStore, QuotaStoreError, SourceConfig, SourceErrorKind, Stored,
    coingecko::Coingecko, coinpaprika::Coinpaprika,
};
use jiff::Timestamp;
use readings::symbol::SymbolKey;
use serde_json::json;
use test_support::ManualClock;
use wiremock::{MockServer, ResponseTemplate};

use crate::budgets::{NOW, answering, config, recorded_clock, request_count, transport};

/// A store in memory, for counters and windows that outlive an adapter. A test can make it fail.
#[derive(Default)]
pub(crate) struct Store {
    counters: Mutex<BTreeMap<(String, u64), u64>>,
    /// The used weight of windows, by family and slice.
    pub(crate) windows: Mutex<BTreeMap<(String, u64), u64>>,
    additions: Mutex<Vec<u64>>,
    broken: AtomicBool,
}

impl QuotaStore for Store {
    fn add<'a>(&'a self, name: &'a str, period: u64, calls: u64) -> Stored<'a, u64> {
        Box::pin(async move {
            self.works()?;
            self.additions.lock().unwrap().push(calls);
            let mut counters = self.counters.lock().unwrap();
            let counter = counters.entry((name.to_owned(), period)).or_default();
            *counter += calls;
            Ok(*counter)
        })
    }

    fn spend<'a>(
        &'a self,
        family: &'a str,
        slice: u64,
        weight: u64,
        oldest: u64,
    ) -> Stored<'a, ()> {
        Box::pin(async move {
            self.works()?;
            let mut windows = self.windows.lock().unwrap();
            *windows.entry((family.to_owned(), slice)).or_default() += weight;
            windows.retain(|(of, slice), _| of != family || *slice >= oldest);
            Ok(())
        })
    }

    fn spent<'a>(&'a self, family: &'a str, oldest: u64) -> Stored<'a, Vec<(u64, u64)>> {
        Box::pin(async move {
            self.works()?;
            let windows = self.windows.lock().unwrap();
            let of = windows
                .iter()
                .filter(|((of, slice), _)| of == family && *slice >= oldest);
            Ok(of.map(|((_, slice), weight)| (*slice, *weight)).collect())
        })
    }
}

impl Store {
    fn works(&self) -> Result<(), QuotaStoreError> {
        if self.broken.load(Ordering::SeqCst) {
            let code = "database_busy";
            return Err(QuotaStoreError { code });
        }
        Ok(())
    }

    pub(crate) fn breaks(&self) {
        self.broken.store(true, Ordering::SeqCst);
    }

    fn kept(&self) -> Vec<(String, u64, u64)> {
        let counters = self.counters.lock().unwrap();
        let row = |((name, period), calls): (&(String, u64), &u64)| (name.clone(), *period, *calls);
        counters.iter().map(row).collect()
    }
}

struct Bench {
    server: MockServer,
    clock: ManualClock,
    store: Arc<Store>,
}

impl Bench {
    async fn new() -> Self {
        let body = json!({"currencies": []});
        Self {
            server: answering(ResponseTemplate::new(200).set_body_json(body)).await,
            clock: recorded_clock(),
            store: Arc::default(),
        }
    }

    /// A freshly started server.
    async fn start(&self, change: impl FnOnce(&mut SourceConfig)) -> Coinpaprika {
        let mut config = config(&self.server, Coinpaprika::SPEC.urls);
        change(&mut config);
        let upstream = Coinpaprika::new(&transport(), config, self.clock.shared()).unwrap();
        upstream
            .source()
            .keep_limits(self.store.clone())
            .await
            .unwrap();
        upstream
    }

    /// Asks for new symbols until one is refused, but for at most `most`.
    async fn spend(&self, upstream: &Coinpaprika, most: usize) -> (usize, Option<SourceErrorKind>) {
        for served in 0..most {
            // The budget of the minute is not tested here.
            self.clock.advance(Duration::from_secs(3));
            let symbol = SymbolKey::new(&format!("x{}", self.clock_millis())).unwrap();
            match upstream.coin(&symbol, None).await.unwrap_err() {
                data_sources::Error::Source(error) => return (served, Some(error.kind)),
                _ => continue,
            }
        }
        (most, None)
    }

    fn clock_millis(&self) -> i64 {
        self.clock.shared().now().as_millisecond()
    }
}

fn month() -> u64 {
    let november: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
    u64::try_from(november.as_second()).unwrap()
}

#[tokio::test]
async fn a_quota_survives_a_restart_and_a_crash_only_overcounts() {
    let bench = Bench::new().await;
    let first = bench.start(|_| {}).await;
    assert_eq!(bench.spend(&first, 25).await, (25, None));
    // The first adapter took two slices of 20 calls and made 25 of them. The other 15 are lost with
    // it.
    let counter = ("coinpaprika.month".to_owned(), month(), 40);
    assert_eq!(bench.store.kept(), [counter]);
    assert_eq!(*bench.store.additions.lock().unwrap(), [0, 20, 20]);
    let left = |upstream: &Coinpaprika| upstream.source().quota().unwrap().left;
    assert_eq!(left(&first), 20_000 - 25);
    drop(first);
    let second = bench.start(|_| {}).await;
    assert_eq!(left(&second), 20_000 - 40);
    let quota = second.source().quota().unwrap();
    assert_eq!(quota.resets_at.to_string(), "2026-12-01T00:00:00Z");
    let health = &second.source().health()[0];
    assert_eq!(health.quota_left, Some(19_960));
    assert_eq!(health.quota_resets_at, Some(quota.resets_at));
}

#[tokio::test]
async fn a_month_is_not_spent_in_a_day() {
    let bench = Bench::new().await;
    // 60 calls a month are two a day. By the 21st 40 are due, and 6 more may be used ahead of time.
    let upstream = bench.start(|config| config.monthly_quota = Some(60)).await;
    let (served, refused) = bench.spend(&upstream, 100).await;
    assert_eq!((served, request_count(&bench.server).await), (46, 46));
    let Some(SourceErrorKind::QuotaSpent { retry_after }) = refused else {
        panic!("{refused:?}");
    };
    assert!((1..=43_200).contains(&retry_after), "{retry_after}");
    assert_eq!(refused.unwrap().reason(), "upstream_quota_spent");
    // A restart changes nothing.
    let again = bench.start(|config| config.monthly_quota = Some(60)).await;
    assert_eq!(bench.spend(&again, 1).await.0, 0);
    bench.clock.advance(Duration::from_secs(retry_after));
    assert_eq!(bench.spend(&again, 5).await.0, 1);
    // The next month begins with its own burst.
    bench.clock.advance(Duration::from_secs(10 * 86_400));
    assert_eq!(bench.spend(&again, 100).await.0, 6);
    assert_eq!(bench.store.kept().len(), 2);
}

#[tokio::test]
async fn days_months_and_servers_are_configuration() {
    let bench = Bench::new().await;
    let both = bench
        .start(|config| {
            config.monthly_quota = Some(0);
            config.daily_quota = Some(200);
            config.servers = 2.try_into().unwrap();
        })
        .await;
    let quota = both.source().quota().unwrap();
    assert_eq!(
        (quota.limit, quota.resets_at.as_second()),
        (100, NOW - NOW % 86_400 + 86_400)
    );
    // An hour after midnight 4 calls are due, and 10 more may be used ahead of time.
    assert_eq!(bench.spend(&both, 100).await.0, 14);
    // Servers that count together have one quota, which nothing divides.
    let together = bench
        .start(|config| {
            config.monthly_quota = Some(60);
            config.servers = 2.try_into().unwrap();
            config.quotas_are_shared = true;
        })
        .await;
    assert_eq!(together.source().quota().unwrap().limit, 60);
    let none = bench.start(|config| config.monthly_quota = Some(0)).await;
    assert_eq!(none.source().quota(), None);
    assert_eq!(bench.spend(&none, 20).await.0, 20);
    // The usual quota of CoinGecko is that of the free plan.
    let plan = |plan: Option<&str>| {
        let mut config = config(&bench.server, Coingecko::SPEC.urls);
        let plan = plan.map(|plan| ("plan".to_owned(), plan.to_owned()));
        config.options.extend(plan);
        let coingecko = Coingecko::new(&transport(), config, bench.clock.shared()).unwrap();
        coingecko.source().quota().map(|quota| quota.limit)
    };
    assert_eq!((plan(None), plan(Some("pro"))), (Some(10_000), None));
}

#[tokio::test]
async fn newcomers_leave_a_part_of_a_quota_to_others() {
    let bench = Bench::new().await;
    let change = |config: &mut SourceConfig| {
        config.monthly_quota = Some(60);
        config.reserved_percent = 20;
    };
    let upstream = bench.start(change).await;
    let newcomer = Meter::new(Caller::Newcomer);
    // Of the 48 calls for newcomers 32 are due, and 4 more may be used ahead of time.
    let (served, refused) = newcomer.scope(bench.spend(&upstream, 100)).await;
    assert_eq!(served, 36);
    assert_eq!(refused.unwrap().reason(), "upstream_quota_spent");
    // A restart changes nothing.
    let again = bench.start(change).await;
    assert_eq!(newcomer.scope(bench.spend(&again, 1)).await.0, 0);
    let quota = again.source().quota().unwrap();
    assert_eq!((quota.left, quota.limit), (24, 60));
    // Of all 60, 46 may be used by now.
    let payer = Meter::new(Caller::Credited);
    assert_eq!(payer.scope(bench.spend(&again, 100)).await.0, 10);
    assert_eq!(request_count(&bench.server).await, 46);
}

#[tokio::test]
async fn servers_that_share_a_store_share_the_counter() {
    let bench = Bench::new().await;
    let sixty = |config: &mut SourceConfig| config.monthly_quota = Some(60);
    let (one, other) = (bench.start(sixty).await, bench.start(sixty).await);
    assert_eq!(bench.spend(&one, 30).await.0, 30);
    assert_eq!(bench.spend(&other, 100).await.0, 16);
    assert_eq!(request_count(&bench.server).await, 46);
}

#[tokio::test]
async fn a_quota_without_its_counter_is_not_spent() {
    let bench = Bench::new().await;
    let upstream = bench.start(|_| {}).await;
    assert_eq!(bench.spend(&upstream, 15).await.0, 15);
    bench.store.broken.store(true, Ordering::SeqCst);
    // The rest of the slice is used, and no more.
    let (served, refused) = bench.spend(&upstream, 100).await;
    assert_eq!((served, refused.unwrap().retry_after()), (5, Some(60)));
    bench.store.broken.store(false, Ordering::SeqCst);
    assert_eq!(bench.spend(&upstream, 25).await.0, 25);
}
