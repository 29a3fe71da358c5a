//! The shared parts of the adapters of perpetual venues: kept readings, and readings that are
//! assembled from several calls.
//!
//! An adapter implements [`Exchange`]. The routes compare venues.

use std::{future::Future, sync::Arc, time::Duration};

use jiff::Timestamp;
use readings::derivatives::{CoinReading, Part, VenueReading};

use crate::{
    cached::{Ages, Cached},
    error::Error,
    provenance::{Clock, Mode, Provenance, Sourced},
    text::clean,
};

/// How many readings of single coins are kept.
const COINS: usize = 500;
/// How old a reading may be.
pub(crate) const AGES: Ages = Ages::seconds(20, 300);

/// A venue whose perpetuals are read one by one and all at once.
pub(crate) trait Exchange: Clone + Send + Sync + 'static {
    /// Reads the perpetual of `coin`.
    fn fetch(
        &self,
        coin: &str,
    ) -> impl Future<Output = Result<Sourced<VenueReading>, Error>> + Send;

    /// Reads every perpetual.
    fn fetch_all(
        &self,
    ) -> impl Future<Output = Result<Sourced<Arc<Vec<CoinReading>>>, Error>> + Send;
}

/// The kept readings of a venue. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Perpetuals {
    readings: Cached<String, VenueReading>,
    all: Cached<(), Arc<Vec<CoinReading>>>,
}

impl Perpetuals {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            readings: Cached::new(COINS, AGES, clock.clone()),
            all: Cached::new(1, AGES, clock),
        }
    }

    /// The perpetual of `coin`, from the cache or from `venue`.
    pub(crate) async fn reading(
        &self,
        venue: &impl Exchange,
        coin: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<VenueReading>, Error> {
        let (venue, of) = (venue.clone(), coin.to_owned());
        let fetch = move || async move { venue.fetch(&of).await };
        self.readings.get(coin.to_owned(), max_age, fetch).await
    }

    /// Every perpetual, from the cache or from `venue`.
    pub(crate) async fn all(
        &self,
        venue: &impl Exchange,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<CoinReading>>>, Error> {
        let venue = venue.clone();
        let fetch = move || async move { venue.fetch_all().await };
        self.all.get((), max_age, fetch).await
    }
}

/// The venue answered that it does not list this.
pub(crate) fn not_listed(venue: &str, contract: &str) -> Error {
    Error::NotFound {
        reason: "symbol_not_found",
        message: format!("{venue} does not list {}", clean(contract, 40)),
    }
}

/// A reading that grows call by call. A failed call leaves a part that is named as unavailable.
pub(crate) struct Assembly {
    pub(crate) reading: VenueReading,
    sources: Vec<Provenance>,
    mode: Mode,
    now: Timestamp,
}

impl Assembly {
    pub(crate) fn new(reading: VenueReading, mode: Mode, now: Timestamp) -> Self {
        Self {
            reading,
            sources: Vec::new(),
            mode,
            now,
        }
    }

    /// The value of the call for `part`.
    pub(crate) fn part<T>(&mut self, part: Part, call: Result<Sourced<T>, Error>) -> Option<T> {
        match call {
            Ok(sourced) => Some(self.core(sourced)),
            Err(error) => {
                let source = error.source_id().unwrap_or_default();
                if let Error::Source(error) = &error {
                    self.sources
                        .push(Provenance::unavailable(error, self.mode, self.now));
                }
                self.reading.lacks(part, error.reason(), source);
                None
            }
        }
    }

    /// The value of a call that must not fail.
    pub(crate) fn core<T>(&mut self, sourced: Sourced<T>) -> T {
        self.sources.extend(sourced.sources);
        sourced.value
    }

    pub(crate) fn done(self) -> Sourced<VenueReading> {
        Sourced {
            value: self.reading,
            sources: self.sources,
        }
    }
}
