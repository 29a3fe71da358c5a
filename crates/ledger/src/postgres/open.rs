//! Entries without a decision, on PostgreSQL: closing those that have no call, and listing and
//! counting the others.

use std::sync::atomic::Ordering;

use alloy_primitives::{Address, U256};
use storage::postgres::{PostgresError, Row, bytes, damaged, get, number, unsigned};

use super::{Inner, Params, code};
use crate::{
    error::LedgerError,
    journal::{OpenCounts, Recovery, Undecided},
    state::{EntryId, State},
};

/// The number of entries that one statement closes.
const SWEEP_BATCH: i64 = 256;

/// The number of statements of one sweep for abandoned entries.
const SWEEP_BATCHES: u32 = 64;

/// Selects which of this instance's entries a sweep closes. It closes the entries of expired
/// instances in any case.
#[derive(Clone, Debug)]
pub(super) struct Sweep {
    pub(super) cause: &'static str,
    /// Entries that have a live call. They stay open.
    pub(super) owned: Vec<i64>,
    /// Entries that changed after this time stay open.
    pub(super) untouched_since: u64,
}

impl Inner {
    /// Closes entries in flight, in batches. Entries before settlement are released. Entries in
    /// settlement become unknown and then belong to this instance. The sweep skips an entry that
    /// another instance has locked at this moment.
    pub(super) async fn sweep(&self, sweep: &Sweep, now: u64) -> Result<Recovery, LedgerError> {
        let mut total = Recovery::default();
        let mut after = self.abandon_after.load(Ordering::Relaxed);
        for _ in 0..SWEEP_BATCHES {
            let closed = self.close_batch(sweep, after, now).await?;
            total.released = total.released.saturating_add(closed.recovery.released);
            total.unknown = total.unknown.saturating_add(closed.recovery.unknown);
            after = closed.last.unwrap_or(0);
            if after == 0 {
                break;
            }
        }
        self.abandon_after.store(after, Ordering::Relaxed);
        Ok(total)
    }

