//! SQL, prepared once for the life of a connection.

use std::collections::{BTreeMap, btree_map::Entry};

use rusqlite::{Connection, OptionalExtension, Params, PrepFlags, Row, Statement};

/// The statements of one connection: each is prepared when it is first run and then kept.
///
/// rusqlite's own cache finds a statement by its text, which it hashes and copies for every use.
/// Here the text is a constant, and where it lies says which one it is.
#[derive(Debug)]
pub(super) struct Statements<'c> {
    connection: &'c Connection,
    /// By address and length of the text.
    prepared: BTreeMap<(usize, usize), Statement<'c>>,
}

impl<'c> Statements<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self {
            connection,
            prepared: BTreeMap::new(),
        }
    }

    /// Runs a statement that returns no rows; how many it has changed.
    pub(super) fn execute(
        &mut self,
        sql: &'static str,
        params: impl Params,
    ) -> rusqlite::Result<usize> {
        let statement = self.get(sql)?;
        let changed = statement.execute(params);
        // A body that was bound would be held until the next one is.
        statement.clear_bindings();
        changed
    }

    /// The only row of a query, if there is one.
    pub(super) fn find<T>(
        &mut self,
        sql: &'static str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        self.get(sql)?.query_row(params, read).optional()
    }

    /// The statement itself, for what returns several rows.
    pub(super) fn get(&mut self, sql: &'static str) -> rusqlite::Result<&mut Statement<'c>> {
        match self.prepared.entry((sql.as_ptr().addr(), sql.len())) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => {
                // What is kept must not take the room that SQLite has for what comes and goes.
                let kept = PrepFlags::SQLITE_PREPARE_PERSISTENT;
                Ok(new.insert(self.connection.prepare_with_flags(sql, kept)?))
            }
        }
    }
}
