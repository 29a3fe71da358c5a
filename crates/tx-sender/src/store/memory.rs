//! Records in memory. They last as long as the process. This is the model for other stores, and the
//! store of tests.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use alloy_primitives::Address;
use storage::CLOCKS_DIFFER_SECONDS;
use tokio::time::Instant;

use super::{Fence, Store, StoreFuture, Takeover, TurnEnd, TurnFence, TurnStore};
use crate::{Lane, Record, State, StoreError};

/// A store that is not durable. It keeps every other promise of [`Store`].
#[derive(Debug, Default)]
pub struct MemoryStore {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default, Clone)]
struct Inner {
    records: BTreeMap<u64, Record>,
    leases: BTreeMap<Lane, Lease>,
    turns: BTreeMap<Address, Turn>,
    last_id: u64,
}

#[derive(Debug, Clone)]
struct Lease {
    holder: String,
    token: u64,
    until: u64,
}

#[derive(Debug, Clone)]
struct Turn {
    /// The name of the work. Empty when it is finished.
    work: String,
    token: u64,
    until: Instant,
}

impl MemoryStore {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn insert(&mut self, record: Record, turn: Option<TurnFence>) -> Result<Record, StoreError> {
        let known = self.records.values().find(|known| known.key == record.key);
        if let Some(known) = known {
            return Ok(known.clone());
        }
        if let Some(turn) = turn
            && self.turn(turn).is_none()
        {
            let account = turn.account;
            return Err(StoreError::TurnLost { account });
        }
        self.last_id = self.last_id.saturating_add(1);
        let record = Record {
            id: self.last_id,
            revision: 0,
            ..record
        };
        self.records.insert(record.id, record.clone());
        Ok(record)
    }

    /// Returns the turn, if it is the account's newest.
    fn turn(&mut self, turn: TurnFence) -> Option<&mut Turn> {
        let newest = self.turns.get_mut(&turn.account);
        newest.filter(|newest| newest.token == turn.token)
    }

    fn replace(&mut self, record: &Record) -> Result<Record, StoreError> {
        let conflict = || StoreError::Conflict {
            key: record.key.clone(),
        };
        let same = self.records.get(&record.id);
        if !same.is_some_and(|same| same.revision == record.revision && same.key == record.key) {
            return Err(conflict());
        }
        let taken = record.nonce.is_some()
            && self.records.values().any(|other| {
                other.id != record.id && other.lane == record.lane && other.nonce == record.nonce
            });
        if taken {
            return Err(conflict());
        }
        let mut next = record.clone();
        next.revision = next.revision.saturating_add(1);
        self.records.insert(next.id, next.clone());
        Ok(next)
    }
}

