//! Drives all plans that the service sends.
//!
//! [`Sendings`] finds the open plans in the store and runs one driver for each account. The store
//! is the only record of the progress, so a process may end at any point.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use alloy_primitives::{B256, hex};
use calldata_checks::UtcSeconds;
use custody::Turns;
use delegation_fence::State;
use fence_server::{Delegations, Store};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tx_sender::Sender;

use crate::drive::{Driver, Turn};
use crate::{ChainReader, GasFunding, GasRules, Pace, Route};

/// The parts that sending needs.
pub struct Parts {
    /// Confirms plans and holds the fence's store.
    pub delegations: Arc<Delegations>,
    /// The route of each kind of account. A kind without a route is refused by name.
    pub routes: Vec<Arc<dyn Route>>,
    /// The chain of the policy.
    pub chain: ChainReader,
    /// The sender of transactions.
    pub sender: Sender,
    /// Turns on accounts, shared with every other part that sends for them.
    pub turns: Turns,
    /// The gas limits of plans.
    pub gas: GasRules,
    /// Tops up accounts with coins for gas, shared with every other part that sends for them.
    pub funding: GasFunding,
    /// The pauses.
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
    pub(crate) funding: GasFunding,
    pub(crate) pace: Pace,
    pub(crate) clock: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// The name of this process in leases. No other process has the same.
    pub(crate) holder: String,
}

impl Shared {
    pub(crate) fn store(&self) -> &dyn Store {
        self.delegations.store().as_ref()
    }

    pub(crate) fn now(&self) -> UtcSeconds {
        UtcSeconds::from_unix((self.clock)())
    }
}

/// Drives every open plan in the store, each under its account's lease. Dropping the last handle
/// stops the work at the present step. The next start continues from the store.
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
    /// Starts the work, and continues what an earlier process has left.
    #[must_use]
    pub fn start(parts: Parts) -> Self {
        let shared = Arc::new(Shared {
            delegations: parts.delegations,
            routes: parts.routes,
            chain: parts.chain,
            sender: parts.sender,
            turns: parts.turns,
            gas: parts.gas,
            funding: parts.funding,
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

    /// Stops the work. The next start continues the rest.
    pub async fn close(self) {
        self.supervisor.0.abort();
        // The drivers end with the supervisor, and their leases expire.
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

/// The supervisor's cache between two sweeps. Losing it does no harm.
#[derive(Default)]
struct Memory {
    /// Plans that have a driver.
    driven: HashSet<B256>,
    /// Plans that rest, and until when.
    resting: HashMap<B256, Instant>,
    /// Ended plans that no reorganisation is expected to reach.
    settled: HashSet<B256>,
}

/// Keeps a driver running for every plan, one at a time for each account.
async fn supervise(shared: Arc<Shared>) {
    let memory = Arc::new(Mutex::new(Memory::default()));
    let mut drivers = tokio::task::JoinSet::new();
    loop {
        while drivers.try_join_next().is_some() {}
        if let Err(error) = shared.delegations.reassert().await {
            tracing::warn!(
                code = error.code(),
                "lost revocations cannot be made again now"
            );
        }
        if let Err(error) = shared.delegations.forget(shared.now()).await {
            tracing::warn!(
                code = error.code(),
                "revocations whose time is over cannot be deleted now"
            );
        }
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
            Err(error) => tracing::warn!(code = error.code(), "open plans cannot be listed"),
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
    // Only one plan of an account is driven at a time. An older plan that has lost a block comes
    // first.
    let turn = shared.turns.take(account, &plan.to_string()).await;
    let mut driver = Driver::new(Arc::clone(&shared), plan, turn.fence());
    let came_to = match turn.run(driver.run()).await {
        Ok(came_to) => came_to,
        Err(lost) => {
            tracing::warn!(%plan, %lost, "a plan waits for its next turn");
            driver.give_back().await;
            Turn::LeasedElsewhere
        }
    };
    if let Turn::Rests(_) = came_to {
        turn.end().await;
    }
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

/// A name that is unique to this process.
fn holder() -> String {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // Without randomness, the process id and the time make the name unique.
        return format!("{}-{:?}", std::process::id(), std::time::Instant::now());
    }
    hex::encode(bytes)
}
