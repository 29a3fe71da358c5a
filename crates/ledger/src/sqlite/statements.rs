//! Prepared statements for the life of a connection.

use std::collections::{BTreeMap, btree_map::Entry};

use rusqlite::{Connection, OptionalExtension, Params, PrepFlags, Row, Statement};

/// The prepared statements of one connection. Each is prepared at its first use and then kept.
///
/// rusqlite's own cache hashes and copies the text at every use. Here the text is a constant, and
/// its address identifies it.
#[derive(Debug)]
pub(super) struct Statements<'c> {
    connection: &'c Connection,
    /// The statements by address and length of their text.
    prepared: BTreeMap<(usize, usize), Statement<'c>>,
}

impl<'c> Statements<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self {
            connection,
            prepared: BTreeMap::new(),
        }
    }

    /// Runs a statement that returns no rows. Returns the number of changed rows.
    pub(super) fn execute(
        &mut self,
        sql: &'static str,
        params: impl Params,
    ) -> rusqlite::Result<usize> {
        let statement = self.get(sql)?;
        let changed = statement.execute(params);
        // A bound body would otherwise stay in memory until the next use.
        statement.clear_bindings();
        changed
    }

    /// Reads the only row of a query, if there is one.
    pub(super) fn find<T>(
        &mut self,
        sql: &'static str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        self.get(sql)?.query_row(params, read).optional()
    }

    /// Returns the statement itself, for queries of several rows.
    pub(super) fn get(&mut self, sql: &'static str) -> rusqlite::Result<&mut Statement<'c>> {
        match self.prepared.entry((sql.as_ptr().addr(), sql.len())) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => {
                // Long-lived statements must not use the memory that SQLite keeps for short-lived
                // objects.
                let kept = PrepFlags::SQLITE_PREPARE_PERSISTENT;
                Ok(new.insert(self.connection.prepare_with_flags(sql, kept)?))
            }
        }
    }
}
