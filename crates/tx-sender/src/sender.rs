//! The sender: what callers can ask of it, and the tasks that work on the lanes. Nodes, signers and
//! the store of records are ports.

mod closing;
mod driver;
mod look;
mod pace;
mod rhythm;
mod send;
mod sign;
mod tend;
mod watch;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use alloy_primitives::Address;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use self::driver::Driver;
pub use self::watch::Watch;
use self::watch::Watchers;
use crate::node::Nodes;
use crate::{
    Chain, Fence, Hold, Lane, Options, Policy, Record, Request, SenderError, Store, StoreError,
    Takeover, TransactionSigner, TurnFence,
};

/// How long a closing sender waits for the current turn of a lane.
const LAST_TURN: Duration = Duration::from_secs(5);

/// Sends transactions. Cheap to clone. When the last clone is dropped, the work on the lanes stops.
/// A later sender continues it from the records.
#[derive(Clone)]
pub struct Sender {
    shared: Arc<Shared>,
    /// The tasks. They end with the last clone.
    tasks: Arc<Tasks>,
}

/// The state that all lanes share.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) options: Options,
    /// The name of this sender in leases.
    pub(crate) holder: String,
    pub(crate) watchers: Watchers,
    chains: HashMap<u64, Network>,
    /// The known accounts with their signers. Nothing is signed for an account without a signer.
    signers: RwLock<HashMap<Address, Option<Arc<dyn TransactionSigner>>>>,
    statuses: Mutex<HashMap<Lane, LaneStatus>>,
    closed: AtomicBool,
}

#[derive(Clone)]
struct Network {
    nodes: Nodes,
    policy: Policy,
}

#[derive(Default)]
struct Tasks {
    lanes: Mutex<HashMap<Lane, Task>>,
}

struct Task {
    wake: Arc<Notify>,
    handle: JoinHandle<()>,
}

/// The state of a lane as of the last check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LaneStatus {
    /// How many transactions have no outcome.
    pub depth: usize,
    /// Why the lane is held. `None` when it is not held.
    pub hold: Option<Hold>,
    /// Whether another sender works on the lane. That one also sends the requests of this sender.
    /// Whether it is held is not known here.
    pub elsewhere: bool,
    /// For how many transactions like the last one the account has coins. `None` before one was
    /// sent.
    pub transactions_left: Option<u64>,
}

