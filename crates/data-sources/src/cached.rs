//! A cache: for each key one caller fetches, and the others wait or take the kept value.
//!
//! It keeps values in memory, and evicts the least recently used ones. It knows ages, not
//! upstreams: `fetch` asks them, with their limits.

use std::{
    any::Any,
    future::Future,
    hash::Hash,
    marker::PhantomData,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use tokio::sync::watch;

use crate::{
    error::{Error, SourceError, SourceErrorKind},
    meter::{Caller, Meter},
    provenance::{Clock, SourceStatus, Sourced},
    recent::Recent,
};

/// How long a caller waits for a newer value while an older one could be served.
const PATIENCE: Duration = Duration::from_millis(250);

/// How long an absence is kept at most.
const ABSENCE_KEPT: Duration = Duration::from_secs(60);
/// The longest of the usual floors.
const LONGEST_FLOOR_MILLIS: u64 = 30_000;

/// How old a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ages {
    /// Up to this age the value is not fetched again, even for a caller that wants a newer one:
    /// that caller gets this value, with its age.
    pub floor: Duration,
    /// Up to this age the value is served as it is.
    pub fresh: Duration,
    /// Up to this age the value is served when a newer one is not available, and is marked as
    /// stale.
    pub stale: Duration,
    /// How long a failure is kept. Callers that wait behind a failed fetch do not start another one
    /// each.
    pub failure: Duration,
}

impl Ages {
    /// Ages with the usual floor: two seconds, or half of the time for which a value is fresh when
    /// that is less; a twentieth of that time when it is more, and at most half a minute.
    #[must_use]
    pub const fn new(fresh: Duration, stale: Duration) -> Self {
        let millis = fresh.as_secs().saturating_mul(1_000);
        let floor = match (millis / 2, millis / 20) {
            (half, _) if half < 2_000 => half,
            (_, twentieth) if twentieth < 2_000 => 2_000,
            (_, twentieth) if twentieth < LONGEST_FLOOR_MILLIS => twentieth,
            _ => LONGEST_FLOOR_MILLIS,
        };
        let floor = Duration::from_millis(floor);
        Self {
            floor,
            fresh,
            stale,
            failure: Duration::from_secs(2),
        }
    }

    /// Ages for a value that is fetched whenever it is needed: a repeated request within the floor
    /// gets the same value, with its age. An older value is never served.
    #[must_use]
    pub const fn floor(floor: Duration) -> Self {
        Self {
            floor,
            fresh: floor,
            stale: floor,
            failure: Duration::from_secs(2),
        }
    }

    /// [`Self::new`] in seconds.
    #[must_use]
    pub const fn seconds(fresh: u64, stale: u64) -> Self {
        Self::new(Duration::from_secs(fresh), Duration::from_secs(stale))
    }

    /// The same ages with another floor.
    #[must_use]
    pub const fn with_floor(self, seconds: u64) -> Self {
        Self {
            floor: Duration::from_secs(seconds),
            ..self
        }
    }
}

/// Values by key, at most as many as the capacity. Clones share them.
///
/// For each key one caller fetches. The fetch runs in its own task: a caller that goes away does
/// not end it for the others.
pub struct Cached<K, T, E = Error> {
    slots: Recent<K, Arc<Slot<E>>>,
    ages: Ages,
    clock: Arc<dyn Clock>,
    values: PhantomData<fn() -> T>,
}

/// A kept value without its type, so that the cache is compiled once and not for each type.
type AnyValue = Arc<dyn Any + Send + Sync>;

/// A fetch of such a value.
type Fetch<E> = Pin<Box<dyn Future<Output = Result<Sourced<AnyValue>, E>> + Send>>;

/// The reason why a fetch gives no value.
pub trait Failure: From<SourceError> + Clone + Send + Sync + 'static {
    /// The reason that accompanies an older value that is served instead.
    fn reason(&self) -> String;

    /// Whether the upstream did its work and the value does not exist.
    fn is_absence(&self) -> bool;

    /// Whether our own budget or quota kept the fetch back. It may have room for another caller.
    fn is_own_limit(&self) -> bool;
}

impl Failure for Error {
    fn reason(&self) -> String {
        self.reason()
    }

    fn is_absence(&self) -> bool {
        matches!(self, Self::NotFound { .. } | Self::NotPriced { .. })
    }

    fn is_own_limit(&self) -> bool {
        matches!(self, Self::Source(error) if error.kind.is_own_limit())
    }
}

struct Slot<E> {
    state: Mutex<State<E>>,
}

