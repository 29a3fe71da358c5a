//! Does the due work of one mandate, write by write.
//!
//! Every write leaves the mandate in a state from which another process can continue. One write
//! records a check and the move that it requests. The mover gets the move only afterwards. From
//! that write on, this process does the same as a process after a restart: it asks the mover for
//! the state of the move.

use jiff::{SignedDuration, Timestamp};
use readings::Figure;
use readings::defi::market::Market;
use tokio::time::timeout;
use yield_watch::{
    Mode, MoveKey, MoveOutcome, Pool, Position, Proposal, Reading, State, best_allowed,
};

use super::Worker;
use crate::mandates::stopped_because;
use crate::{Edition, Kept, Lease, MoveState, Mover, MoverFuture, Stop, StoreError, WatchError};

/// The most steps for one mandate in a row. A step is a check, a look at the mandate's move, or a
/// repetition after a conflict.
const STEPS: u32 = 8;
/// The shortest and the longest pause between two looks at a move that is under way, in seconds. In
/// between, the pause is a quarter of the move's age.
const LOOK_SECONDS: (i64, i64) = (5, 900);

/// Whether more work follows immediately.
enum Next {
    Again,
    Rest,
}

impl Worker {
    /// Does the due work of a mandate under its lease. Does nothing while another process has the
    /// lease.
    pub(super) async fn tend(&self, id: &str) -> Result<(), WatchError> {
        let store = &self.shared.store;
        let (now, seconds) = (self.shared.now(), self.pace.lease_seconds);
        let Some(lease) = store.acquire(id, &self.holder, now, seconds).await? else {
            return Ok(());
        };
        let done = self.steps(id, &lease).await;
        if let Err(error) = store.give_back(lease, &self.holder).await {
            tracing::debug!(code = error.code(), "a lease was not given back");
        }
        match done {
            // Another process has taken the lease and continues.
            Err(WatchError::Store(StoreError::Fenced)) => Ok(()),
            done => done,
        }
    }

