//! The public interface: begins, follows and finds the actions of all wallets.
//!
//! A supervisor task keeps a driver running for each open intent. Planning is left to the module
//! `plan`, and the steps of an intent to the module `drive`.

mod give_up;
mod holdings;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use custody::Owner;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

pub use self::give_up::GivenUp;
use crate::drive::{Driver, check_ended};
use crate::intent::Intent;
use crate::plan::Planner;
use crate::shared::{Parts, Shared};
use crate::store::{CHARGED_WITHIN_SECONDS, Place, StoreError};
use crate::{IntentId, Order, Refused};

/// Carries out wallet actions. Cheap to clone. Dropping the last clone stops the work at the
/// current step, and the next start continues from the records.
#[derive(Clone)]
pub struct WalletActions {
    shared: Arc<Shared>,
    supervisor: Arc<Supervisor>,
}

struct Supervisor(JoinHandle<()>);

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl WalletActions {
    /// Starts the work, and continues the open intents of an earlier process.
    #[must_use]
    pub fn start(parts: Parts) -> Self {
        let chains = parts.chains.into_iter();
        let shared = Arc::new(Shared {
            custody: parts.custody,
            policy: parts.policy,
            chains: chains.map(|chain| (chain.chain_id(), chain)).collect(),
            sender: parts.sender,
            turns: parts.turns,
            store: parts.store,
            plans: parts.plans,
            funding: parts.funding,
            pace: parts.pace,
            clock: parts.clock,
            changed: Notify::new(),
            made: Notify::new(),
        });
        let supervisor = Supervisor(tokio::spawn(supervise(Arc::clone(&shared))));
        Self {
            shared,
            supervisor: Arc::new(supervisor),
        }
    }

    /// Plans an action, stores its intent, and begins it. A payment that has an intent already gets
    /// that one. It makes no wallet.
    ///
    /// # Errors
    /// [`Refused`]: nothing was signed, and nothing will be.
    pub async fn begin(&self, order: &Order) -> Result<Intent, Refused> {
        let shared = &self.shared;
        if let Some(known) = shared.store.of_payment(order.payment).await?
            && known.may_have_effect()
        {
            return Ok(known);
        }
        let wallet = shared.custody.find(order.owner).await?;
        let wallet = wallet.ok_or(Refused::NoWallet)?;
        if let Some(running) = shared.store.is_busy(wallet.address).await? {
            return Err(Refused::Busy(running));
        }
        // Before the plan, which may fail because the earlier action has taken its money.
        if let Some(purchase) = order.purchase {
            let since = shared.now().saturating_sub(CHARGED_WITHIN_SECONDS);
            let owner = order.owner.to_string();
            let uncharged = shared.store.uncharged(&owner, purchase, since).await?;
            if let Some(intent) = uncharged {
                return Err(Refused::Uncharged(intent));
            }
        }
        let planner = Planner {
            shared,
            wallet,
            now: shared.now(),
        };
        let intent = planner.plan(order).await?;
        // Compare with the clock. A timer stops while a machine is suspended.
        if order.begin_by.is_some_and(|last| shared.now() > last) {
            let message = "the payment can no longer be settled";
            return Err(Refused::unavailable("payment_expired", message));
        }
        let kept = shared.store.insert(intent, order.claim.clone()).await?;
        shared.made.notify_one();
        Ok(kept)
    }

    /// Waits until the intent no longer runs, or `until` has passed. It no longer runs when it is
    /// over, or when it waits for the mint on another chain or for gas. Returns the intent as it is
    /// then.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn wait(&self, id: &IntentId, until: Instant) -> Result<Option<Intent>, StoreError> {
        loop {
            let changed = self.shared.changed.notified();
            let intent = self.find(id).await?;
            let waits = intent
                .as_ref()
                .is_some_and(|intent| intent.state == crate::State::Running);
            if !waits || Instant::now() >= until {
                return Ok(intent);
            }
            let look = Instant::now() + self.shared.pace.sweep;
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(look.min(until)) => {}
            }
        }
    }

    /// Returns the current time, in Unix seconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.shared.now()
    }

    /// Returns the intent with this id.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn find(&self, id: &IntentId) -> Result<Option<Intent>, StoreError> {
        self.shared.store.get(id).await
    }

    /// Returns the intent of a payment.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn of_payment(
        &self,
        payment: alloy_primitives::B256,
    ) -> Result<Option<Intent>, StoreError> {
        self.shared.store.of_payment(payment).await
    }

    /// Returns the newest intents of an owner that were created since this Unix second, at most
    /// `most` of them.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn of_owner(
        &self,
        owner: Owner,
        since: u64,
        most: u32,
    ) -> Result<Vec<Intent>, StoreError> {
        self.shared
            .store
            .of_owner(&owner.to_string(), since, most)
            .await
    }

    /// Lists intents that may still have to be charged: the first `most` ones after this
    /// place. After a restart, the calls of some of them may be unanswered.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn awaiting_charge(&self, after: Place, most: u32) -> Result<Vec<Place>, StoreError> {
        self.shared.store.awaiting_charge(after, most).await
    }

    /// Deletes intents without a transaction in a block that were created before this Unix second,
    /// and what was forbidden before it: at most `most` of each.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn forget(&self, before: u64, most: u32) -> Result<(), StoreError> {
        self.shared.store.forget(before, most).await
    }

    /// Records that an action does not have to be charged any more, and what is kept of its call.
    ///
    /// # Errors
    /// Errors of the store. The record may or may not be written then.
    pub async fn note_charged(&self, id: &IntentId, call: &str) -> Result<(), StoreError> {
        let charged = |intent: Intent| {
            intent.awaits_charge.then(|| Intent {
                awaits_charge: false,
                call: call.to_owned(),
                ..intent
            })
        };
        self.change(id, charged).await.map(drop)
    }

    /// Records that an action is not charged, because its payment can no longer be settled for it.
    /// Returns whether this call has recorded it: of several servers, one gets `true`. `false` also
    /// when the id is unknown.
    ///
    /// # Errors
    /// Errors of the store. The record may or may not be written then.
    pub async fn note_uncharged(&self, id: &IntentId) -> Result<bool, StoreError> {
        let uncharged = |intent: Intent| {
            intent.uncharged_at.is_none().then(|| Intent {
                uncharged_at: Some(self.now()),
                awaits_charge: false,
                ..intent
            })
        };
        self.change(id, uncharged).await
    }

    /// Changes an intent that drivers and other servers may change as well. Returns whether this
    /// call has changed it.
    async fn change(
        &self,
        id: &IntentId,
        change: impl Fn(Intent) -> Option<Intent> + Send,
    ) -> Result<bool, StoreError> {
        loop {
            let Some(changed) = self.find(id).await?.and_then(&change) else {
                return Ok(false);
            };
            match self.shared.store.write(changed).await {
                Ok(_) => return Ok(true),
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the reviewed products into which wallets can deposit. It does not check whether they
    /// accept deposits now.
    pub fn products(&self) -> impl Iterator<Item = crate::ListedProduct> + '_ {
        crate::plan::Product::all(&self.shared.policy).map(Into::into)
    }

    /// Stops after the current step. The next start continues from the records.
    pub async fn close(self) {
        self.supervisor.0.abort();
        tokio::task::yield_now().await;
    }
}

impl std::fmt::Debug for WalletActions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WalletActions")
            .field("chains", &self.shared.chains.keys())
            .finish_non_exhaustive()
    }
}

/// Keeps a driver running for every open intent.
async fn supervise(shared: Arc<Shared>) {
    let driven: Arc<Mutex<HashSet<IntentId>>> = Arc::default();
    let mut drivers = JoinSet::new();
    drivers.spawn(check_ended(Arc::clone(&shared)));
    loop {
        while drivers.try_join_next().is_some() {}
        match shared.store.open().await {
            Ok(open) => {
                for id in open {
                    if lock(&driven).insert(id.clone()) {
                        let (shared, driven) = (Arc::clone(&shared), Arc::clone(&driven));
                        drivers.spawn(async move {
                            Driver::new(shared, id.clone()).run().await;
                            lock(&driven).remove(&id);
                        });
                    }
                }
            }
            Err(error) => tracing::warn!(code = error.code(), "open actions cannot be listed"),
        }
        tokio::select! {
            () = tokio::time::sleep(shared.pace.sweep) => {}
            () = shared.made.notified() => {}
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
