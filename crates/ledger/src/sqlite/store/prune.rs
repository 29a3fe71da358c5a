//! Pruning in the file: deletes the answers and entries whose retention is over.

use rusqlite::{Row, params};
use storage::sqlite::unsigned;

use super::{NONE, Store, state_in};
use crate::{
    journal::Pruned,
    retention::{Aged, Due},
    sqlite::{Failure, schema},
    state::EntryId,
};

/// How many entries one call examines. Payments wait while it runs.
const BATCH: i64 = 128;

/// The fewest entries that one run examines.
const LEAST_OF_A_RUN: i64 = 8_192;

/// How many runs make one round over a large ledger. With a run every 15 seconds a round takes an
/// hour. So rows that are due stay at most an hour longer, and entries with a month of retention
/// cost next to nothing.
const RUNS_OF_A_ROUND: i64 = 240;

/// The progress of a round. It follows the numbers of entries. Their times do not give the order,
/// because a clock may have been wrong, so a round examines every entry. After a rollback, the next
/// round finds the same entries due again.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// The last entry that was examined.
    after: i64,
    /// How many entries this run has still to examine.
    left: i64,
    /// How many entries so far stay without end.
    endless: u64,
}

/// An entry that may be due.
struct Candidate {
    entry: EntryId,
    answer: i64,
    receipt: i64,
    aged: Aged,
}

impl Candidate {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            entry: EntryId::new(row.get(0)?),
            answer: row.get(4)?,
            receipt: row.get(5)?,
            aged: Aged {
                state: state_in(row, 1)?,
                valid_before: unsigned(row, 2)?,
                changed_at: unsigned(row, 3)?,
                attempted: row.get(6)?,
                private: row.get(7)?,
                retired: row.get(8)?,
            },
        })
    }
}

impl Store<'_> {
    /// Prunes the next batch. It uses few pages of the cache, because no other operation needs the
    /// rows that it reads. So an idle ledger of any size stays small in memory.
    pub(in crate::sqlite) fn prune(&mut self, now: u64) -> Result<Pruned, Failure> {
        schema::hold_pages_of(self.connection(), schema::UPKEEP_KIB)?;
        let pruned = self.prune_batch(now);
        schema::hold_pages_of(self.connection(), schema::WORK_KIB)?;
        pruned
    }

    fn prune_batch(&mut self, now: u64) -> Result<Pruned, Failure> {
        if self.round.left <= 0 {
            self.newcomers.prune(&mut self.statements, now)?;
            self.round.left = self.entries_of_a_run()?;
        }
        let batch = self.entries_after(self.round.after)?;
        let is_end = i64::try_from(batch.len()) != Ok(BATCH);
        self.round.after = batch.last().map_or(0, |last| last.entry.number());
        self.round.left = self.round.left.saturating_sub(BATCH);
        let mut pruned = Pruned::default();
        let mut without_answers = Vec::new();
        for candidate in batch {
            let endless = u64::from(candidate.aged.stays());
            self.round.endless = self.round.endless.saturating_add(endless);
            match candidate.aged.due(&self.options, now) {
                Due::Entry => {
                    self.delete(&candidate)?;
                    pruned.entries = pruned.entries.saturating_add(1);
                }
                Due::Answer if (candidate.answer, candidate.receipt) != (NONE, NONE) => {
                    let transaction = self.delete_answer(&candidate)?;
                    without_answers.push((candidate.entry, transaction));
                    pruned.answers = pruned.answers.saturating_add(1);
                }
                Due::Answer | Due::Nothing => {}
            }
        }
        // Each entry grows by its transaction. On a full disk, only the pages of the deleted
        // answers have room for that.
        for (entry, transaction) in without_answers {
            self.keep_transaction(entry, transaction)?;
        }
        if is_end {
            pruned.endless = Some(self.round.endless);
            self.round = Round::default();
        }
        pruned.more = self.round.left > 0;
        Ok(pruned)
    }

    fn entries_of_a_run(&mut self) -> rusqlite::Result<i64> {
        let first = "SELECT coalesce(min(id), 0) FROM entry";
        let first: i64 = self
            .statements
            .get(first)?
            .query_row([], |row| row.get(0))?;
        let all = self.next_entry.saturating_sub(first);
        Ok((all / RUNS_OF_A_ROUND).max(LEAST_OF_A_RUN))
    }

    fn entries_after(&mut self, id: i64) -> rusqlite::Result<Vec<Candidate>> {
        self.statements
            .get(
                "SELECT id, state, valid_before, changed_at, answer, receipt, attempted, private,
                 retired OR repeats IS NOT NULL FROM entry WHERE id > ?1 ORDER BY id LIMIT ?2",
            )?
            .query_map([id, BATCH], Candidate::read)?
            .collect()
    }

    fn delete(&mut self, candidate: &Candidate) -> rusqlite::Result<()> {
        self.delete_row("DELETE FROM answer WHERE id = ?1", candidate.answer)?;
        self.delete_row("DELETE FROM receipt WHERE id = ?1", candidate.receipt)?;
        self.free_place(candidate.entry)?;
        self.delete_row("DELETE FROM entry WHERE id = ?1", candidate.entry.number())
    }

    /// Deletes an answer and its receipt. Returns the receipt's transaction, which the entry keeps.
    fn delete_answer(&mut self, candidate: &Candidate) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT transaction_hash FROM receipt WHERE id = ?1";
        let transaction = self
            .statements
            .find(sql, [candidate.receipt], |row| row.get(0))?;
        self.delete_row("DELETE FROM answer WHERE id = ?1", candidate.answer)?;
        self.delete_row("DELETE FROM receipt WHERE id = ?1", candidate.receipt)?;
        Ok(transaction)
    }

    fn keep_transaction(
        &mut self,
        entry: EntryId,
        transaction: Option<String>,
    ) -> rusqlite::Result<()> {
        let sql = "UPDATE entry SET answer = ?2, receipt = ?2,
                   transaction_hash = coalesce(?3, transaction_hash) WHERE id = ?1";
        let kept = params![entry.number(), NONE, transaction];
        self.statements.execute(sql, kept).map(drop)
    }

    fn delete_row(&mut self, sql: &'static str, id: i64) -> rusqlite::Result<()> {
        self.statements.execute(sql, [id]).map(drop)
    }
}
