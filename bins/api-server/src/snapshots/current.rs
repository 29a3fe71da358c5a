//! A reader's view of a dataset: its newest edition.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

use super::Snapshot;

/// The time limit of a reader for the first edition after the start of a server.
const PATIENCE: Duration = Duration::from_secs(5);

/// The state of a dataset.
pub(super) enum State<T> {
    /// The first edition is being loaded or gathered.
    Loading,
    /// There is no edition.
    Nothing,
    /// The newest edition.
    Edition(Arc<Snapshot<T>>),
}

/// The newest edition of a dataset. Clones read the same one.
pub(crate) struct Current<T> {
    state: watch::Receiver<State<T>>,
}

/// The reason why no edition can be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    /// There has never been an edition.
    Never,
    /// The newest edition is too old.
    TooOld {
        /// Its age.
        age_seconds: u64,
    },
}

impl<T> Current<T> {
    /// A dataset that is not gathered.
    pub(crate) fn nothing() -> Self {
        Self::watching(watch::channel(State::Nothing).1)
    }

    pub(super) fn watching(state: watch::Receiver<State<T>>) -> Self {
        Self { state }
    }

    /// The newest edition, of any age.
    pub(crate) fn latest(&self) -> Option<Arc<Snapshot<T>>> {
        match &*self.state.borrow() {
            State::Edition(snapshot) => Some(snapshot.clone()),
            State::Loading | State::Nothing => None,
        }
    }

    /// The newest edition, if it is younger than `refused` at `now`. Waits a moment for a server
    /// that has just started.
    pub(crate) async fn within(
        &self,
        refused: Duration,
        now: Timestamp,
    ) -> Result<Arc<Snapshot<T>>, Absent> {
        let mut state = self.state.clone();
        let loaded = state.wait_for(|state| !matches!(state, State::Loading));
        drop(tokio::time::timeout(PATIENCE, loaded).await.map(drop));
        let snapshot = self.latest().ok_or(Absent::Never)?;
        let age_seconds = snapshot.age_seconds(now);
        if age_seconds < refused.as_secs() {
            Ok(snapshot)
        } else {
            Err(Absent::TooOld { age_seconds })
        }
    }
}

impl<T> Clone for Current<T> {
    fn clone(&self) -> Self {
        Self::watching(self.state.clone())
    }
}

impl<T> fmt::Debug for Current<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.latest().map(|snapshot| snapshot.snapshot_id.clone());
        f.debug_tuple("Current").field(&id).finish()
    }
}
