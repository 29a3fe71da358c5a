//! The operations of owners on their mandates: create, find, list and cancel.
//!
//! Every operation writes to the store on the condition that nobody else wrote meanwhile, and tries
//! again otherwise. The checks of mandates are left to [`crate::Watcher`].

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use alloy_primitives::{B256, hex, keccak256};
use jiff::Timestamp;
use storage::postgres::{Acknowledged, Condition};
use tokio::time::timeout;
use yield_watch::{AuditRecord, Mandate, Mode, MoveKey, MoveOutcome, Rules, State, Watched};

use crate::{Clock, Creation, Kept, Lease, Mover, Stop, Store, StoreError, WatchError, Write};

/// How many times a write is tried when other writes to the same mandate come in between.
const TRIES: u32 = 16;
/// The longest time that a cancellation waits for the mover.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// The mandates of a server. Cheap to clone: clones share one state.
#[derive(Clone)]
pub struct Mandates {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    clock: Clock,
    mover: OnceLock<Arc<dyn Mover>>,
    /// The owners and ids of the mandates that this process was asked to cancel, with the time at
    /// which each of them would end by itself.
    cancelled: Acknowledged<(String, String), Timestamp>,
}

/// The terms that an owner requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The owner, as CAIP-10.
    pub owner: String,
    /// The rules.
    pub rules: Rules,
    /// Whether the mandate only notifies, or also moves money.
    pub mode: Mode,
    /// When the mandate ends. It is truncated to whole seconds.
    pub expires_at: Timestamp,
}

/// The result of a cancellation, read back from the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// The mandate, which has ended.
    pub kept: Kept,
    /// The outcome for the move that was open. `None` when no move was open.
    pub stopped: Option<MoveStop>,
}

/// The outcome for a move that was open when its mandate was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveStop {
    /// The move is stopped: nothing was signed, and nothing will be.
    Stopped,
    /// Something was signed. The move continues to its end, and the audit will show that end.
    TooLate,
    /// The mover has not answered. The checks ask it until it does, and the audit will show the
    /// result.
    NotKnown,
}

/// Returns the id of the mandate that a payment creates: 128 bits of a hash over the digest of the
/// payment's authorization. The same payment always gets the same id.
#[must_use]
pub fn mandate_id(payment: B256) -> String {
    let mut bytes = b"yield-watch mandate of payment ".to_vec();
    bytes.extend_from_slice(payment.as_slice());
    let hash = keccak256(bytes);
    hex::encode(hash.iter().take(16).copied().collect::<Vec<u8>>())
}

