//! Pruning on PostgreSQL: deletes the answers and entries whose retention is over.

use std::sync::atomic::Ordering;

use storage::postgres::{PostgresError, Row, get, unsigned};

use super::{Inner, Params, state};
use crate::{
    error::LedgerError,
    journal::Pruned,
    retention::{Aged, Due},
};

/// The number of entries that one call examines.
const BATCH: i64 = 128;

/// The fewest batches of one run. The next run continues where this one stopped.
const LEAST_BATCHES_OF_A_RUN: i64 = 64;

/// How many runs a round over a large ledger takes. With a run every 15 seconds, a round takes an
/// hour. So a row stays at most an hour after it is due.
const RUNS_OF_A_ROUND: i64 = 240;

const OPERATION: &str = "prune";

impl Inner {
    /// Examines the next batch, in the order of the entries' numbers. Their times do not give the
    /// order, because a clock may have been wrong. So a round examines every entry. When several
    /// instances prune at the same time, each row is deleted once.
    pub(super) async fn prune(&self, now: u64) -> Result<Pruned, LedgerError> {
        let after = self.prune_after.load(Ordering::Relaxed);
        let left = match self.prune_batches.load(Ordering::Relaxed) {
            0 => {
                self.prune_newcomers(now).await?;
                self.batches_of_a_run().await?
            }
            left => left,
        };
        let sql = "SELECT id, state, valid_before, changed_at, attempted, private, answered,
                          retired OR repeats IS NOT NULL
                   FROM ledger_entry WHERE id > $1 ORDER BY id LIMIT $2";
        let params: Params<'_> = &[&after, &BATCH];
        let rows = self.postgres.query(OPERATION, sql, params).await?;
        let (mut entries, mut answers) = (Vec::new(), Vec::new());
        let (mut last, mut endless) = (0, self.prune_endless.load(Ordering::Relaxed));
        for row in &rows {
            last = get(row, 0, OPERATION)?;
            let aged = aged(row)?;
            endless = endless.saturating_add(u64::from(aged.stays()));
            match aged.due(&self.options, now) {
                Due::Entry => entries.push(last),
                Due::Answer if get(row, 6, OPERATION)? => answers.push(last),
                Due::Answer | Due::Nothing => {}
            }
        }
        let pruned = self.delete(&entries, &answers).await?;
        let is_end = i64::try_from(rows.len()) != Ok(BATCH);
        let left = if is_end { 0 } else { left.saturating_sub(1) };
        self.prune_after
            .store(if is_end { 0 } else { last }, Ordering::Relaxed);
        self.prune_batches.store(left, Ordering::Relaxed);
        self.prune_endless
            .store(if is_end { 0 } else { endless }, Ordering::Relaxed);
        Ok(Pruned {
            endless: is_end.then_some(endless),
            more: left > 0,
            ..pruned
        })
    }

    /// Returns how many batches a run examines. It depends on the database's estimate of the number
    /// of entries.
    async fn batches_of_a_run(&self) -> Result<i64, PostgresError> {
        let sql = "SELECT reltuples::bigint FROM pg_class WHERE oid = 'ledger_entry'::regclass";
        let row = self.postgres.query_one(OPERATION, sql, &[]).await?;
        let entries: i64 = get(&row, 0, OPERATION)?;
        Ok((entries / RUNS_OF_A_ROUND / BATCH).max(LEAST_BATCHES_OF_A_RUN))
    }

    /// Deletes the `entries` with their answers, and the answers of the entries in `answers`. A
    /// number is never used again and a decided entry never moves, so rows that were due when they
    /// were read are still due.
    async fn delete(&self, entries: &[i64], answers: &[i64]) -> Result<Pruned, PostgresError> {
        if entries.is_empty() && answers.is_empty() {
            return Ok(Pruned::default());
        }
        let sql = "WITH gone AS (
                       DELETE FROM ledger_entry WHERE id = ANY ($1::bigint[]) RETURNING id
                   ), bare AS (
                       UPDATE ledger_entry SET answered = false, receipt = NULL
                       WHERE id = ANY ($2::bigint[]) AND answered RETURNING id
                   ), unplaced AS (
                       DELETE FROM ledger_place WHERE entry IN (SELECT id FROM gone)
                   ), dropped AS (
                       DELETE FROM ledger_answer WHERE entry IN (SELECT id FROM gone UNION ALL SELECT id FROM bare)
                   )
                   SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM bare)";
        let params: Params<'_> = &[&entries, &answers];
        let row = self.postgres.query_one(OPERATION, sql, params).await?;
        Ok(Pruned {
            entries: unsigned(&row, 0, OPERATION)?,
            answers: unsigned(&row, 1, OPERATION)?,
            ..Pruned::default()
        })
    }
}

fn aged(row: &Row) -> Result<Aged, PostgresError> {
    Ok(Aged {
        state: state(row, 1, OPERATION)?,
        valid_before: unsigned(row, 2, OPERATION)?,
        changed_at: unsigned(row, 3, OPERATION)?,
        attempted: get(row, 4, OPERATION)?,
        private: get(row, 5, OPERATION)?,
        retired: get(row, 7, OPERATION)?,
    })
}
