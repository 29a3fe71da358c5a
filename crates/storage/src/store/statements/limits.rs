//! The statements for the use of sliding windows, and for the levels of amounts that refill.

use rusqlite::{Transaction, params};

use super::{Done, number, unsigned};
use crate::store::Level;

pub(in crate::store) fn use_window(
    transaction: &Transaction<'_>,
    name: &str,
    slice: u64,
    weight: u64,
    oldest: u64,
) -> Done<()> {
    transaction
        .prepare_cached(
            "INSERT INTO window_use (name, slice, weight) VALUES (?1, ?2, ?3)
             ON CONFLICT (name, slice) DO UPDATE SET
             weight = min(weight, 9223372036854775807 - excluded.weight) + excluded.weight",
        )?
        .execute(params![name, number(slice), number(weight)])?;
    transaction
        .prepare_cached("DELETE FROM window_use WHERE name = ?1 AND slice < ?2")?
        .execute(params![name, number(oldest)])?;
    Ok(())
}

pub(in crate::store) fn window_use(
    transaction: &Transaction<'_>,
    name: &str,
    oldest: u64,
) -> Done<Vec<(u64, u64)>> {
    let mut statement = transaction.prepare_cached(
        "SELECT slice, weight FROM window_use WHERE name = ?1 AND slice >= ?2 ORDER BY slice",
    )?;
    let rows = statement.query_map(params![name, number(oldest)], |row| {
        Ok((unsigned(row, 0)?, unsigned(row, 1)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(in crate::store) fn keep_levels(
    transaction: &Transaction<'_>,
    levels: &[Level],
    most: u32,
) -> Done<()> {
    let mut keep = transaction.prepare_cached(
        "INSERT INTO level (name, amount, at) VALUES (?1, ?2, ?3)
         ON CONFLICT (name) DO UPDATE SET amount = excluded.amount, at = excluded.at",
    )?;
    for level in levels {
        keep.execute(params![level.name, number(level.amount), number(level.at)])?;
    }
    transaction
        .prepare_cached(
            "DELETE FROM level WHERE name IN
             (SELECT name FROM level ORDER BY at DESC LIMIT -1 OFFSET ?1)",
        )?
        .execute([most])?;
    Ok(())
}

pub(in crate::store) fn levels(transaction: &Transaction<'_>) -> Done<Vec<Level>> {
    let mut statement =
        transaction.prepare_cached("SELECT name, amount, at FROM level ORDER BY at")?;
    let rows = statement.query_map([], |row| {
        Ok(Level {
            name: row.get(0)?,
            amount: unsigned(row, 1)?,
            at: unsigned(row, 2)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
