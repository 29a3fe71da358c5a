//! The parts of a settlement's time: its durable writes, its signature, and its requests to the
//! node.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use alloy_primitives::{Address, Bytes};
use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use tx_sender::{
    Fence, Lane, LocalKey, Record, SignFuture, SqliteStore, Store, StoreFuture, Takeover,
    TransactionSigner, Unsigned,
};

use crate::measure::Quantity;

/// Nanoseconds, summed.
#[derive(Debug, Default)]
pub(super) struct Sum(AtomicU64);

impl Sum {
    fn add(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_add(nanos, Ordering::Relaxed);
    }

    fn take(&self) -> Quantity {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl HistogramFn for Sum {
    fn record(&self, value: f64) {
        self.add(Duration::try_from_secs_f64(value).unwrap_or_default());
    }
}

/// The node's time for each method, according to the settler's own metrics.
#[derive(Debug, Default)]
struct Calls(Mutex<BTreeMap<String, Arc<Sum>>>);

impl Recorder for Calls {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let Some(method) = key.labels().find(|label| label.key() == "method") else {
            return Histogram::noop();
        };
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = calls.entry(method.value().to_owned()).or_default();
        Histogram::from_arc(Arc::clone(sum))
    }
}

fn calls() -> &'static Calls {
    static CALLS: OnceLock<Arc<Calls>> = OnceLock::new();
    CALLS.get_or_init(|| {
        let calls = Arc::new(Calls::default());
        if metrics::set_global_recorder(Arc::clone(&calls)).is_err() {
            eprintln!("  another recorder is set: the node's part is not measured");
        }
        calls
    })
}

/// The parts of the settlements since the last reading.
#[derive(Debug, Clone, Default)]
pub(super) struct Parts {
    store: Arc<Sum>,
    signing: Arc<Sum>,
}

impl Parts {
    pub(super) fn new() -> Self {
        calls();
        Self::default()
    }

    pub(super) fn store(&self, store: SqliteStore) -> Timed<SqliteStore> {
        Timed(store, Arc::clone(&self.store))
    }

    pub(super) fn signer(&self, key: LocalKey) -> Timed<LocalKey> {
        Timed(key, Arc::clone(&self.signing))
    }

    /// The share of each of this many settlements. Parts of concurrent settlements overlap.
    pub(super) fn of_each(&self, settlements: u64) -> Each {
        let each = |nanos: Quantity| Duration::from_nanos(nanos / settlements.max(1));
        let (mut sending, mut proof, mut other) = (0, 0, 0_u64);
        let calls = calls().0.lock().unwrap_or_else(PoisonError::into_inner);
        for (method, sum) in calls.iter() {
            let part = match method.as_str() {
                "eth_sendRawTransaction" => &mut sending,
                "eth_getTransactionReceipt" | "eth_getBlockByNumber" => &mut proof,
                _ => &mut other,
            };
            *part = part.saturating_add(sum.take());
        }
        Each {
            store: each(self.store.take()),
            signing: each(self.signing.take()),
            estimates: each(other),
            sending: each(sending),
            proof: each(proof),
        }
    }
}

/// The parts of one settlement.
pub(super) struct Each {
    store: Duration,
    signing: Duration,
    estimates: Duration,
    sending: Duration,
    proof: Duration,
}

impl fmt::Display for Each {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "store {} µs, signing {} µs, RPC: reads {} µs, sending {} µs, blocks and receipts {} µs",
            self.store.as_micros(),
            self.signing.as_micros(),
            self.estimates.as_micros(),
            self.sending.as_micros(),
            self.proof.as_micros()
        )
    }
}

/// A port whose answers are timed.
pub(super) struct Timed<T>(T, Arc<Sum>);

impl<T> Timed<T> {
    async fn time<R>(&self, answer: impl Future<Output = R> + Send) -> R {
        let began = Instant::now();
        let answer = answer.await;
        self.1.add(began.elapsed());
        answer
    }
}

impl TransactionSigner for Timed<LocalKey> {
    fn account(&self) -> Address {
        self.0.account()
    }

    fn sign<'a>(&'a self, unsigned: &'a Unsigned) -> SignFuture<'a, Bytes> {
        Box::pin(async move { self.time(self.0.sign(unsigned)).await })
    }
}

impl Store for Timed<SqliteStore> {
    fn acquire(
        &self,
        lane: Lane,
        holder: &str,
        now: u64,
        seconds: u64,
        takeover: Takeover,
    ) -> StoreFuture<'_, Option<Fence>> {
        let acquired = self.0.acquire(lane, holder, now, seconds, takeover);
        Box::pin(self.time(acquired))
    }

    fn give_back(&self, fence: Fence, holder: &str) -> StoreFuture<'_, ()> {
        Box::pin(self.time(self.0.give_back(fence, holder)))
    }

    fn insert(&self, record: Record) -> StoreFuture<'_, Record> {
        Box::pin(self.time(self.0.insert(record)))
    }

    fn get(&self, key: &str) -> StoreFuture<'_, Option<Record>> {
        Box::pin(self.time(self.0.get(key)))
    }

    fn live(&self, lane: Lane) -> StoreFuture<'_, Vec<Record>> {
        Box::pin(self.time(self.0.live(lane)))
    }

    fn lanes(&self) -> StoreFuture<'_, Vec<Lane>> {
        Box::pin(self.time(self.0.lanes()))
    }

    fn write(&self, fence: Fence, records: Vec<Record>) -> StoreFuture<'_, Vec<Record>> {
        Box::pin(self.time(self.0.write(fence, records)))
    }

    fn amend(&self, record: Record) -> StoreFuture<'_, Record> {
        Box::pin(self.time(self.0.amend(record)))
    }

    fn prune(&self, submitted_before: u64) -> StoreFuture<'_, u64> {
        Box::pin(self.time(self.0.prune(submitted_before)))
    }
}