struct State<E> {
    value: Option<Held>,
    failure: Option<(Timestamp, E)>,
    flight: Option<watch::Receiver<()>>,
    /// Whether the last fetch ended without any outcome.
    broken_off: bool,
}

struct Held {
    at: Timestamp,
    sourced: Sourced<AnyValue>,
}

impl<K, T, E> Cached<K, T, E>
where
    K: Hash + Eq + Send + Sync + 'static,
    T: Clone + Send + Sync + 'static,
    E: Failure,
{
    /// An empty cache.
    pub fn new(capacity: usize, ages: Ages, clock: Arc<dyn Clock>) -> Self {
        Self {
            slots: Recent::new(capacity),
            ages,
            clock,
            values: PhantomData,
        }
    }

    /// The value of `key`: the kept one while it is fresh, and younger than `max_age` if that is
    /// given; otherwise the result of `fetch`. While an older value could be served, the caller
    /// waits for the newer one only for a moment; the next caller gets it.
    ///
    /// A value up to [`Ages::floor`] old is served to everybody, so it may be older than `max_age`:
    /// the caller compares. An absence is kept like a value, for a minute at most; any other
    /// failure is kept for [`Ages::failure`]. That a budget or quota had no room for a newcomer is
    /// no answer for a payer with credit, who fetches again.
    ///
    /// # Errors
    ///
    /// The failure of `fetch`, when no value young enough is kept.
    pub async fn get<F>(
        &self,
        key: K,
        max_age: Option<Duration>,
        fetch: impl FnOnce() -> F + Send,
    ) -> Result<Sourced<T>, E>
    where
        F: Future<Output = Result<Sourced<T>, E>> + Send + 'static,
    {
        let slot = self.slots.get_or_insert_with(key, Slot::empty);
        let fetch = || -> Fetch<E> {
            let fetch = fetch();
            Box::pin(async move { fetch.await.map(|told| told.map(untyped)) })
        };
        let told = slot
            .get(self.ages, &self.clock, max_age, Box::new(fetch))
            .await?;
        // Only this cache fills its slots, so the type is always the right one.
        typed(told).ok_or_else(|| interrupted().into())
    }

    /// The value that is kept under `key`, whatever its age, and when it was fetched.
    pub fn peek(&self, key: &K) -> Option<(Timestamp, Sourced<T>)> {
        let slot = self.slots.get(key)?;
        let state = slot.lock();
        let held = state.value.as_ref()?;
        Some((held.at, typed(held.served(None))?))
    }
}

impl<E: Failure> Slot<E> {
    /// [`Cached::get`] for the key of this slot, whatever the type of its values.
    async fn get(
        self: &Arc<Self>,
        ages: Ages,
        clock: &Arc<dyn Clock>,
        max_age: Option<Duration>,
        fetch: Box<dyn FnOnce() -> Fetch<E> + Send + '_>,
    ) -> Result<Sourced<AnyValue>, E> {
        // A failure that does not hold for this caller.
        let is_others = |error: &E| Meter::caller() == Caller::Credited && error.is_own_limit();
        let limit = max_age.unwrap_or(Duration::MAX);
        let fresh = ages.fresh.min(limit).max(ages.floor);
        let stale = ages.stale.min(limit);
        let started = clock.now();
        let (mut flight, joined, older) = {
            let mut state = self.lock();
            if let Some(held) = state
                .value
                .as_ref()
                .filter(|held| held.age(started) <= fresh)
            {
                return Ok(held.served(None));
            }
            let older = state
                .value
                .as_ref()
                .is_some_and(|held| held.age(started) <= stale);
            let failed = state.failure.as_ref().filter(|(at, error)| {
                let age = age(started, *at);
                let is_kept =
                    age < ages.failure || (error.is_absence() && age <= fresh.min(ABSENCE_KEPT));
                is_kept && !is_others(error)
            });
            if let Some((_, error)) = failed {
                return match &state.value {
                    Some(held) if older => Ok(held.served(Some(error.reason()))),
                    _ => Err(error.clone()),
                };
            }
            match &state.flight {
                Some(flight) => (flight.clone(), Some(fetch), older),
                None => (self.start(&mut state, clock, fetch()), None, older),
            }
        };
        let mut landed = land(&mut flight, older).await;
        if let Some(fetch) = joined.filter(|_| landed) {
            let own = {
                let mut state = self.lock();
                let failed = state.failure.as_ref();
                let is_others = failed.is_some_and(|(_, error)| is_others(error));
                is_others.then(|| self.start(&mut state, clock, fetch()))
            };
            if let Some(mut flight) = own {
                landed = land(&mut flight, older).await;
            }
        }
        let now = clock.now();
        let state = self.lock();
        match (&state.value, &state.failure) {
            // After a fetch that ended without an outcome, the old value is still in place,
            // whatever its age. It is not the outcome of the fetch.
            (Some(held), None) if landed && !state.broken_off => Ok(held.sourced.clone()),
            (Some(held), failure) if held.age(now) <= stale => {
                let reason = match failure {
                    Some((_, error)) => error.reason(),
                    None if state.broken_off => interrupted().kind.reason(),
                    None => SourceErrorKind::Refreshing.reason(),
                };
                Ok(held.served(Some(reason)))
            }
            (_, Some((_, error))) => Err(error.clone()),
            _ => Err(interrupted().into()),
        }
    }