impl Mandates {
    /// Makes the mandates of a store, without a mover.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Clock) -> Self {
        Self {
            shared: Arc::new(Shared {
                store,
                clock,
                mover: OnceLock::new(),
                cancelled: Acknowledged::default(),
            }),
        }
    }

    /// Sets the mover of mandates that move money. Only the first call has an effect.
    pub fn move_with(&self, mover: Arc<dyn Mover>) {
        if self.shared.mover.set(mover).is_err() {
            tracing::warn!("mandates have a mover already");
        }
    }

    /// Whether mandates can move money.
    #[must_use]
    pub fn can_act(&self) -> bool {
        self.shared.mover().is_some()
    }

    /// Returns the current time in whole seconds, by the clock of the mandates.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.now()
    }

    /// Creates the mandate of a payment, or returns the mandate that the payment has already
    /// created.
    ///
    /// The mandate exists from now on, whatever happens to the payment. When a process ends before
    /// the payment is settled and the same payment comes again, it gets the same mandate. A mandate
    /// that was never charged costs only its checks, and [`MAX_ACTIVE`](yield_watch::MAX_ACTIVE)
    /// limits the number of such mandates. A new mandate is stored only while `claim` holds: the
    /// payment is then still claimed for the call.
    ///
    /// # Errors
    /// [`WatchError::Invalid`], [`WatchError::NoMover`], [`WatchError::TooMany`],
    /// [`WatchError::OtherTerms`], [`WatchError::Store`].
    pub async fn create(
        &self,
        payment: B256,
        terms: Terms,
        claim: Option<Condition>,
    ) -> Result<Kept, WatchError> {
        let store = &self.shared.store;
        let now = self.now();
        let mandate = Mandate {
            id: mandate_id(payment),
            owner: terms.owner,
            rules: terms.rules,
            mode: terms.mode,
            created_at: now,
            expires_at: whole_seconds(terms.expires_at),
            last_check_at: None,
            ended: None,
        };
        // Return an existing mandate even when its terms would be out of bounds now.
        if let Some(kept) = store.find(&mandate.id).await? {
            return same_terms(kept, &mandate);
        }
        let problems = mandate.problems();
        if !problems.is_empty() {
            return Err(WatchError::Invalid(problems));
        }
        if mandate.mode == Mode::Auto && !self.can_act() {
            return Err(WatchError::NoMover);
        }
        let (watched, record) = Watched::create(mandate.clone())?;
        let creation = Creation {
            watched,
            record,
            claim,
            now,
        };
        same_terms(store.create(creation).await?, &mandate)
    }

    /// Returns a mandate of an owner.
    ///
    /// # Errors
    /// [`WatchError::NotFound`], also for the mandate of another owner.
    pub async fn find(&self, owner: &str, id: &str) -> Result<Kept, WatchError> {
        let kept = self.shared.store.find(id).await?;
        kept.filter(|kept| kept.watched.mandate().owner == owner)
            .ok_or(WatchError::NotFound)
    }

    /// Returns the mandate that a payment has created.
    ///
    /// # Errors
    /// [`WatchError::Store`].
    pub async fn of_payment(&self, payment: B256) -> Result<Option<Kept>, WatchError> {
        Ok(self.shared.store.find(&mandate_id(payment)).await?)
    }

    /// Whether a payment has created a mandate whose end is not recorded yet.
    ///
    /// # Errors
    /// [`WatchError::Store`].
    pub async fn is_active(&self, payment: B256) -> Result<bool, WatchError> {
        let kept = self.of_payment(payment).await?;
        Ok(kept.is_some_and(|kept| kept.watched.mandate().ended.is_none()))
    }

    /// Returns at most `most` mandates of an owner, the newest first, including ended ones. With
    /// `before`, returns only mandates of a lower [place](Kept::place).
    ///
    /// # Errors
    /// [`WatchError::Store`].
    pub async fn list(
        &self,
        owner: &str,
        before: Option<u64>,
        most: u32,
    ) -> Result<Vec<Kept>, WatchError> {
        Ok(self.shared.store.list(owner, before, most).await?)
    }

    /// Returns at most `most` records of a mandate's audit, from the record with number `from` on.
    ///
    /// # Errors
    /// [`WatchError::NotFound`], also for the mandate of another owner.
    pub async fn audit(
        &self,
        owner: &str,
        id: &str,
        from: u64,
        most: u32,
    ) -> Result<Vec<AuditRecord>, WatchError> {
        let kept = self.find(owner, id).await?;
        let id = &kept.watched.mandate().id;
        Ok(self.shared.store.records(id, from, most).await?)
    }

    /// Cancels a mandate. A mandate that had ended before keeps its end. The end is durable before
    /// the open move is stopped, so no other move begins. The result is read back from the store at
    /// the end.
    ///
    /// # Errors
    /// [`WatchError::NotFound`], also for the mandate of another owner;
    /// [`WatchError::NotReadBack`].
    pub async fn cancel(&self, owner: &str, id: &str) -> Result<Cancelled, WatchError> {
        let cancelled = (owner.to_owned(), id.to_owned());
        let ends = self.find(owner, id).await?.watched.mandate().expires_at;
        // Kept whatever becomes of the write: the mandate is there, and is remembered once.
        self.shared
            .cancelled
            .claim(cancelled, ends, |_, _| ())
            .keep();
        let ended = self.end(owner, id).await?;
        let open = ended.watched.open_move().map(|open| open.key.clone());
        let stopped = match open {
            Some(key) => Some(self.stop(owner, id, &key).await?),
            None => None,
        };
        let kept = self.find(owner, id).await?;
        if kept.watched.mandate().ended.is_none() {
            return Err(WatchError::NotReadBack);
        }
        Ok(Cancelled { kept, stopped })
    }

    /// Makes the cancellations of this process again, when the store has begun another history and
    /// may lack them. Forgets those of mandates that have ended by themselves. The checks do so
    /// before each sweep.
    ///
    /// # Errors
    /// [`WatchError::Store`]. A later call tries again.
    pub async fn reassert(&self) -> Result<(), WatchError> {
        let (cancelled, now) = (&self.shared.cancelled, self.now());
        cancelled.retain(|ends| *ends > now);
        let Some(history) = self.shared.store.history().await? else {
            return Ok(());
        };
        for lost in cancelled.not_in(&history) {
            let (owner, id) = &lost.key;
            match self.end(owner, id).await {
                // The store may have lost the mandate, too.
                Ok(_) | Err(WatchError::NotFound) => {}
                Err(error @ WatchError::Store(_)) => return Err(error),
                Err(error) => {
                    tracing::error!(
                        mandate = id,
                        code = error.code(),
                        "a lost cancellation cannot be made again"
                    );
                }
            }
            cancelled.is_in(&lost);
        }
        Ok(())
    }

    /// Whether the store can be read and written now.
    ///
    /// # Errors
    /// [`WatchError::Store`].
    pub async fn probe(&self) -> Result<(), WatchError> {
        Ok(self.shared.store.probe().await?)
    }

    /// Writes the end of a mandate, unless it is written already.
    async fn end(&self, owner: &str, id: &str) -> Result<Kept, WatchError> {
        for _ in 0..TRIES {
            let mut kept = self.find(owner, id).await?;
            let Some(record) = kept.watched.end(self.now())? else {
                return Ok(kept);
            };
            let due_at = kept.watched.open_move().map(|_| self.now());
            match self.shared.write(&kept, None, vec![record], due_at).await {
                Err(WatchError::Store(StoreError::Conflict)) => {}
                Err(error) => return Err(error),
                Ok(()) => return self.find(owner, id).await,
            }
        }
        Err(WatchError::NotReadBack)
    }

    /// Stops the open move. When the mover has stopped it, records that.
    async fn stop(&self, owner: &str, id: &str, key: &MoveKey) -> Result<MoveStop, WatchError> {
        let Some(mover) = self.shared.mover() else {
            return Ok(MoveStop::NotKnown);
        };
        match timeout(STOP_PATIENCE, mover.cancel(key)).await {
            Ok(Ok(Stop::Stopped)) => {}
            Ok(Ok(Stop::TooLate)) => return Ok(MoveStop::TooLate),
            Ok(Err(_)) | Err(_) => return Ok(MoveStop::NotKnown),
        }
        for _ in 0..TRIES {
            let mut kept = self.find(owner, id).await?;
            let is_open = kept
                .watched
                .open_move()
                .is_some_and(|open| open.key == *key);
            let outcome = stopped_because(&kept);
            let Some(record) = kept
                .watched
                .conclude(outcome, self.now())?
                .filter(|_| is_open)
            else {
                return Ok(MoveStop::Stopped);
            };
            let due_at = kept.watched.due_at();
            match self.shared.write(&kept, None, vec![record], due_at).await {
                Err(WatchError::Store(StoreError::Conflict)) => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(MoveStop::Stopped),
            }
        }
        // The mover has stopped the move. The next check records it.
        Ok(MoveStop::Stopped)
    }
}

