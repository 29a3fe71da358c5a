//! What is done beside the payments: recovery, reconciliation's list, pruning, the probe.

use rusqlite::{Row, params};

use super::{NONE, Store, seconds_in, state_in};
use crate::{
    journal::{Pruned, Recovery, Undecided},
    sqlite::{failure::Failure, schema, seen::Digest},
    state::{EntryId, State},
};

/// Entries that one batch of pruning looks at. Payments wait while it runs.
const PRUNE_BATCH: i64 = 128;

/// Bytes that the probe writes: more than a page, so that a full ledger cannot take them.
const PROBE_BYTES: i64 = 8192;

/// The part of an entry that decides whether it is still needed.
struct Aged {
    entry: EntryId,
    digest: Digest,
    state: State,
    valid_before: u64,
    reserved_at: u64,
    changed_at: u64,
    answer: i64,
    receipt: i64,
}

impl Aged {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            entry: EntryId::new(row.get(0)?),
            state: state_in(row, 1)?,
            valid_before: seconds_in(row, 2)?,
            reserved_at: seconds_in(row, 3)?,
            changed_at: seconds_in(row, 4)?,
            answer: row.get(5)?,
            receipt: row.get(6)?,
            digest: row.get(7)?,
        })
    }
}

impl Store<'_> {
    pub(in crate::sqlite) fn undecided(
        &mut self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, Failure> {
        let statement = self.statements.get(
            "SELECT e.id, a.payload, a.requirements, e.transaction_hash, e.changed_at
             FROM entry AS e INDEXED BY entry_open JOIN answer AS a ON a.id = e.answer
             WHERE e.open = 1 AND e.state = ?1 AND e.id > ?2 ORDER BY e.id LIMIT ?3",
        )?;
        let after = after.map_or(0, EntryId::number);
        let rows = statement.query_map(params![State::Unknown.code(), after, limit], |row| {
            Ok(Undecided {
                entry: EntryId::new(row.get(0)?),
                payload_json: row.get(1)?,
                requirements_json: row.get(2)?,
                transaction: row.get(3)?,
                since: seconds_in(row, 4)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Releases what has not come to settlement, and makes the rest unknown, among the open entries that have not
    /// changed after `until`.
    pub(in crate::sqlite) fn close_open(
        &mut self,
        until: u64,
        cause: &str,
        now: u64,
    ) -> Result<Recovery, Failure> {
        let mut recovery = Recovery::default();
        for (entry, state, changed_at) in self.in_flight()? {
            if changed_at > until {
                continue;
            }
            if state == State::Settling {
                self.mark_unknown(entry, None, cause, now)?;
                recovery.unknown = recovery.unknown.saturating_add(1);
            } else {
                self.release(entry, cause, now)?;
                recovery.released = recovery.released.saturating_add(1);
            }
        }
        Ok(recovery)
    }

    fn in_flight(&mut self) -> rusqlite::Result<Vec<(EntryId, State, u64)>> {
        let (seen, statements) = self.seen()?;
        let statement = statements.get("SELECT state, changed_at FROM entry WHERE id = ?1")?;
        let entries = seen.in_flight().map(|entry| {
            statement.query_row([entry], |row| {
                Ok((EntryId::new(entry), state_in(row, 0)?, seconds_in(row, 1)?))
            })
        });
        entries.collect()
    }

    /// Walks over every entry in its time. What it reads is nobody's working set, so it gets by with few pages: an idle
    /// ledger of any size stays small.
    pub(in crate::sqlite) fn prune(&mut self, now: u64) -> Result<Pruned, Failure> {
        schema::hold_pages_of(self.connection(), schema::UPKEEP_KIB)?;
        let pruned = self.prune_batch(now);
        schema::hold_pages_of(self.connection(), schema::WORK_KIB)?;
        pruned
    }

    fn prune_batch(&mut self, now: u64) -> Result<Pruned, Failure> {
        let aged = self.aged_after(self.prune_after)?;
        let mut pruned = Pruned {
            more: i64::try_from(aged.len()) == Ok(PRUNE_BATCH),
            ..Pruned::default()
        };
        for aged in aged {
            if aged.reserved_at.saturating_add(self.retention_seconds) > now {
                // Entries lie in the order of their reservation: all that follow are younger.
                pruned.more = false;
                break;
            }
            self.prune_after = aged.entry.number();
            let is_closed = matches!(aged.state, State::Settled | State::Released);
            if !is_closed || aged.changed_at.saturating_add(self.retention_seconds) > now {
                continue;
            }
            if aged.valid_before <= now {
                self.delete(&aged)?;
                pruned.entries = pruned.entries.saturating_add(1);
            } else if aged.answer != NONE {
                self.delete_answer(&aged)?;
                pruned.answers = pruned.answers.saturating_add(1);
            }
        }
        if !pruned.more {
            self.prune_after = 0;
            let (seen, statements) = self.seen()?;
            seen.forget_deleted(statements)?;
        }
        Ok(pruned)
    }

    fn aged_after(&mut self, id: i64) -> rusqlite::Result<Vec<Aged>> {
        self.statements
            .get(
                "SELECT id, state, valid_before, reserved_at, changed_at, answer, receipt, authorization
                 FROM entry WHERE id > ?1 ORDER BY id LIMIT ?2",
            )?
            .query_map([id, PRUNE_BATCH], Aged::read)?
            .collect()
    }

    fn delete(&mut self, aged: &Aged) -> rusqlite::Result<()> {
        self.seen()?.0.remove(&aged.digest);
        self.delete_row("DELETE FROM answer WHERE id = ?1", aged.answer)?;
        self.delete_row("DELETE FROM receipt WHERE id = ?1", aged.receipt)?;
        self.delete_row("DELETE FROM entry WHERE id = ?1", aged.entry.number())
    }

    /// Only the answer: the authorization is still good on chain, so the entry must stay.
    fn delete_answer(&mut self, aged: &Aged) -> rusqlite::Result<()> {
        self.delete_row("DELETE FROM answer WHERE id = ?1", aged.answer)?;
        let sql = "UPDATE entry SET answer = ?2 WHERE id = ?1";
        self.statements
            .execute(sql, [aged.entry.number(), NONE])
            .map(drop)
    }

    fn delete_row(&mut self, sql: &'static str, id: i64) -> rusqlite::Result<()> {
        self.statements.execute(sql, [id]).map(drop)
    }

    /// Writes and deletes again; the commit must reach the disk like any other.
    pub(in crate::sqlite) fn probe(&mut self) -> Result<(), Failure> {
        let insert = "INSERT INTO probe (padding) VALUES (zeroblob(?1))";
        self.statements.execute(insert, [PROBE_BYTES])?;
        self.statements.execute("DELETE FROM probe", [])?;
        Ok(())
    }
}