    fn start(
        self: &Arc<Self>,
        state: &mut State<E>,
        clock: &Arc<dyn Clock>,
        fetch: Fetch<E>,
    ) -> watch::Receiver<()> {
        let (sender, receiver) = watch::channel(());
        state.flight = Some(receiver.clone());
        let (slot, clock) = (self.clone(), clock.clone());
        // The requests of the fetch count for the caller that starts it.
        let fetch = Meter::carry(fetch);
        tokio::spawn(async move {
            let mut landing = Landing {
                slot: slot.clone(),
                broken_off: true,
                _sender: sender,
            };
            let at = clock.now();
            let outcome = fetch.await;
            let mut state = slot.lock();
            match outcome {
                Ok(sourced) => {
                    state.value = Some(Held { at, sourced });
                    state.failure = None;
                }
                // Another fetch, which began later, may have succeeded meanwhile.
                Err(error) if state.value.as_ref().is_none_or(|held| held.at < at) => {
                    state.failure = Some((clock.now(), error));
                }
                Err(_) => {}
            }
            drop(state);
            landing.broken_off = false;
            drop(landing);
        });
        receiver
    }
}

/// Waits for the end of a fetch, and only for a moment while an older value could be served.
/// Returns whether it has ended.
async fn land(flight: &mut watch::Receiver<()>, older: bool) -> bool {
    // Nothing is sent through the channel. The end of its sender ends the wait.
    let landing = flight.wait_for(|()| false);
    if older {
        return tokio::time::timeout(PATIENCE, landing).await.is_ok();
    }
    drop(landing.await);
    true
}

/// Ends a flight however its task ends.
struct Landing<E> {
    slot: Arc<Slot<E>>,
    broken_off: bool,
    _sender: watch::Sender<()>,
}

impl<E> Drop for Landing<E> {
    fn drop(&mut self) {
        let mut state = self.slot.lock();
        state.flight = None;
        state.broken_off = self.broken_off;
    }
}

impl<E> Slot<E> {
    fn empty() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                value: None,
                failure: None,
                flight: None,
                broken_off: false,
            }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn age(&self, now: Timestamp) -> Duration {
        age(now, self.at)
    }

    /// The kept value; with a reason, it is marked as stale.
    fn served(&self, reason: Option<String>) -> Sourced<AnyValue> {
        let mut served = self.sourced.clone();
        for source in &mut served.sources {
            source.cached = true;
            source.latency_ms = 0;
            if let (Some(reason), SourceStatus::Ok) = (&reason, &source.status) {
                let reason = reason.clone();
                source.status = SourceStatus::Stale { reason };
            }
        }
        served
    }
}

fn untyped<T: Send + Sync + 'static>(value: T) -> AnyValue {
    Arc::new(value)
}

/// A copy of the value as a `T`; `None` when it is of another type.
fn typed<T: Clone + 'static>(told: Sourced<AnyValue>) -> Option<Sourced<T>> {
    let value = told.value.downcast_ref::<T>()?.clone();
    Some(Sourced {
        value,
        sources: told.sources,
    })
}

/// Time since `then`; zero when the clock went back.
fn age(now: Timestamp, then: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(then)).unwrap_or(Duration::ZERO)
}

fn interrupted() -> SourceError {
    SourceError {
        source: "cache",
        kind: SourceErrorKind::Unreachable,
    }
}

impl<K, T, E> Clone for Cached<K, T, E> {
    fn clone(&self) -> Self {
        Self {
            slots: self.slots.clone(),
            ages: self.ages,
            clock: self.clock.clone(),
            values: PhantomData,
        }
    }
}

impl<K, T, E> std::fmt::Debug for Cached<K, T, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cached")
            .field("ages", &self.ages)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