impl Shared {
    pub(crate) fn now(&self) -> Timestamp {
        whole_seconds((self.clock)())
    }

    pub(crate) fn mover(&self) -> Option<&Arc<dyn Mover>> {
        self.mover.get()
    }

    /// Writes the changes to `kept`, on the condition that its revision is still the stored one.
    pub(crate) async fn write(
        &self,
        kept: &Kept,
        lease: Option<&Lease>,
        records: Vec<AuditRecord>,
        due_at: Option<Timestamp>,
    ) -> Result<(), WatchError> {
        let write = Write {
            revision: kept.revision,
            lease: lease.cloned(),
            watched: kept.watched.clone(),
            records,
            due_at,
        };
        self.store.write(write).await?;
        Ok(())
    }
}

/// Returns the outcome of a stopped move. The state of its mandate gives the reason.
pub(crate) fn stopped_because(kept: &Kept) -> MoveOutcome {
    let reason = match kept.watched.mandate().ended.map(|ended| ended.state) {
        Some(State::Cancelled) => "cancelled",
        Some(State::Expired) => "expired",
        Some(State::Active) | None => "stale_data",
    };
    MoveOutcome::Stopped {
        reason: reason.to_owned(),
    }
}

/// Returns a payment's mandate, if its terms are the requested ones.
fn same_terms(kept: Kept, asked: &Mandate) -> Result<Kept, WatchError> {
    let made = kept.watched.mandate();
    let terms = |of: &Mandate| (of.owner.clone(), of.rules.clone(), of.mode, of.expires_at);
    match terms(made) == terms(asked) {
        true => Ok(kept),
        false => Err(WatchError::OtherTerms),
    }
}

/// Truncates to whole seconds, as records do, so that times can be compared.
fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

impl std::fmt::Debug for Mandates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mandates")
            .field("can_act", &self.can_act())
            .finish_non_exhaustive()
    }
}
