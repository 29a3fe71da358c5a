//! The counters of quotas: kept in a store in slices, so that a call seldom waits for one.
//!
//! [`Quota`](super::quota::Quota) computes how many calls are due; this module counts them.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use jiff::Timestamp;

use super::{
    QuotaSpec, QuotaState, QuotaStore, QuotaStoreError, common,
    quota::{Period, Quota},
};
use crate::{
    error::SourceErrorKind,
    meter::{Caller, Meter},
    provenance::Clock,
};

/// Seconds after which a counter that could not be stored is tried again.
const STORE_PAUSE: u64 = 60;
/// Most calls of a slice.
const MAX_SLICE: u64 = 100;

/// The quotas of one upstream.
///
/// Calls are added to the store before they are made, a slice of a thousandth of the quota at a
/// time (at least 1 and at most 100 calls). A crash therefore counts at most a slice too many, and
/// never too few. When the store fails, no further slice is granted and calls are refused.
pub(crate) struct Quotas {
    counters: Vec<Counter>,
    store: OnceLock<Arc<dyn QuotaStore>>,
    clock: Arc<dyn Clock>,
}

struct Counter {
    name: String,
    quota: Quota,
    /// Whether it counts the calls of newcomers only.
    of_newcomers: bool,
    reserved: Mutex<Reserved>,
    /// Held while a slice is fetched, so that one call fetches it for all.
    fetching: tokio::sync::Mutex<()>,
}

/// The state of one counter.
#[derive(Clone, Copy, Debug)]
struct Reserved {
    /// When its period began.
    period: Timestamp,
    /// The total in the store, our slice included.
    total: u64,
    /// Calls of our slice that were not made yet.
    left: u64,
}

enum Taken {
    Yes,
    /// No calls are left in the slice.
    Empty,
}

impl Quotas {
    /// Counters at zero. Of each quota, `reserved_percent` is not for newcomers.
    pub(crate) fn new(
        upstream: &str,
        spec: QuotaSpec,
        reserved_percent: u8,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let counter = |(period, calls, of_newcomers): (Period, u64, bool)| Counter {
            name: match of_newcomers {
                true => format!("{upstream}.{}.newcomers", period.name()),
                false => format!("{upstream}.{}", period.name()),
            },
            quota: Quota { period, calls },
            of_newcomers,
            reserved: Mutex::new(Reserved {
                period: period.around(clock.now()).0,
                total: 0,
                left: 0,
            }),
            fetching: tokio::sync::Mutex::new(()),
        };
        let quotas = [(Period::Day, spec.daily), (Period::Month, spec.monthly)];
        let counted = |(period, calls)| {
            let newcomers = (period, common(calls, reserved_percent), true);
            let newcomers = (reserved_percent > 0).then_some(newcomers);
            std::iter::once((period, calls, false)).chain(newcomers)
        };
        Self {
            counters: quotas
                .into_iter()
                .flat_map(counted)
                .filter(|(_, calls, _)| *calls > 0)
                .map(counter)
                .collect(),
            store: OnceLock::new(),
            clock,
        }
    }

    /// From now on, keeps the counters in `store`, and continues from the stored values. The first
    /// store stays.
    pub(crate) async fn keep_in(&self, store: Arc<dyn QuotaStore>) -> Result<(), QuotaStoreError> {
        let store = self.store.get_or_init(|| store);
        for counter in &self.counters {
            let _fetching = counter.fetching.lock().await;
            let known = counter.now(self.clock.now());
            let total = store
                .add(&counter.name, seconds(known.period), known.total)
                .await?;
            let mut reserved = counter.lock();
            let left = match reserved.period == known.period {
                true => reserved.left,
                false => known.left,
            };
            *reserved = Reserved {
                total,
                left,
                ..known
            };
        }
        Ok(())
    }

    /// Refuses when a quota is spent, or ahead of its pace.
    pub(crate) fn check(&self) -> Result<(), SourceErrorKind> {
        let now = self.clock.now();
        self.of_caller()
            .try_for_each(|counter| counter.check(&counter.now(now), now))
    }