    async fn close_batch(
        &self,
        sweep: &Sweep,
        after: i64,
        now: u64,
    ) -> Result<Closed, PostgresError> {
        const SQL: &str = concat!(
            "WITH orphans AS (
                 SELECT id FROM ledger_entry
                 WHERE open = 1 AND id > $2 AND ",
            alive!(),
            " AND ((owner = $1 AND changed_at <= $9 AND NOT id = ANY ($10::bigint[])) OR NOT ",
            alive!("ledger_entry.owner"),
            ")
                 ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED
             ), closed AS (
                 UPDATE ledger_entry AS e SET
                     state = CASE WHEN e.state = $4 THEN $5::smallint ELSE $6::smallint END,
                     open = CASE WHEN e.state = $4 THEN 2 ELSE 0 END,
                     payment_id = CASE WHEN e.state = $4 THEN e.payment_id END,
                     owner = $1, cause = $7, changed_at = greatest(e.changed_at, $8)
                 FROM orphans WHERE e.id = orphans.id
                 RETURNING e.id, e.state
             ), unplaced AS (
                 DELETE FROM ledger_place WHERE entry IN (SELECT id FROM closed WHERE state = $6)
             )
             SELECT (SELECT count(*) FROM closed WHERE state = $6), (SELECT count(*) FROM closed WHERE state = $5),
                 (SELECT max(id) FROM orphans), (SELECT count(*) FROM orphans),
                 ARRAY(SELECT id FROM closed)"
        );
        const OPERATION: &str = "abandon";
        let params: Params<'_> = &[
            &self.number().await?,
            &after,
            &SWEEP_BATCH,
            &code(State::Settling),
            &code(State::Unknown),
            &code(State::Released),
            &sweep.cause,
            &number(now),
            &number(sweep.untouched_since),
            &sweep.owned,
        ];
        let row = self.postgres.query_one(OPERATION, SQL, params).await?;
        let orphans: i64 = get(&row, 3, OPERATION)?;
        let closed: Vec<i64> = get(&row, 4, OPERATION)?;
        self.working().retain(|entry| !closed.contains(entry));
        let last: Option<i64> = get(&row, 2, OPERATION)?;
        Ok(Closed {
            recovery: Recovery {
                released: unsigned(&row, 0, OPERATION)?,
                unknown: unsigned(&row, 1, OPERATION)?,
            },
            last: last.filter(|_| orphans == SWEEP_BATCH),
        })
    }

    /// Takes over the unknown entries of expired instances, and then lists the unknown entries
    /// after `after` that belong to this instance. Skips entries that another instance is taking
    /// over. Writes nothing when there are none to take over.
    pub(super) async fn undecided(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, LedgerError> {
        const SQL: &str = concat!(
            "WITH taken AS (
                 UPDATE ledger_entry SET owner = $1 WHERE id IN (
                     SELECT id FROM ledger_entry
                     WHERE open = 2 AND id > $2 AND owner <> $1 AND ",
            alive!(),
            " AND NOT ",
            alive!("ledger_entry.owner"),
            "
                     ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED
                 ) RETURNING *
             ), held AS (
                 SELECT * FROM ledger_entry WHERE open = 2 AND id > $2 AND owner = $1 AND ",
            alive!(),
            " ORDER BY id LIMIT $3
             )
             SELECT e.id, a.payload, a.requirements, e.transaction_hash, e.changed_at, e.cause,
                 e.amount::text, e.payer, e.method, e.path
             FROM (SELECT * FROM held UNION ALL SELECT * FROM taken) AS e
                 JOIN ledger_answer AS a ON a.entry = e.id
             ORDER BY e.id LIMIT $3"
        );
        let after = after.map_or(0, EntryId::number);
        let params: Params<'_> = &[&self.number().await?, &after, &i64::from(limit)];
        self.listed("undecided", SQL, params).await
    }

    /// Lists the undecidable entries after `after`.
    pub(super) async fn undecidable(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, LedgerError> {
        let sql =
            "SELECT e.id, a.payload, a.requirements, e.transaction_hash, e.changed_at, e.cause,
                       e.amount::text, e.payer, e.method, e.path
                   FROM ledger_entry AS e JOIN ledger_answer AS a ON a.entry = e.id
                   WHERE e.open = 3 AND e.id > $1 ORDER BY e.id LIMIT $2";
        let after = after.map_or(0, EntryId::number);
        let params: Params<'_> = &[&after, &i64::from(limit)];
        self.listed("undecidable", sql, params).await
    }

    async fn listed(
        &self,
        operation: &'static str,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Undecided>, LedgerError> {
        let rows = self.postgres.query(operation, sql, params).await?;
        let read = |row: &Row| {
            let amount: &str = get(row, 6, operation)?;
            Ok(Undecided {
                entry: EntryId::new(get(row, 0, operation)?),
                payload_json: get(row, 1, operation)?,
                requirements_json: get(row, 2, operation)?,
                transaction: get(row, 3, operation)?,
                since: unsigned(row, 4, operation)?,
                cause: get(row, 5, operation)?,
                amount: U256::from_str_radix(amount, 10)
                    .map_err(|_| damaged(operation, "an amount is no number"))?,
                payer: Address::from(bytes::<20>(row, 7, operation)?),
                method: get(row, 8, operation)?,
                path: get(row, 9, operation)?,
            })
        };
        rows.iter().map(read).collect()
    }

    /// Counts open entries, and reads the size of the tables on disk.
    pub(super) async fn open_counts(&self) -> Result<OpenCounts, LedgerError> {
        const OPERATION: &str = "open_counts";
        let sql = "SELECT count(*) FILTER (WHERE open = 1), count(*) FILTER (WHERE open = 2),
                       count(*) FILTER (WHERE open = 3), min(changed_at) FILTER (WHERE open = 2),
                       (SELECT sum(pg_total_relation_size(t::regclass))::bigint FROM
                        unnest(ARRAY['ledger_entry', 'ledger_answer', 'ledger_place', 'ledger_credit', 'ledger_newcomer']) AS t)
                   FROM ledger_entry WHERE open <> 0";
        let row = self.postgres.query_one(OPERATION, sql, &[]).await?;
        let oldest: Option<i64> = get(&row, 3, OPERATION)?;
        let size = unsigned(&row, 4, OPERATION)?;
        self.size_bytes.store(size, Ordering::Relaxed);
        Ok(OpenCounts {
            in_flight: unsigned(&row, 0, OPERATION)?,
            unknown: unsigned(&row, 1, OPERATION)?,
            undecidable: unsigned(&row, 2, OPERATION)?,
            oldest_unknown: oldest.map(|at| u64::try_from(at).unwrap_or_default()),
        })
    }

    /// Checks that a durable write works.
    pub(super) async fn probe(&self) -> Result<(), LedgerError> {
        let sql = "INSERT INTO ledger_probe (instance, at) VALUES ($1, clock_timestamp())
                   ON CONFLICT (instance) DO UPDATE SET at = excluded.at";
        let params: Params<'_> = &[&self.number().await?];
        Ok(self.postgres.query("probe", sql, params).await.map(drop)?)
    }
}

/// How many entries one statement closed, and the entry after which the next one begins.
struct Closed {
    recovery: Recovery,
    last: Option<i64>,
}
