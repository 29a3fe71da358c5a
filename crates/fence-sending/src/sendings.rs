//! All plans that are being sent.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use alloy_primitives::{B256, hex};
use calldata_checks::UtcSeconds;
use custody::Turns;
use delegation_fence::State;
use fence_server::Delegations;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tx_sender::Sender;

use crate::drive::{Driver, Turn};
use crate::{ChainReader, GasRules, Pace, Route};

/// What plans are sent with.
pub struct Parts {
    /// What confirms plans, and keeps the records of the fence.
    pub delegations: Arc<Delegations>,
    /// How each kind of account is sent for. A kind without a route is refused by name.
    pub routes: Vec<Arc<dyn Route>>,
    /// The chain of the policy.
    pub chain: ChainReader,
    /// The sender of transactions.
    pub sender: Sender,
    /// Turns on accounts, shared with whoever else sends for them.
    pub turns: Turns,
    /// Gas.
    pub gas: GasRules,
    /// How fast.
    pub pace: Pace,
    /// The machine's clock, in Unix seconds.
    pub clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

pub(crate) struct Shared {
    pub(crate) delegations: Arc<Delegations>,
    pub(crate) routes: Vec<Arc<dyn Route>>,
    pub(crate) chain: ChainReader,
    pub(crate) sender: Sender,
    turns: Turns,
    pub(crate) gas: GasRules,
    pub(crate) pace: Pace,
    pub(crate) clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// Tells this process from every other one, in leases.
    pub(crate) holder: String,
}

/// Sends whatever plans the store holds that something is left to be done for, each under its
/// account's lease. When the last handle is dropped, the work stops where it is, and goes on where
/// the store says when it is started again.
#[derive(Clone)]
pub struct Sendings {
    shared: Arc<Shared>,
    supervisor: Arc<Supervisor>,
}

struct Supervisor(JoinHandle<()>);

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Sendings {
    /// Starts, and goes on with what an earlier process has left.
    #[must_use]
    pub fn start(parts: Parts) -> Self {
        let shared = Arc::new(Shared {
            delegations: parts.delegations,
            routes: parts.routes,
            chain: parts.chain,
            sender: parts.sender,
            turns: parts.turns,
            gas: parts.gas,
            pace: parts.pace,
            clock: parts.clock,
            holder: holder(),
        });
        let supervisor = Supervisor(tokio::spawn(supervise(Arc::clone(&shared))));
        Self {
            shared,
            supervisor: Arc::new(supervisor),
        }
    }

    /// Stops after what is being done now. What is left goes on at the next start.
    pub async fn close(self) {
        self.supervisor.0.abort();
        // Drivers end with the supervisor; what they hold ends by itself.
        tokio::task::yield_now().await;
    }
}

impl std::fmt::Debug for Sendings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sendings")
            .field("chain", &self.shared.chain)
            .finish_non_exhaustive()
    }
}

/// What the supervisor remembers between two sweeps. All of it can be lost.
#[derive(Default)]
struct Memory {
    /// Plans that are driven now.
    driven: HashSet<B256>,
    /// Plans that rest, until when.
    resting: HashMap<B256, Instant>,
    /// Ended plans whose blocks no reorganisation is expected to reach.
    settled: HashSet<B256>,
}

/// Sees to it that every plan is driven, one of an account at a time.
async fn supervise(shared: Arc<Shared>) {
    let memory = Arc::new(Mutex::new(Memory::default()));
    let mut drivers = tokio::task::JoinSet::new();
    loop {
        while drivers.try_join_next().is_some() {}
        let since = shared.now().unix();
        let since = since.saturating_sub(shared.pace.watched.as_secs());
        match shared.store().sendings(UtcSeconds::from_unix(since)).await {
            Ok(plans) => {
                lock(&memory).settled.retain(|plan| plans.contains(plan));
                for plan in plans {
                    let free = {
                        let mut memory = lock(&memory);
                        let rests = memory
                            .resting
                            .get(&plan)
                            .is_some_and(|until| *until > Instant::now());
                        !rests && !memory.settled.contains(&plan) && memory.driven.insert(plan)
                    };
                    if free {
                        let (shared, memory) = (Arc::clone(&shared), Arc::clone(&memory));
                        drivers.spawn(async move { drive(shared, memory, plan).await });
                    }
                }
            }
            Err(error) => tracing::warn!(code = error.code(), "plans cannot be looked for"),
        }
        let pause = tokio::time::sleep(shared.pace.sweep);
        tokio::select! {
            () = pause => {}
            () = shared.delegations.accepted() => {}
        }
    }
}

async fn drive(shared: Arc<Shared>, memory: Arc<Mutex<Memory>>, plan: B256) {
    let account = match shared.store().submission(plan).await {
        Ok(Some(kept)) => kept.admitted.account,
        _ => {
            lock(&memory).driven.remove(&plan);
            return;
        }
    };
    // Two plans of one account are never driven at once: an older one whose block is gone comes
    // first.
    let _turn = shared.turns.take(account).await;
    let mut driver = Driver::new(Arc::clone(&shared), plan);
    let came_to = driver.run().await;
    let settled = match came_to {
        Turn::Rests(State::Done | State::HaltedClean) => driver.is_final().await.unwrap_or(false),
        _ => false,
    };
    let mut memory = lock(&memory);
    memory.driven.remove(&plan);
    if settled {
        memory.settled.insert(plan);
    }
    let rest = match came_to {
        Turn::Rests(State::HaltedDirty) => shared.pace.rest,
        Turn::Rests(_) => Duration::ZERO,
        _ => shared.pace.look,
    };
    memory.resting.insert(plan, Instant::now() + rest);
    if memory.resting.len() > 4096 {
        memory.resting.clear();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A name that no other process has.
fn holder() -> String {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // Without randomness the process and the moment tell them apart.
        return format!("{}-{:?}", std::process::id(), std::time::Instant::now());
    }
    hex::encode(bytes)
}