impl Sender {
    /// Makes a sender with these records, chains and keys. It begins to work on a lane with the
    /// first request for that lane.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        chains: Vec<Chain>,
        signers: Vec<Arc<dyn TransactionSigner>>,
        options: Options,
    ) -> Self {
        let chains = chains.into_iter().map(|chain| {
            let network = Network {
                nodes: Nodes::new(chain.id, chain.nodes),
                policy: chain.policy,
            };
            (chain.id, network)
        });
        let signers = signers.into_iter();
        let signers = signers.map(|signer| (signer.account(), Some(signer)));
        let shared = Shared {
            store,
            options,
            holder: holder(),
            watchers: Watchers::default(),
            chains: chains.collect(),
            signers: RwLock::new(signers.collect()),
            statuses: Mutex::default(),
            closed: AtomicBool::new(false),
        };
        Self {
            shared: Arc::new(shared),
            tasks: Arc::default(),
        }
    }

    /// Calls [`Self::new`] and [`Self::resume`].
    ///
    /// # Errors
    /// [`SenderError::Store`] when the records cannot be read.
    pub async fn start(
        store: Arc<dyn Store>,
        chains: Vec<Chain>,
        signers: Vec<Arc<dyn TransactionSigner>>,
        options: Options,
    ) -> Result<Self, SenderError> {
        let sender = Self::new(store, chains, signers, options);
        sender.resume().await?;
        Ok(sender)
    }

    /// Adds a signer, for an account that was created while the sender runs. [`Self::wake`]
    /// continues the open records of the account. If the account already has a signer, that one
    /// stays.
    pub fn add_signer(&self, signer: Arc<dyn TransactionSigner>) {
        let signers = self.shared.signers.write();
        let mut signers = signers.unwrap_or_else(PoisonError::into_inner);
        let known = signers.entry(signer.account()).or_default();
        known.get_or_insert(signer);
    }

    /// Adds an account whose key cannot be used now. Its signed transactions are followed to their
    /// end, and its other requests wait for [`Self::add_signer`]. A known signer stays.
    pub fn add_account(&self, account: Address) {
        let signers = self.shared.signers.write();
        let mut signers = signers.unwrap_or_else(PoisonError::into_inner);
        signers.entry(account).or_default();
    }

    /// Continues all open records. Returns the number of lanes that have some.
    ///
    /// # Errors
    /// [`SenderError::Store`] when the records cannot be read.
    pub async fn resume(&self) -> Result<usize, SenderError> {
        let lanes = self.shared.store.lanes().await?;
        for lane in &lanes {
            if let Err(error) = self.work(*lane) {
                tracing::warn!(%lane, code = error.code(), "open transactions of a lane that is not configured");
            }
        }
        Ok(lanes.len())
    }

    /// Makes the request durable, and sends it. Each key has one record for ever: the same request
    /// under the same key returns the existing record, in any state. The result follows the record.
    ///
    /// # Errors
    /// [`SenderError::KeyReused`] when the key belongs to another request; an unknown chain or
    /// account; an error of the store.
    pub async fn submit(
        &self,
        key: &str,
        lane: Lane,
        request: Request,
    ) -> Result<Watch, SenderError> {
        self.submit_in_turn(key, lane, request, None).await
    }

    /// Like [`Self::submit`], as a part of work that holds a turn. A new request is refused when
    /// the turn is not the account's newest any more. The turn may be on another account than the
    /// lane's.
    ///
    /// If the turn is on the lane's own account, nothing else sends for that account meanwhile. The
    /// request then uses the nonce after those of all earlier records, or none. So a request whose
    /// record a database has lost takes effect only once, even if it is submitted again. Its new
    /// record ends as [`State::Replaced`](crate::State::Replaced).
    ///
    /// # Errors
    /// The same as [`Self::submit`], and [`StoreError::TurnLost`]: nothing was submitted.
    pub async fn submit_in_turn(
        &self,
        key: &str,
        lane: Lane,
        request: Request,
        turn: Option<TurnFence>,
    ) -> Result<Watch, SenderError> {
        self.shared.known(lane)?;
        let now = self.shared.options.clock.now();
        let mut record = Record::prepared(key, lane, request, now);
        let store = &self.shared.store;
        if turn.is_some_and(|turn| turn.account == lane.account) {
            record.highest_nonce = store.next_nonce(lane).await?;
        }
        let stands = match turn {
            None => store.insert(record.clone()).await?,
            Some(turn) => store.insert_in_turn(record.clone(), turn).await?,
        };
        if (stands.lane, &stands.request) != (lane, &record.request) || stands.is_filler() {
            return Err(SenderError::KeyReused {
                key: key.to_owned(),
            });
        }
        self.work(lane)?;
        Ok(self.shared.watchers.watch(&self.shared, stands))
    }

    /// Returns the record of a key.
    ///
    /// # Errors
    /// An error of the store.
    pub async fn find(&self, key: &str) -> Result<Option<Record>, SenderError> {
        Ok(self.shared.store.get(key).await?)
    }

    /// Follows a record.
    ///
    /// # Errors
    /// [`SenderError::UnknownKey`], and an error of the store.
    pub async fn watch(&self, key: &str) -> Result<Watch, SenderError> {
        let record = self.find(key).await?;
        let record = record.ok_or_else(|| SenderError::UnknownKey {
            key: key.to_owned(),
        })?;
        Ok(self.shared.watchers.watch(&self.shared, record))
    }

    /// Works on a lane with records of an earlier process. It is for an account whose signer was
    /// added after [`Self::resume`].
    ///
    /// # Errors
    /// An unknown chain or account.
    pub fn wake(&self, lane: Lane) -> Result<(), SenderError> {
        self.work(lane)
    }

    /// Ends the work for good. Gives the lanes back, so that other processes need not wait until
    /// their leases end. What was submitted stays recorded.
    pub async fn close(&self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        let tasks: Vec<Task> = self.tasks.lock().drain().map(|(_, task)| task).collect();
        for task in &tasks {
            task.wake.notify_one();
        }
        for mut task in tasks {
            let last = tokio::time::timeout(LAST_TURN, &mut task.handle);
            if last.await.is_err() {
                task.handle.abort();
            }
        }
    }

    /// Returns the state of the lane.
    #[must_use]
    pub fn status(&self, lane: Lane) -> LaneStatus {
        self.shared
            .statuses()
            .get(&lane)
            .cloned()
            .unwrap_or_default()
    }

    /// Deletes records that are final and were submitted before this time (Unix seconds). Returns
    /// how many were deleted.
    ///
    /// # Errors
    /// An error of the store.
    pub async fn prune(&self, submitted_before: u64) -> Result<u64, SenderError> {
        Ok(self.shared.store.prune(submitted_before).await?)
    }

    /// Wakes the task of the lane. Starts it when there is none.
    fn work(&self, lane: Lane) -> Result<(), SenderError> {
        let network = self.shared.known(lane)?;
        let mut lanes = self.tasks.lock();
        if self.shared.is_closed() {
            return Ok(());
        }
        let task = lanes.get(&lane).filter(|task| !task.handle.is_finished());
        if let Some(task) = task {
            task.wake.notify_one();
            return Ok(());
        }
        let wake = Arc::new(Notify::new());
        let driver = Driver::new(
            Arc::clone(&self.shared),
            lane,
            network.nodes,
            network.policy,
        );
        let handle = tokio::spawn(driver.run(Arc::clone(&wake)));
        lanes.insert(lane, Task { wake, handle });
        Ok(())
    }
}