impl Store for MemoryStore {
    fn acquire(
        &self,
        lane: Lane,
        holder: &str,
        now: u64,
        seconds: u64,
        takeover: Takeover,
    ) -> StoreFuture<'_, Option<Fence>> {
        let mut inner = self.lock();
        let until = now.saturating_add(seconds);
        let token = match inner.leases.get(&lane) {
            Some(lease) if lease.holder == holder => Some(lease.token),
            Some(lease)
                if takeover == Takeover::WhenOver
                    && lease.until > now
                    && lease.until <= until.saturating_add(u64::from(CLOCKS_DIFFER_SECONDS)) =>
            {
                None
            }
            Some(lease) => Some(lease.token.saturating_add(1)),
            None => Some(1),
        };
        if let Some(token) = token {
            let holder = holder.to_owned();
            inner.leases.insert(
                lane,
                Lease {
                    holder,
                    token,
                    until,
                },
            );
        }
        let fence = token.map(|token| Fence { lane, token });
        Box::pin(std::future::ready(Ok(fence)))
    }

    fn give_back(&self, fence: Fence, holder: &str) -> StoreFuture<'_, ()> {
        if let Some(lease) = self.lock().leases.get_mut(&fence.lane)
            && lease.holder == holder
            && lease.token == fence.token
        {
            // The token stays, so that the next holder gets a higher one.
            lease.until = 0;
            lease.holder = String::new();
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn insert(&self, record: Record) -> StoreFuture<'_, Record> {
        let stands = self.lock().insert(record, None);
        Box::pin(std::future::ready(stands))
    }

    fn insert_in_turn(&self, record: Record, turn: TurnFence) -> StoreFuture<'_, Record> {
        let stands = self.lock().insert(record, Some(turn));
        Box::pin(std::future::ready(stands))
    }

    fn next_nonce(&self, lane: Lane) -> StoreFuture<'_, Option<u64>> {
        let inner = self.lock();
        let of_lane = || inner.records.values().filter(|record| record.lane == lane);
        let waiting = of_lane().filter(|record| record.state == State::Prepared);
        let waiting = u64::try_from(waiting.count()).unwrap_or(u64::MAX);
        let highest = of_lane().filter_map(|record| record.nonce).max();
        let next = highest.map(|nonce| nonce.saturating_add(1).saturating_add(waiting));
        Box::pin(std::future::ready(Ok(next)))
    }

    fn get(&self, key: &str) -> StoreFuture<'_, Option<Record>> {
        let inner = self.lock();
        let found = inner.records.values().find(|record| record.key == key);
        let found = found.cloned();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn live(&self, lane: Lane) -> StoreFuture<'_, Vec<Record>> {
        let inner = self.lock();
        let live = inner.records.values();
        let live: Vec<Record> = live
            .filter(|record| record.lane == lane && !record.is_final)
            .cloned()
            .collect();
        Box::pin(std::future::ready(Ok(live)))
    }

    fn lanes(&self) -> StoreFuture<'_, Vec<Lane>> {
        let inner = self.lock();
        let live = inner.records.values().filter(|record| !record.is_final);
        let mut lanes: Vec<Lane> = live.map(|record| record.lane).collect();
        lanes.sort_unstable();
        lanes.dedup();
        Box::pin(std::future::ready(Ok(lanes)))
    }

    fn write(&self, fence: Fence, records: Vec<Record>) -> StoreFuture<'_, Vec<Record>> {
        let mut inner = self.lock();
        let newest = inner.leases.get(&fence.lane).map(|lease| lease.token);
        let foreign = records.iter().any(|record| record.lane != fence.lane);
        let written = if newest != Some(fence.token) || foreign {
            Err(StoreError::Fenced { lane: fence.lane })
        } else {
            let mut next = inner.clone();
            let written = records.iter().map(|record| next.replace(record)).collect();
            if let Ok(Vec::<Record> { .. }) = &written {
                *inner = next;
            }
            written
        };
        Box::pin(std::future::ready(written))
    }

    fn amend(&self, record: Record) -> StoreFuture<'_, Record> {
        let written = self.lock().replace(&record);
        Box::pin(std::future::ready(written))
    }

    fn prune(&self, submitted_before: u64) -> StoreFuture<'_, u64> {
        let mut inner = self.lock();
        let before = inner.records.len();
        inner
            .records
            .retain(|_, record| !record.is_final || record.submitted_at >= submitted_before);
        let gone = before.saturating_sub(inner.records.len());
        Box::pin(std::future::ready(Ok(
            u64::try_from(gone).unwrap_or(u64::MAX)
        )))
    }
}

impl TurnStore for MemoryStore {
    fn take_turn(
        &self,
        account: Address,
        work: &str,
        lease: Duration,
    ) -> StoreFuture<'_, Option<TurnFence>> {
        let mut inner = self.lock();
        let now = Instant::now();
        let token = match inner.turns.get(&account) {
            None => Some(1),
            Some(turn) => {
                let comes_first = turn.work.is_empty() || turn.work == work;
                let free_at = if comes_first {
                    turn.until
                } else {
                    turn.until + lease
                };
                (free_at <= now).then_some(turn.token.saturating_add(1))
            }
        };
        if let Some(token) = token {
            let turn = Turn {
                work: work.to_owned(),
                token,
                until: now + lease,
            };
            inner.turns.insert(account, turn);
        }
        let taken = token.map(|token| TurnFence { account, token });
        Box::pin(std::future::ready(Ok(taken)))
    }

    fn renew_turn(&self, turn: TurnFence, lease: Duration) -> StoreFuture<'_, bool> {
        let mut inner = self.lock();
        let newest = inner.turn(turn);
        let is_newest = newest.is_some();
        if let Some(turn) = newest {
            turn.until = Instant::now() + lease;
        }
        Box::pin(std::future::ready(Ok(is_newest)))
    }

    fn end_turn(&self, turn: TurnFence, end: TurnEnd) -> StoreFuture<'_, ()> {
        if let Some(turn) = self.lock().turn(turn) {
            turn.until = Instant::now();
            if end == TurnEnd::Finished {
                turn.work.clear();
            }
        }
        Box::pin(std::future::ready(Ok(())))
    }
}
