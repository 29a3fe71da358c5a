//! What was used of windows, and what was left of amounts that refill.

use rusqlite::params;

use super::{Statements, seconds, stored};
use crate::store::{Level, StoreError};

impl Statements<'_> {
    pub(in crate::store) fn use_window(
        &mut self,
        name: &str,
        slice: u64,
        weight: u64,
        oldest: u64,
    ) -> Result<(), StoreError> {
        self.write("use_window", |transaction| {
            transaction
                .prepare_cached(
                    "INSERT INTO window_use (name, slice, weight) VALUES (?1, ?2, ?3)
                     ON CONFLICT (name, slice) DO UPDATE SET
                     weight = min(weight, 9223372036854775807 - excluded.weight) + excluded.weight",
                )?
                .execute(params![name, stored(slice), stored(weight)])?;
            transaction
                .prepare_cached("DELETE FROM window_use WHERE name = ?1 AND slice < ?2")?
                .execute(params![name, stored(oldest)])?;
            Ok(())
        })
    }

    pub(in crate::store) fn window_use(
        &self,
        name: &str,
        oldest: u64,
    ) -> Result<Vec<(u64, u64)>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT slice, weight FROM window_use WHERE name = ?1 AND slice >= ?2 ORDER BY slice",
            )
            .and_then(|mut statement| {
                statement
                    .query_map(params![name, stored(oldest)], |row| {
                        Ok((seconds(row, 0)?, seconds(row, 1)?))
                    })?
                    .collect()
            })
            .map_err(|error| self.named(&error, "window_use"))
    }

    pub(in crate::store) fn keep_levels(
        &mut self,
        levels: &[Level],
        most: u32,
    ) -> Result<(), StoreError> {
        self.write("keep_levels", |transaction| {
            let mut keep = transaction.prepare_cached(
                "INSERT INTO level (name, amount, at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name) DO UPDATE SET amount = excluded.amount, at = excluded.at",
            )?;
            for level in levels {
                keep.execute(params![level.name, stored(level.amount), stored(level.at)])?;
            }
            transaction
                .prepare_cached(
                    "DELETE FROM level WHERE name IN
                     (SELECT name FROM level ORDER BY at DESC LIMIT -1 OFFSET ?1)",
                )?
                .execute([most])?;
            Ok(())
        })
    }

    pub(in crate::store) fn levels(&self) -> Result<Vec<Level>, StoreError> {
        self.connection
            .prepare_cached("SELECT name, amount, at FROM level ORDER BY at")
            .and_then(|mut statement| {
                statement
                    .query_map([], |row| {
                        Ok(Level {
                            name: row.get(0)?,
                            amount: seconds(row, 1)?,
                            at: seconds(row, 2)?,
                        })
                    })?
                    .collect()
            })
            .map_err(|error| self.named(&error, "levels"))
    }
}
