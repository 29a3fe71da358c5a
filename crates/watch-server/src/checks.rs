//! The checks of all mandates, each when it is due.

mod tend;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::mandates::Shared;
use crate::{Mandates, Yields};

/// Mandates that are looked for in one sweep, at most. More than are checked at once, because some
/// may be in the hands of another process.
const LOOKED_FOR: u32 = 512;

/// How fast mandates are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The time between two sweeps.
    pub sweep: Duration,
    /// Mandates that are begun in one sweep, at most: after an outage the checks that were missed
    /// do not come all at once. None of them is made up for; one check is made of each mandate.
    pub per_sweep: usize,
    /// Mandates that are being checked, at most.
    pub at_once: usize,
    /// After a failure a mandate is left alone for this long.
    pub rest: Duration,
    /// For how many seconds the lease of a mandate is taken. Longer than a check may take.
    pub lease_seconds: u32,
    /// The longest time that one question to the mover may take.
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

/// Checks mandates. It holds nothing that is not in the store but what may be lost.
#[derive(Clone)]
pub struct Watcher {
    worker: Arc<Worker>,
}

/// What a check is made with.
struct Worker {
    shared: Arc<Shared>,
    yields: Arc<dyn Yields>,
    pace: Pace,
    /// Tells this process from every other one, in leases.
    holder: String,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    /// Mandates that are being checked.
    tended: HashSet<String>,
    /// Mandates that rest after a failure, until when.
    resting: HashMap<String, Instant>,
}

impl Watcher {
    /// Over the mandates of a server.
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

    /// Checks what is due now, and waits until that is done.
    pub async fn sweep(&self) {
        let mut tasks = JoinSet::new();
        self.begin(&mut tasks).await;
        while tasks.join_next().await.is_some() {}
    }

    /// Begins with what is due now.
    async fn begin(&self, tasks: &mut JoinSet<()>) {
        let Worker {
            shared,
            pace,
            memory,
            ..
        } = &*self.worker;
        let due = match shared.store.due(shared.now(), LOOKED_FOR).await {
            Ok(due) => due,
            Err(error) => {
                tracing::warn!(code = error.code(), "mandates cannot be looked for");
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

/// A watcher that runs. When the last handle is dropped, checks stop where they are, and go on from
/// what the store says when they are started again.
#[derive(Debug)]
pub struct Checks(JoinHandle<()>);

impl Checks {
    /// Starts, and goes on with what an earlier process has left.
    #[must_use]
    pub fn start(watcher: Watcher) -> Self {
        Self(tokio::spawn(watcher.run()))
    }

    /// Stops what is being done.
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

/// A name that no other process has.
fn holder() -> String {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // Without randomness the process and the moment tell them apart.
        return format!("{}-{:?}", std::process::id(), std::time::Instant::now());
    }
    alloy_primitives::hex::encode(bytes)
}
