//! A store of mandates in memory, for tests and for servers without durable state. It keeps the
//! rules of [`Store`] within one process, and loses its content when the process ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use storage::CLOCKS_DIFFER_SECONDS;
use yield_watch::{AuditRecord, MAX_ACTIVE};

use super::{Creation, Kept, Lease, Store, StoreError, StoreFuture, Write};

/// Mandates in memory. Clones share one store.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Arc<Mutex<BTreeMap<String, Row>>>);

#[derive(Debug)]
struct Row {
    kept: Kept,
    records: Vec<AuditRecord>,
    holder: String,
    token: u64,
    until: i64,
}

impl MemoryStore {
    fn rows(&self) -> MutexGuard<'_, BTreeMap<String, Row>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn do_create(&self, creation: Creation) -> Result<Kept, StoreError> {
        let mut rows = self.rows();
        let mandate = creation.watched.mandate();
        if let Some(row) = rows.get(&mandate.id) {
            return Ok(row.kept.clone());
        }
        let active = rows.values().filter(|row| {
            let of = row.kept.watched.mandate();
            of.owner == mandate.owner && of.ended.is_none() && of.expires_at > creation.now
        });
        if active.count() >= MAX_ACTIVE {
            return Err(StoreError::TooMany);
        }
        let place = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        let kept = Kept {
            place: place.saturating_add(1),
            revision: 1,
            due_at: creation.watched.due_at(),
            watched: creation.watched,
        };
        let row = Row {
            kept: kept.clone(),
            records: vec![creation.record],
            holder: String::new(),
            token: 0,
            until: 0,
        };
        rows.insert(kept.watched.mandate().id.clone(), row);
        Ok(kept)
    }

    fn do_write(&self, write: Write) -> Result<u64, StoreError> {
        let mut rows = self.rows();
        let row = rows.get_mut(&write.watched.mandate().id);
        let row = row.ok_or(StoreError::Conflict)?;
        if row.kept.revision != write.revision {
            return Err(StoreError::Conflict);
        }
        if write.lease.is_some_and(|lease| lease.token != row.token) {
            return Err(StoreError::Fenced);
        }
        let revision = write.revision.saturating_add(1);
        row.records.extend(write.records);
        row.kept = Kept {
            place: row.kept.place,
            revision,
            watched: write.watched,
            due_at: write.due_at,
        };
        Ok(revision)
    }

    fn do_acquire(&self, id: &str, holder: &str, now: i64, seconds: u32) -> Option<Lease> {
        let mut rows = self.rows();
        let row = rows.get_mut(id)?;
        let until = now.saturating_add(i64::from(seconds));
        if row.holder != holder {
            let latest = until.saturating_add(i64::from(CLOCKS_DIFFER_SECONDS));
            if !row.holder.is_empty() && row.until > now && row.until <= latest {
                return None;
            }
            row.token = row.token.saturating_add(1);
            row.holder = holder.to_owned();
        }
        row.until = until;
        Some(Lease {
            id: id.to_owned(),
            token: row.token,
        })
    }
}

fn done<'a, T: Send + 'a>(answer: Result<T, StoreError>) -> StoreFuture<'a, T> {
    Box::pin(std::future::ready(answer))
}

fn size(most: u32) -> usize {
    usize::try_from(most).unwrap_or(usize::MAX)
}

impl Store for MemoryStore {
    fn create(&self, creation: Creation) -> StoreFuture<'_, Kept> {
        done(self.do_create(creation))
    }

    fn find(&self, id: &str) -> StoreFuture<'_, Option<Kept>> {
        done(Ok(self.rows().get(id).map(|row| row.kept.clone())))
    }

    fn list(&self, owner: &str, before: Option<u64>, most: u32) -> StoreFuture<'_, Vec<Kept>> {
        let rows = self.rows();
        let mut list: Vec<Kept> = rows
            .values()
            .map(|row| &row.kept)
            .filter(|kept| kept.watched.mandate().owner == owner)
            .filter(|kept| before.is_none_or(|before| kept.place < before))
            .cloned()
            .collect();
        list.sort_by_key(|kept| std::cmp::Reverse(kept.place));
        list.truncate(size(most));
        done(Ok(list))
    }

    fn write(&self, write: Write) -> StoreFuture<'_, u64> {
        done(self.do_write(write))
    }

    fn records(&self, id: &str, from: u64, most: u32) -> StoreFuture<'_, Vec<AuditRecord>> {
        let rows = self.rows();
        let all = rows.get(id).map(|row| row.records.as_slice());
        let records = all.unwrap_or_default().iter();
        let records = records.filter(|record| record.seq >= from).take(size(most));
        done(Ok(records.cloned().collect()))
    }

    fn due(&self, now: Timestamp, most: u32) -> StoreFuture<'_, Vec<String>> {
        let rows = self.rows();
        let mut due: Vec<(Timestamp, u64, String)> = rows
            .iter()
            .filter_map(|(id, row)| {
                let due_at = row.kept.due_at.filter(|due_at| *due_at <= now)?;
                Some((due_at, row.kept.place, id.clone()))
            })
            .collect();
        due.sort();
        due.truncate(size(most));
        done(Ok(due.into_iter().map(|(_, _, id)| id).collect()))
    }

    fn acquire(
        &self,
        id: &str,
        holder: &str,
        now: Timestamp,
        seconds: u32,
    ) -> StoreFuture<'_, Option<Lease>> {
        done(Ok(self.do_acquire(id, holder, now.as_second(), seconds)))
    }

    fn give_back(&self, lease: Lease, holder: &str) -> StoreFuture<'_, ()> {
        let mut rows = self.rows();
        if let Some(row) = rows.get_mut(&lease.id)
            && row.holder == holder
            && row.token == lease.token
        {
            row.holder = String::new();
            row.until = 0;
        }
        done(Ok(()))
    }

    fn probe(&self) -> StoreFuture<'_, ()> {
        done(Ok(()))
    }
}