impl Shared {
    fn known(&self, lane: Lane) -> Result<Network, SenderError> {
        let network = self.chains.get(&lane.chain_id);
        let network = network.ok_or(SenderError::UnknownChain {
            chain_id: lane.chain_id,
        })?;
        let account = lane.account;
        let signers = self.signers.read().unwrap_or_else(PoisonError::into_inner);
        match signers.contains_key(&account) {
            true => Ok(network.clone()),
            false => Err(SenderError::UnknownAccount { account }),
        }
    }

    /// Returns the signer that an account has now. `None` when it has none.
    pub(crate) fn signer(&self, account: Address) -> Option<Arc<dyn TransactionSigner>> {
        let signers = self.signers.read().unwrap_or_else(PoisonError::into_inner);
        signers.get(&account).cloned().flatten()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Takes the lane or renews its lease. `None` while another sender has the lane.
    pub(crate) async fn lease(
        &self,
        lane: Lane,
        takeover: Takeover,
    ) -> Result<Option<Fence>, StoreError> {
        let (now, seconds) = (self.options.clock.now(), self.options.lease_seconds);
        let leased = self
            .store
            .acquire(lane, &self.holder, now, seconds, takeover);
        leased.await
    }

    pub(crate) fn statuses(&self) -> MutexGuard<'_, HashMap<Lane, LaneStatus>> {
        self.statuses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, HashMap<Lane, Task>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        for task in self.lock().values() {
            task.handle.abort();
        }
    }
}

/// Makes a name that no other sender has.
fn holder() -> String {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // Without random bytes, the process and the moment identify the sender.
        return format!("{}-{:?}", std::process::id(), std::time::Instant::now());
    }
    alloy_primitives::hex::encode(bytes)
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender")
            .field("chains", &self.shared.chains.keys())
            .finish_non_exhaustive()
    }
}
