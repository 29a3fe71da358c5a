//! Runs the checks of all mandates, each when it is due.
//!
//! A [`Watcher`] looks for due mandates in short intervals and limits how many it checks.
//! [`Checks`] runs it in the background. The module `tend` does the work for one mandate. A process
//! may be killed at any point: the next one continues from the store.

mod tend;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::mandates::Shared;
use crate::{Mandates, Yields};

/// The most mandates that one sweep reads. It exceeds the default of [`Pace::at_once`], because
/// other processes may hold the leases of some of them.
const LOOKED_FOR: u32 = 512;

/// The pace and the limits of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The pause between two sweeps.
    pub sweep: Duration,
    /// The most mandates that one sweep begins, so that missed checks do not come all at the same
    /// time after an outage. A mandate gets one check, however many it has missed.
    pub per_sweep: usize,
    /// The most mandates that are checked at the same time.
    pub at_once: usize,
    /// How long a mandate rests after a failure.
    pub rest: Duration,
    /// How long a lease lasts, in seconds. It must be longer than a check.
    pub lease_seconds: u32,
    /// The longest time that one call of the mover may take.
    pub patience: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            sweep: Duration::from_secs(1),
            per_sweep: 32,
            at_once: 64,
            rest: Duration::from_secs(30),
            lease_seconds: 180,
            patience: Duration::from_secs(30),
        }
    }
}

/// Checks mandates. Clones share one memory. Losing that memory does no harm, because the store has
/// everything else.
#[derive(Clone)]
pub struct Watcher {
    worker: Arc<Worker>,
}

/// The parts that a check needs.
struct Worker {
    shared: Arc<Shared>,
    yields: Arc<dyn Yields>,
    pace: Pace,
    /// The name of this process in leases. No other process has the same name.
    holder: String,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    /// The mandates that are being checked.
    tended: HashSet<String>,
    /// The mandates that rest after a failure, and until when.
    resting: HashMap<String, Instant>,
}

impl Watcher {
    /// Makes a watcher of a server's mandates.
    #[must_use]
    pub fn new(mandates: &Mandates, yields: Arc<dyn Yields>, pace: Pace) -> Self {
        let worker = Worker {
            shared: Arc::clone(&mandates.shared),
            yields,
            pace,
            holder: holder(),
            memory: Mutex::default(),
        };
        Self {
            worker: Arc::new(worker),
        }
    }

    /// Checks the mandates that are due now, and returns when all of them are checked.
    pub async fn sweep(&self) {
        let mut tasks = JoinSet::new();
        self.begin(&mut tasks).await;
        while tasks.join_next().await.is_some() {}
    }

    /// Begins to check the mandates that are due now. First makes lost cancellations again.
    async fn begin(&self, tasks: &mut JoinSet<()>) {
        let Worker {
            shared,
            pace,
            memory,
            ..
        } = &*self.worker;
        let mandates = Mandates {
            shared: Arc::clone(shared),
        };
        if let Err(error) = mandates.reassert().await {
            let code = error.code();
            tracing::warn!(code, "lost cancellations cannot be made again now");
            return;
        }
        let due = match shared.store.due(shared.now(), LOOKED_FOR).await {
            Ok(due) => due,
            Err(error) => {
                tracing::warn!(code = error.code(), "due mandates cannot be listed");
                return;
            }
        };
        let chosen: Vec<String> = {
            let mut memory = lock(memory);
            let now = Instant::now();
            memory.resting.retain(|_, until| *until > now);
            let room = pace.at_once.saturating_sub(memory.tended.len());
            let free = due
                .into_iter()
                .filter(|id| !memory.tended.contains(id) && !memory.resting.contains_key(id));
            let chosen: Vec<String> = free.take(room.min(pace.per_sweep)).collect();
            memory.tended.extend(chosen.iter().cloned());
            chosen
        };
        for id in chosen {
            let worker = Arc::clone(&self.worker);
            tasks.spawn(async move {
                let done = worker.tend(&id).await;
                let mut memory = lock(&worker.memory);
                memory.tended.remove(&id);
                if let Err(error) = done {
                    tracing::warn!(
                        code = error.code(),
                        mandate = id,
                        "a mandate cannot be checked"
                    );
                    memory.resting.insert(id, Instant::now() + worker.pace.rest);
                }
            });
        }
    }

    async fn run(self) {
        let mut tasks = JoinSet::new();
        loop {
            while tasks.try_join_next().is_some() {}
            self.begin(&mut tasks).await;
            tokio::time::sleep(self.worker.pace.sweep).await;
        }
    }
}

/// A running watcher. Dropping it stops the checks at the current step. The next start continues
/// from the store.
#[derive(Debug)]
pub struct Checks(JoinHandle<()>);

impl Checks {
    /// Starts the checks, and continues the open work of an earlier process.
    #[must_use]
    pub fn start(watcher: Watcher) -> Self {
        Self(tokio::spawn(watcher.run()))
    }

    /// Stops the checks at the current step.
    pub async fn close(mut self) {
        self.0.abort();
        // The checks end with the task that began them.
        let _ = (&mut self.0).await;
    }
}

impl Drop for Checks {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl std::fmt::Debug for Watcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watcher")
            .field("pace", &self.worker.pace)
            .finish_non_exhaustive()
    }
}

fn lock(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a name that is unique to this process.
fn holder() -> String {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // Without randomness, the process id and the time make the name unique.
        return format!("{}-{:?}", std::process::id(), std::time::Instant::now());
    }
    alloy_primitives::hex::encode(bytes)
}
