//! The deficits of the pool of newcomers and of the shares of addresses.

use std::net::IpAddr;

use rusqlite::{Row, params};
use storage::sqlite::{number, unsigned};

use super::{Options, statements::Statements};
use crate::spending::{Allowance, LATE_SECONDS, Missing, Spent};

/// The name of the pool's row. No address has this name.
const POOL: &str = "";

/// The most shares that are stored. Above it, pruning deletes those whose last use is longest ago.
const MAX_SHARES: i64 = 8_192;

/// The table of deficits. Every write is one statement that adds to the stored deficit, so the
/// order of writes does not matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newcomers {
    pool: Allowance,
    share: Allowance,
}

impl Newcomers {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            pool: options.pool,
            share: options.address_share,
        }
    }

    pub(super) fn spend(
        self,
        statements: &mut Statements<'_>,
        spent: Spent,
        now: u64,
    ) -> rusqlite::Result<()> {
        take(statements, POOL, spent.pool, self.pool, now)?;
        match spent.address {
            Some((address, micro_usd)) => {
                let name = address.to_string();
                take(statements, &name, micro_usd, self.share, now)
            }
            None => Ok(()),
        }
    }

    pub(super) fn missing(
        self,
        statements: &mut Statements<'_>,
        now: u64,
    ) -> rusqlite::Result<Missing> {
        let mut missing = Missing::default();
        let select = statements.get("SELECT name, missing, at FROM newcomer")?;
        for row in select.query_map([], read)? {
            let (name, was_missing, at) = row?;
            let left =
                |allowance: Allowance| allowance.missing_after(now.saturating_sub(at), was_missing);
            if name == POOL {
                missing.pool = left(self.pool);
            } else if let Ok(address) = name.parse::<IpAddr>()
                && let micro_usd @ 1.. = left(self.share)
            {
                missing.addresses.push((address, micro_usd));
            }
        }
        Ok(missing)
    }

    /// Deletes the rows whose deficit has refilled, and the oldest rows above the limit.
    pub(super) fn prune(self, statements: &mut Statements<'_>, now: u64) -> rusqlite::Result<()> {
        let full = "DELETE FROM newcomer
                    WHERE missing <= max(?1 - at, 0) * iif(name = '', ?2, ?3)";
        let rates = params![number(now), rate(self.pool), rate(self.share)];
        statements.execute(full, rates)?;
        let oldest = "DELETE FROM newcomer WHERE name IN
                      (SELECT name FROM newcomer WHERE name <> '' ORDER BY at DESC LIMIT -1 OFFSET ?1)";
        statements.execute(oldest, [MAX_SHARES]).map(drop)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<(String, u64, u64)> {
    Ok((row.get(0)?, unsigned(row, 1)?, unsigned(row, 2)?))
}

/// Adds a cost to a deficit. A late write, or one after a small correction of the clock, refills
/// nothing for time that was counted already. A stored time that is further ahead was wrong, and is
/// replaced.
fn take(
    statements: &mut Statements<'_>,
    name: &str,
    micro_usd: u64,
    allowance: Allowance,
    now: u64,
) -> rusqlite::Result<()> {
    if micro_usd == 0 {
        return Ok(());
    }
    let sql = "INSERT INTO newcomer (name, missing, at) VALUES (?1, min(?2, ?3), ?4)
               ON CONFLICT (name) DO UPDATE SET at = iif(at - ?4 BETWEEN 0 AND ?6, at, ?4),
               missing = min(max(missing - max(?4 - at, 0) * ?5, 0) + min(?2, ?3), ?3)";
    let (spent, capacity) = (bounded(micro_usd), bounded(allowance.capacity));
    let late = number(LATE_SECONDS);
    let values = params![name, spent, capacity, number(now), rate(allowance), late];
    statements.execute(sql, values).map(drop)
}

/// Limits an amount so that SQLite can add two such amounts.
fn bounded(micro_usd: u64) -> i64 {
    number(micro_usd).min(1 << 61)
}

/// The refill of a second, limited so that SQLite can multiply it by any elapsed time.
fn rate(allowance: Allowance) -> i64 {
    number(allowance.per_second).min(1 << 24)
}