    async fn steps(&self, id: &str, lease: &Lease) -> Result<(), WatchError> {
        for _ in 0..STEPS {
            let Some(kept) = self.shared.store.find(id).await? else {
                return Ok(());
            };
            match self.step(kept, lease).await {
                Ok(Next::Rest) => return Ok(()),
                // Another write came in between, so the step is decided again.
                Ok(Next::Again) | Err(WatchError::Store(StoreError::Conflict)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn step(&self, mut kept: Kept, lease: &Lease) -> Result<Next, WatchError> {
        let now = self.shared.now();
        if kept.due_at.is_none_or(|due_at| due_at > now) {
            return Ok(Next::Rest);
        }
        let state = kept.watched.mandate().state(now);
        let is_recorded = kept.watched.mandate().ended.is_some();
        // Record the end before looking at the move, so that the move of an ended mandate is
        // stopped.
        if state == State::Expired && !is_recorded {
            let record = kept.watched.end(now)?;
            let due_at = kept.watched.open_move().map(|_| now);
            let records = record.into_iter().collect();
            let write = self.shared.write(&kept, Some(lease), records, due_at);
            write.await?;
            return Ok(Next::Again);
        }
        if let Some(open) = kept.watched.open_move().cloned() {
            return self.look(kept, open, lease).await;
        }
        if is_recorded || !kept.watched.may_check(now) {
            return Ok(Next::Rest);
        }
        self.check(kept, lease).await
    }

    /// Makes a check. One write records the check and the move that it requests.
    async fn check(&self, mut kept: Kept, lease: &Lease) -> Result<Next, WatchError> {
        let reading = self.read(&kept).await;
        let records = kept.watched.check(reading)?;
        if records.is_empty() {
            return Ok(Next::Rest);
        }
        // A new move is looked at immediately.
        let due_at = match kept.watched.open_move() {
            Some(_) => Some(self.shared.now()),
            None => kept.watched.due_at(),
        };
        let write = self.shared.write(&kept, Some(lease), records, due_at);
        write.await?;
        Ok(Next::Again)
    }

    async fn read(&self, kept: &Kept) -> Reading {
        let mandate = kept.watched.mandate();
        let edition = self.yields.latest().await;
        let (best, position, cost_usd) = match mandate.mode {
            Mode::Notify => {
                let markets = edition.iter().flat_map(|edition| edition.markets.iter());
                (best_allowed(markets, &mandate.rules), None, None)
            }
            Mode::Auto => self.wallet(kept, edition.as_ref()).await,
        };
        Reading {
            at: self.shared.now(),
            snapshot: edition.map(|edition| edition.snapshot),
            best,
            position,
            cost_usd,
        }
    }

    /// Returns the best market into which the wallet can move, the position of its money, and the
    /// cost of a move. Only yields on which two sources agree count. The wallet is not asked when
    /// the yields are missing or too old for a decision.
    async fn wallet(
        &self,
        kept: &Kept,
        edition: Option<&Edition>,
    ) -> (Option<Pool>, Option<Position>, Option<Figure>) {
        let unread = |reason: &str| Position::Unread {
            reason: reason.to_owned(),
        };
        let mandate = kept.watched.mandate();
        let now = self.shared.now();
        let Some(edition) = edition.filter(|edition| edition.snapshot.is_fresh(now)) else {
            return (None, Some(unread("no_fresh_yields")), None);
        };
        let Some(mover) = self.shared.mover() else {
            return (None, Some(unread("no_chain_connected")), None);
        };
        let confirmed: Vec<Market> = edition
            .markets
            .iter()
            .filter(|market| market.is_confirmed())
            .cloned()
            .collect();
        let held = mover.held(mandate, &confirmed);
        match timeout(self.pace.patience, held).await {
            Ok(Ok(holdings)) => {
                let reachable = |market: &&Market| holdings.reachable.contains(&market.pool);
                let best = best_allowed(confirmed.iter().filter(reachable), &mandate.rules);
                (best, Some(holdings.position), Some(holdings.cost_usd))
            }
            Ok(Err(error)) => (None, Some(unread(&error.reason)), None),
            Err(_) => (None, Some(unread("wallet_timeout")), None),
        }
    }

    /// Looks at the open move. Records its end, or begins the move if it has not begun and still
    /// may.
    async fn look(
        &self,
        mut kept: Kept,
        open: Proposal,
        lease: &Lease,
    ) -> Result<Next, WatchError> {
        let Some(outcome) = self.outcome(&kept, &open).await else {
            let due_at = Some(self.next_look(&kept));
            let write = self.shared.write(&kept, Some(lease), Vec::new(), due_at);
            write.await?;
            return Ok(Next::Rest);
        };
        let records = kept.watched.conclude(outcome, self.shared.now())?;
        let due_at = kept.watched.due_at();
        let records = records.into_iter().collect();
        let write = self.shared.write(&kept, Some(lease), records, due_at);
        write.await?;
        Ok(Next::Rest)
    }

    /// Returns the outcome of the open move. `None` while it is unknown.
    ///
    /// A move that must not begin any more is cancelled first. A move that the mover does not know
    /// is proposed to it.
    async fn outcome(&self, kept: &Kept, open: &Proposal) -> Option<MoveOutcome> {
        let mover = self.shared.mover()?;
        let is_over = kept.watched.mandate().ended.is_some();
        let must_not_begin = is_over || self.shared.now() > open.valid_until;
        if must_not_begin {
            match self.wait_for(mover.cancel(&open.key)).await? {
                Stop::Stopped => return Some(stopped_because(kept)),
                Stop::TooLate => {}
            }
        }
        let state = match self.wait_for(mover.state(&open.key)).await? {
            Some(state) => state,
            None if must_not_begin => {
                contradiction(&open.key);
                return None;
            }
            None => self.propose(kept, open, mover.as_ref()).await?,
        };
        match state {
            MoveState::Ended(outcome) => Some(outcome),
            MoveState::UnderWay => None,
        }
    }

    async fn propose(&self, kept: &Kept, open: &Proposal, mover: &dyn Mover) -> Option<MoveState> {
        let mandate = kept.watched.mandate();
        self.wait_for(mover.propose(mandate, open)).await
    }

    /// Waits for the mover's answer. `None` when the mover fails or takes too long.
    async fn wait_for<T>(&self, answer: MoverFuture<'_, T>) -> Option<T> {
        match timeout(self.pace.patience, answer).await {
            Ok(Ok(answer)) => Some(answer),
            Ok(Err(error)) => {
                tracing::warn!(reason = error.reason, "the mover cannot answer");
                None
            }
            Err(_) => {
                tracing::warn!("the mover takes too long");
                None
            }
        }
    }

    /// Returns the time of the next look at a move that is under way. The pauses grow with the
    /// move's age.
    fn next_look(&self, kept: &Kept) -> Timestamp {
        let now = self.shared.now();
        let asked_at = kept.watched.mandate().last_check_at.unwrap_or(now);
        let (least, most) = LOOK_SECONDS;
        let wait = (now.duration_since(asked_at).as_secs() / 4).clamp(least, most);
        now.checked_add(SignedDuration::from_secs(wait))
            .unwrap_or(Timestamp::MAX)
    }
}

fn contradiction(key: &MoveKey) {
    tracing::error!(%key, "the mover says that it is too late to stop a move that it does not know");
}
