//! What routes hold of a dataset.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

use super::Snapshot;

/// How long a reader waits for the first edition of a server that has just started.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is there of a dataset.
pub(super) enum State<T> {
    /// The first edition is being loaded or gathered.
    Beginning,
    /// There is none.
    Nothing,
    /// The newest one.
    Edition(Arc<Snapshot<T>>),
}

/// The newest edition of a dataset. Clones read the same.
pub(crate) struct Current<T> {
    state: watch::Receiver<State<T>>,
}

/// Why there is no edition that could be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    /// None was ever made.
    Never,
    /// The newest one is too old.
    TooOld {
        /// Its age.
        age_seconds: u64,
    },
}

impl<T> Current<T> {
    /// Of a dataset that nobody gathers.
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
            State::Beginning | State::Nothing => None,
        }
    }

    /// The newest edition, if it is younger than `refused` at `now`. A server that has just started
    /// is given a moment.
    pub(crate) async fn within(
        &self,
        refused: Duration,
        now: Timestamp,
    ) -> Result<Arc<Snapshot<T>>, Absent> {
        let mut state = self.state.clone();
        let begun = state.wait_for(|state| !matches!(state, State::Beginning));
        drop(tokio::time::timeout(PATIENCE, begun).await.map(drop));
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
