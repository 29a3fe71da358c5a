//! Entries without a decision, in the file: closing those of orphaned calls, and listing and
//! counting the others.

use alloy_primitives::{Address, U256};
use rusqlite::{Row, params};
use storage::sqlite::{damaged, unsigned};

use super::{Store, state_in};
use crate::spending::Spent;
use crate::{
    journal::{OpenCounts, Recovery, Undecided},
    sqlite::Failure,
    state::{EntryId, State},
};

/// How many entries one batch examines. Payments wait while it runs.
const SWEEP_BATCH: usize = 256;

/// The value of the column `open`, by which entries without a decision are found. It is 0 for
/// decided entries.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mark {
    InFlight,
    Unknown,
    Undecidable,
}

impl Mark {
    pub(super) fn code(self) -> i64 {
        match self {
            Self::InFlight => 1,
            Self::Unknown => 2,
            Self::Undecidable => 3,
        }
    }
}

/// Selects the entries in flight that a sweep closes, and has the cause to record.
#[derive(Debug)]
pub(in crate::sqlite) struct Sweep {
    cause: &'static str,
    /// Sorted, for a binary search.
    owned: Vec<EntryId>,
    untouched_since: u64,
    now: u64,
}

impl Sweep {
    pub(in crate::sqlite) fn everything(cause: &'static str, now: u64) -> Self {
        Self::untouched(cause, Vec::new(), u64::MAX, now)
    }

    /// Selects the entries that are not owned and have not changed since a time.
    pub(in crate::sqlite) fn untouched(
        cause: &'static str,
        mut owned: Vec<EntryId>,
        untouched_since: u64,
        now: u64,
    ) -> Self {
        owned.sort_unstable();
        Self {
            cause,
            owned,
            untouched_since,
            now,
        }
    }

    fn spares(&self, entry: i64) -> bool {
        self.owned.binary_search(&EntryId::new(entry)).is_ok()
    }
}

impl Store<'_> {
    /// Closes the next batch of entries in flight after `after`. Entries before settlement are
    /// released, and entries in settlement become unknown. Returns the entry after which the next
    /// batch begins, if there may be one.
    pub(in crate::sqlite) fn close_open(
        &mut self,
        sweep: &Sweep,
        after: i64,
    ) -> Result<(Recovery, Option<i64>), Failure> {
        let entries = self.in_flight_after(after)?;
        let next = entries.last().map(|(number, ..)| *number);
        let next = next.filter(|_| entries.len() == SWEEP_BATCH);
        let mut recovery = Recovery::default();
        for (number, state, changed_at) in entries {
            if sweep.spares(number) || changed_at > sweep.untouched_since {
                continue;
            }
            let entry = EntryId::new(number);
            if state == State::Settling {
                self.mark_unknown(entry, None, sweep.cause, sweep.now)?;
                recovery.unknown = recovery.unknown.saturating_add(1);
            } else {
                self.release(entry, sweep.cause, Spent::NOTHING, sweep.now)?;
                recovery.released = recovery.released.saturating_add(1);
            }
        }
        Ok((recovery, next))
    }

    /// Reads the number, the state and the last change of the next entries in flight.
    fn in_flight_after(&mut self, after: i64) -> rusqlite::Result<Vec<(i64, State, u64)>> {
        let statement = self.statements.get(
            "SELECT id, state, changed_at FROM entry INDEXED BY entry_open
             WHERE open <> 0 AND open = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
        )?;
        let most = i64::try_from(SWEEP_BATCH).unwrap_or(i64::MAX);
        let rows = statement.query_map([Mark::InFlight.code(), after, most], |row| {
            Ok((row.get(0)?, state_in(row, 1)?, unsigned(row, 2)?))
        })?;
        rows.collect()
    }

    /// Lists the unknown or the undecidable entries after `after`.
    pub(in crate::sqlite) fn list(
        &mut self,
        state: State,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, Failure> {
        let statement = self.statements.get(
            "SELECT e.id, a.payload, a.requirements, e.transaction_hash, e.changed_at, e.cause,
             e.amount, e.payer, e.method, e.path
             FROM entry AS e INDEXED BY entry_open JOIN answer AS a ON a.id = e.answer
             WHERE e.open <> 0 AND e.open = ?1 AND e.id > ?2 ORDER BY e.id LIMIT ?3",
        )?;
        let mark = if state == State::Undecidable {
            Mark::Undecidable
        } else {
            Mark::Unknown
        };
        let after = after.map_or(0, EntryId::number);
        let rows = statement.query_map(params![mark.code(), after, limit], |row| {
            Ok(Undecided {
                entry: EntryId::new(row.get(0)?),
                payload_json: row.get(1)?,
                requirements_json: row.get(2)?,
                transaction: row.get(3)?,
                since: unsigned(row, 4)?,
                cause: row.get(5)?,
                amount: amount_in(row, 6)?,
                payer: payer_in(row, 7)?,
                method: row.get(8)?,
                path: row.get(9)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub(in crate::sqlite) fn open_counts(&mut self) -> Result<OpenCounts, Failure> {
        let statements = &mut self.statements;
        let mut count = |mark: Mark| -> rusqlite::Result<u64> {
            statements
                .get(
                    "SELECT count(*) FROM entry INDEXED BY entry_open
                     WHERE open <> 0 AND open = ?1",
                )?
                .query_row([mark.code()], |row| unsigned(row, 0))
        };
        let in_flight = count(Mark::InFlight)?;
        let (unknown, undecidable) = (count(Mark::Unknown)?, count(Mark::Undecidable)?);
        let oldest: Option<i64> = statements
            .get("SELECT min(changed_at) FROM entry INDEXED BY entry_unknown WHERE open = 2")?
            .query_row([], |row| row.get(0))?;
        Ok(OpenCounts {
            in_flight,
            unknown,
            undecidable,
            oldest_unknown: oldest.map(|at| u64::try_from(at).unwrap_or_default()),
        })
    }
}

pub(super) fn amount_in(row: &Row<'_>, column: usize) -> rusqlite::Result<U256> {
    let text = row.get_ref(column)?.as_str();
    U256::from_str_radix(text.map_err(damaged)?, 10).map_err(damaged)
}

pub(super) fn payer_in(row: &Row<'_>, column: usize) -> rusqlite::Result<Address> {
    row.get::<_, [u8; 20]>(column).map(Address::from)
}
