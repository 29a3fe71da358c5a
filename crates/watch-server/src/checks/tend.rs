//! One mandate that is due: what is done for it, write by write.
//!
//! Every write leaves the mandate where the next process can go on: a check and the move that it
//! asks for are one write, and the mover hears of the move after it. After that write this process
//! does what a process after a restart does: it asks the mover where the move stands.

use jiff::{SignedDuration, Timestamp};
use readings::defi::market::Market;
use tokio::time::timeout;
use yield_watch::{
    Mode, MoveKey, MoveOutcome, Pool, Position, Proposal, Reading, State, best_allowed,
};

use super::Worker;
use crate::mandates::stopped_because;
use crate::{Edition, Kept, Lease, MoveState, Mover, MoverFuture, Stop, StoreError, WatchError};

/// Steps of one mandate in one go, at most: a check, the look at its move, and those that another
/// writer made void.
const STEPS: u32 = 8;
/// Seconds between two looks at a move that is under way, at least and at most: a quarter of its
/// age lies between.
const LOOK_SECONDS: (i64, i64) = (5, 900);

/// Whether something is left to be done at once.
enum Next {
    Again,
    Rest,
}

impl Worker {
    /// Does what is due for a mandate, under its lease. Nothing when somebody else has it.
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
            // Another process goes on.
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
                // The owner has written in between: what was judged does not hold any more.
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
        // The end comes before the look at the move: a move whose mandate is over is stopped.
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

    /// A check, and the move that it asks for, in one write.
    async fn check(&self, mut kept: Kept, lease: &Lease) -> Result<Next, WatchError> {
        let reading = self.read(&kept).await;
        let records = kept.watched.check(reading)?;
        if records.is_empty() {
            return Ok(Next::Rest);
        }
        // A move is looked at right away.
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
        let (best, position) = match mandate.mode {
            Mode::Notify => {
                let markets = edition.iter().flat_map(|edition| edition.markets.iter());
                (best_allowed(markets, &mandate.rules), None)
            }
            Mode::Auto => self.wallet(kept, edition.as_ref()).await,
        };
        Reading {
            at: self.shared.now(),
            snapshot: edition.map(|edition| edition.snapshot),
            best,
            position,
        }
    }

    /// The best market that the wallet can move into, and where its money is. Without yields that
    /// could decide something it is not asked.
    async fn wallet(
        &self,
        kept: &Kept,
        edition: Option<&Edition>,
    ) -> (Option<Pool>, Option<Position>) {
        let unread = |reason: &str| Position::Unread {
            reason: reason.to_owned(),
        };
        let mandate = kept.watched.mandate();
        let now = self.shared.now();
        let Some(edition) = edition.filter(|edition| edition.snapshot.is_fresh(now)) else {
            return (None, Some(unread("no_fresh_yields")));
        };
        let Some(mover) = self.shared.mover() else {
            return (None, Some(unread("no_chain_connected")));
        };
        let held = mover.held(mandate, &edition.markets);
        match timeout(self.pace.patience, held).await {
            Ok(Ok(holdings)) => {
                let reachable = |market: &&Market| holdings.reachable.contains(&market.pool);
                let best = best_allowed(edition.markets.iter().filter(reachable), &mandate.rules);
                (best, Some(holdings.position))
            }
            Ok(Err(error)) => (None, Some(unread(&error.reason))),
            Err(_) => (None, Some(unread("wallet_timeout"))),
        }
    }

    /// Where the open move stands: its end is recorded, and one that was never begun begins, unless
    /// it must not any more.
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

    /// How the open move ended; `None` while that is not known.
    async fn outcome(&self, kept: &Kept, open: &Proposal) -> Option<MoveOutcome> {
        let mover = self.shared.mover()?;
        let is_over = kept.watched.mandate().ended.is_some();
        let must_not_begin = is_over || self.shared.now() > open.valid_until;
        if must_not_begin {
            match self.asked(mover.cancel(&open.key)).await? {
                Stop::Stopped => return Some(stopped_because(kept)),
                Stop::TooLate => {}
            }
        }
        let state = match self.asked(mover.state(&open.key)).await? {
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
        self.asked(mover.propose(mandate, open)).await
    }

    /// The mover's answer; `None` when it has none or takes too long.
    async fn asked<T>(&self, answer: MoverFuture<'_, T>) -> Option<T> {
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

    /// When a move that is under way is looked at next: ever less often.
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
