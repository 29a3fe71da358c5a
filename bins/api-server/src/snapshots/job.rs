//! The job that keeps a dataset up to date: one round in each period, alone or with other servers
//! on one store. Readers never wait for a round after the first one.

use std::sync::Arc;
use std::time::Duration;

use data_sources::Clock;
use jiff::Timestamp;
use storage::{ServerStore, StoreError};
use tokio::sync::watch;

use super::current::State;
use super::{Current, Dataset, Snapshot};

/// The time between two looks of a following server for a new edition.
const FOLLOW_EVERY: Duration = Duration::from_secs(20);

/// Keeps one dataset up to date, alone or together with other servers on the same store.
pub(crate) struct Job<D: Dataset, S> {
    dataset: D,
    store: Arc<S>,
    clock: Arc<dyn Clock>,
    /// The name of this server among those that share the store.
    holder: String,
    state: watch::Sender<State<D::Value>>,
}

/// The result of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Round {
    /// A new edition was gathered.
    Published,
    /// The edition of another server was loaded, or our own belongs to this period already.
    Followed,
    /// Another server is gathering.
    Waiting,
    /// Gathering failed; the previous edition stays.
    Kept {
        /// The reason.
        reason: String,
    },
}

impl<D: Dataset, S: ServerStore> Job<D, S> {
    /// Makes the job without asking anything yet. Readers wait for [`Self::boot`].
    pub(crate) fn new(dataset: D, store: Arc<S>, clock: Arc<dyn Clock>, holder: String) -> Self {
        Self {
            dataset,
            store,
            clock,
            holder,
            state: watch::channel(State::Loading).0,
        }
    }

    /// The edition that routes read.
    pub(crate) fn current(&self) -> Current<D::Value> {
        Current::watching(self.state.subscribe())
    }

    /// Loads the stored edition, so that a restart causes no outage. Gathers at once if the edition
    /// does not belong to this period.
    pub(crate) async fn boot(&self) -> Round {
        self.follow().await;
        let round = self.round().await;
        self.state.send_if_modified(|state| {
            let loading = matches!(state, State::Loading);
            if loading {
                *state = State::Nothing;
            }
            loading
        });
        round
    }

    /// Boots, then gathers once in each period, for ever.
    pub(crate) async fn run(self) {
        let mut round = self.boot().await;
        loop {
            let period = D::PACE.wait(&self.holder, self.clock.now());
            let wait = match round {
                Round::Published | Round::Followed => period,
                Round::Waiting => period.min(FOLLOW_EVERY),
                Round::Kept { .. } => period.min(D::PACE.retry),
            };
            tokio::time::sleep(wait).await;
            round = self.round().await;
        }
    }

    /// Runs one round. Gathers unless this period has an edition already or another server is
    /// gathering.
    pub(crate) async fn round(&self) -> Round {
        let now = self.clock.now();
        let period = D::PACE.period(now);
        if self.held().is_some_and(|held| held >= period) {
            return Round::Followed;
        }
        let lease = self.lease(now).await;
        if self.follow().await.is_some_and(|held| held >= period) {
            self.release(&lease).await;
            return Round::Followed;
        }
        let round = match lease {
            Ok(false) => return Round::Waiting,
            Ok(true) => self.gather(now).await,
            // A broken store must not let the data age: this server gathers for itself.
            Err(_) => self.gather(now).await,
        };
        self.release(&lease).await;
        round
    }

    async fn gather(&self, now: Timestamp) -> Round {
        let gathering = tokio::time::timeout(D::PACE.patience, self.dataset.gather(now));
        let gathered = match gathering.await {
            Ok(Ok(gathered)) => gathered,
            Ok(Err(error)) => return kept::<D>(error.reason(), &error.to_string()),
            Err(_) => return kept::<D>("gathering_timeout".to_owned(), "gathering took too long"),
        };
        let snapshot = Snapshot::new(D::NAME, now, gathered);
        tracing::info!(
            dataset = D::NAME,
            snapshot = snapshot.snapshot_id,
            "gathered"
        );
        if let Err(error) = self.publish(&snapshot).await {
            tracing::warn!(dataset = D::NAME, %error, "the snapshot is kept in memory only");
        }
        self.hold(snapshot);
        Round::Published
    }

    async fn publish(&self, snapshot: &Snapshot<D::Value>) -> Result<(), StoreError> {
        let Some(record) = snapshot.to_record(self.clock.now()) else {
            tracing::error!(dataset = D::NAME, "the snapshot cannot be serialised");
            return Ok(());
        };
        self.store.publish(D::NAME, record).await
    }

    /// Loads the stored edition if it is newer than the present one. Returns the time of the
    /// present edition afterwards.
    async fn follow(&self) -> Option<Timestamp> {
        match self.store.latest(D::NAME).await {
            Ok(Some(record)) => match Snapshot::from_record(&record, &self.dataset.source_ids()) {
                Some(snapshot) => self.hold(snapshot),
                None => tracing::warn!(
                    dataset = D::NAME,
                    snapshot = record.snapshot_id,
                    "the stored snapshot is from another version and is not used"
                ),
            },
            Ok(None) => {}
            Err(error) => tracing::warn!(dataset = D::NAME, %error, "the store cannot be read"),
        }
        self.held()
    }

    /// Replaces the present edition, but never with an older one.
    fn hold(&self, snapshot: Snapshot<D::Value>) {
        self.state.send_if_modified(|state| {
            let newer = match state {
                State::Edition(held) => held.as_of < snapshot.as_of,
                State::Loading | State::Nothing => true,
            };
            if newer {
                *state = State::Edition(Arc::new(snapshot));
            }
            newer
        });
    }

    fn held(&self) -> Option<Timestamp> {
        match &*self.state.borrow() {
            State::Edition(held) => Some(held.as_of),
            State::Loading | State::Nothing => None,
        }
    }

    async fn lease(&self, now: Timestamp) -> Result<bool, StoreError> {
        // The lease outlasts the gathering, so no other server begins meanwhile.
        let seconds =
            u32::try_from(D::PACE.patience.as_secs().saturating_add(15)).unwrap_or(u32::MAX);
        let now = u64::try_from(now.as_second()).unwrap_or(0);
        let lease = self.store.lease(D::NAME, &self.holder, now, seconds).await;
        if let Err(error) = &lease {
            tracing::warn!(dataset = D::NAME, %error, "the lease cannot be taken");
        }
        lease
    }

    async fn release(&self, lease: &Result<bool, StoreError>) {
        if matches!(lease, Ok(true))
            && let Err(error) = self.store.give_back(D::NAME, &self.holder).await
        {
            tracing::warn!(dataset = D::NAME, %error, "the lease cannot be released");
        }
    }
}

fn kept<D: Dataset>(reason: String, message: &str) -> Round {
    tracing::warn!(
        dataset = D::NAME,
        reason,
        message,
        "the last snapshot stays in use"
    );
    Round::Kept { reason }
}

#[cfg(test)]
mod tests;