    /// The counters that count the calls of the present caller.
    fn of_caller(&self) -> impl Iterator<Item = &Counter> {
        let is_new = Meter::caller() == Caller::Newcomer;
        let counters = self.counters.iter();
        counters.filter(move |counter| is_new || !counter.of_newcomers)
    }

    /// Takes one call of each quota.
    pub(crate) async fn take(&self) -> Result<(), SourceErrorKind> {
        for counter in self.of_caller() {
            let now = self.clock.now();
            while let Taken::Empty = counter.take(now)? {
                self.fetch(counter, now).await?;
            }
        }
        Ok(())
    }

    /// Fetches a further slice for a counter whose last slice is used up.
    async fn fetch(&self, counter: &Counter, now: Timestamp) -> Result<(), SourceErrorKind> {
        let _fetching = counter.fetching.lock().await;
        let reserved = counter.now(now);
        if reserved.left > 0 {
            // Another call has fetched a slice.
            return Ok(());
        }
        let calls = counter.quota.calls;
        let slice = (calls / 1_000).clamp(1, MAX_SLICE);
        let total = match self.store.get() {
            Some(store) => store
                .add(&counter.name, seconds(reserved.period), slice)
                .await
                .map_err(|error| {
                    tracing::error!(counter = %counter.name, %error, "no calls without a counter");
                    SourceErrorKind::QuotaSpent {
                        retry_after: STORE_PAUSE,
                    }
                })?,
            None => reserved.total.saturating_add(slice),
        };
        let beyond = total.saturating_sub(calls);
        *counter.lock() = Reserved {
            total,
            left: slice.saturating_sub(beyond),
            ..reserved
        };
        if beyond >= slice {
            return counter.check(&counter.now(now), now);
        }
        Ok(())
    }

    /// The quota with the fewest calls left.
    pub(crate) fn state(&self) -> Option<QuotaState> {
        let now = self.clock.now();
        let state = |counter: &Counter| QuotaState {
            left: counter.quota.calls.saturating_sub(counter.now(now).used()),
            limit: counter.quota.calls,
            resets_at: counter.quota.period.around(now).1,
        };
        self.counters
            .iter()
            .filter(|counter| !counter.of_newcomers)
            .map(state)
            .min_by_key(|state| state.left)
    }
}

impl Counter {
    fn take(&self, now: Timestamp) -> Result<Taken, SourceErrorKind> {
        let mut reserved = self.lock();
        *reserved = self.rolled(*reserved, now);
        self.check(&reserved, now)?;
        if reserved.left == 0 {
            return Ok(Taken::Empty);
        }
        reserved.left -= 1;
        Ok(Taken::Yes)
    }

    fn check(&self, reserved: &Reserved, now: Timestamp) -> Result<(), SourceErrorKind> {
        let used = reserved.used();
        if used < self.quota.share(now) {
            return Ok(());
        }
        Err(SourceErrorKind::QuotaSpent {
            retry_after: self.quota.wait(used, now),
        })
    }

    fn now(&self, now: Timestamp) -> Reserved {
        self.rolled(*self.lock(), now)
    }

    /// A new period starts from zero. A clock that was set back does not start an old period again.
    fn rolled(&self, reserved: Reserved, now: Timestamp) -> Reserved {
        let (period, _) = self.quota.period.around(now);
        if period <= reserved.period {
            return reserved;
        }
        Reserved {
            period,
            total: 0,
            left: 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Reserved> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reserved {
    fn used(&self) -> u64 {
        self.total.saturating_sub(self.left)
    }
}

fn seconds(time: Timestamp) -> u64 {
    u64::try_from(time.as_second()).unwrap_or(0)
}

impl fmt::Debug for Quotas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quotas")
            .field("kept", &self.store.get().is_some())
            .finish_non_exhaustive()
    }
}
