//! The provenance of a value, and the clock that gives its age. The values are rendered into `meta`
//! by the servers.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use jiff::Timestamp;

use crate::error::SourceError;

/// One source that took part in an answer: an element of `meta.sources` of every paid route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The name of the source, for example `okx.market-price`.
    pub source: &'static str,
    /// The source's contribution.
    pub status: SourceStatus,
    /// The upstream's own time of the data; `None` when it does not state one.
    pub as_of: Option<Timestamp>,
    /// When the answer was received.
    pub fetched_at: Timestamp,
    /// How long the call took, in milliseconds; `0` for an answer from the cache or built locally.
    pub latency_ms: u64,
    /// Whether the answer came from the network or from a recording.
    pub mode: Mode,
    /// Whether the answer was kept from an earlier call.
    pub cached: bool,
    /// Whether the data only describes a thing (a name, a unit, an interface) and not its current
    /// state. The age of such data does not count as the age of an answer.
    pub reference: bool,
}

impl Provenance {
    /// The provenance of a value that is made locally.
    pub fn local(source: &'static str, now: Timestamp) -> Self {
        Self {
            source,
            status: SourceStatus::Ok,
            as_of: Some(now),
            fetched_at: now,
            latency_ms: 0,
            mode: Mode::Live,
            cached: false,
            reference: false,
        }
    }

    /// A source that could not be asked or did not answer.
    pub fn unavailable(error: &SourceError, mode: Mode, now: Timestamp) -> Self {
        Self {
            source: error.source,
            status: SourceStatus::Unavailable {
                reason: error.kind.reason(),
            },
            as_of: None,
            fetched_at: now,
            latency_ms: 0,
            mode,
            cached: false,
            reference: false,
        }
    }
}

/// The contribution of a source to an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceStatus {
    /// It answered and the answer passed its checks.
    Ok,
    /// No newer answer was available; this one is older than its time to live.
    Stale {
        /// The reason why it was not refreshed, as in [`SourceStatus::Unavailable`].
        reason: String,
    },
    /// It contributed nothing.
    Unavailable {
        /// A code such as `upstream_timeout` or `upstream_http_403`.
        reason: String,
    },
}

impl SourceStatus {
    /// `ok`, `stale` or `unavailable`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Stale { .. } => "stale",
            Self::Unavailable { .. } => "unavailable",
        }
    }

    /// The reason why the source is not `ok`.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Ok => None,
            Self::Stale { reason } | Self::Unavailable { reason } => Some(reason),
        }
    }
}

/// Where the answers of an upstream come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The upstream itself.
    #[default]
    Live,
    /// Recorded answers served locally; `meta.sources[].mode` says so.
    Replay,
}

impl Mode {
    /// `live` or `replay`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Replay => "replay",
        }
    }
}

/// A checked value with every source that took part in it, core source first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Its sources.
    pub sources: Vec<Provenance>,
}

impl<T> Sourced<T> {
    /// Changes the value; its sources stay.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Sourced<U> {
        Sourced {
            value: change(self.value),
            sources: self.sources,
        }
    }

    /// The name of the first source; empty without one.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.sources.first().map_or("", |source| source.source)
    }

    /// Marks every source as reference data, whose age does not count.
    #[must_use]
    pub fn as_reference(mut self) -> Self {
        for source in &mut self.sources {
            source.reference = true;
        }
        self
    }

    /// Sets the upstream's own time of the data.
    #[must_use]
    pub fn as_of(mut self, time: Option<Timestamp>) -> Self {
        for source in &mut self.sources {
            source.as_of = time;
        }
        self
    }
}

/// The wall clock, passed in so that ages, deadlines and signatures can be tested.
pub trait Clock: Send + Sync + 'static {
    /// The present time.
    fn now(&self) -> Timestamp;

    /// Time since a fixed moment. Budgets are measured by it, so it should neither jump nor go
    /// back. The default is the time since 1970.
    fn monotonic(&self) -> Duration {
        Duration::try_from(self.now().duration_since(Timestamp::UNIX_EPOCH)).unwrap_or_default()
    }
}

/// The clock of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}

/// A clock that starts at a given time and runs from there: the time in a world of recordings.
#[derive(Clone, Copy, Debug)]
pub struct ClockFrom {
    start: Timestamp,
    since: Instant,
}

impl ClockFrom {
    /// A clock that shows `start` now.
    pub fn new(start: Timestamp) -> Self {
        Self {
            start,
            since: Instant::now(),
        }
    }
}

impl Clock for ClockFrom {
    fn now(&self) -> Timestamp {
        self.start
            .checked_add(self.since.elapsed())
            .unwrap_or(self.start)
    }

    fn monotonic(&self) -> Duration {
        self.since.elapsed()
    }
}

/// A clock that does not move, for tests and replays.
impl Clock for Timestamp {
    fn now(&self) -> Timestamp {
        *self
    }
}
