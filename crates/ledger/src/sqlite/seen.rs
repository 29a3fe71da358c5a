//! Which authorizations have an entry, and which entries are in flight.
//!
//! Digests are random. A table that takes each one as it comes changes another page for every payment, which is nearly half
//! of what the payment writes. So new digests are held in memory, where they cost nothing, and go into the table in the order
//! in which it keeps them: once there are enough they are sorted, and for every [`SLICE`] of new ones as many go into the table.
//! Neighbours share their pages, and no batch has much more to do than another.
//!
//! Entries in flight are held in memory as well: in an index each payment would write a row and delete it again. Only the few
//! that outlast their generation are marked in the file.
//!
//! What is held is only a copy of what the entries say. It is read again after a restart and after a rollback.

use std::{
    collections::{BTreeSet, HashMap, hash_map::Entry},
    mem,
};

use rusqlite::{Connection, params};

use super::{statements::Statements, store::state_in};
use crate::state::State;

/// What is kept of an authorization's digest.
pub(super) type Digest = [u8; 16];

/// Digests that are collected before they are sorted. A table with as many pages changes two of three of them for a whole
/// generation, a smaller one each of its pages once. At a start up to twice as many entries are read.
const GENERATION: usize = if cfg!(test) { 8 } else { 8192 };

/// Digests that go into the table together. Each time changes at least a page of the table, one above it and the note of how
/// far they have come; more at once would only make the batch that takes them along wait.
const SLICE: usize = if cfg!(test) { 2 } else { 128 };

/// The digests that are held, how far they have come into table `seen`, and the entries in flight.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The digests that are not in the table yet, and their entries.
    held: HashMap<Digest, i64>,
    /// Those of the entries up to `until`, the next one last. Some may have lost their entry meanwhile.
    sorted: Vec<Digest>,
    /// Entries before [`State::Unknown`]. Those up to `past` are marked as open in the file.
    in_flight: BTreeSet<i64>,
    /// Entries up to this one are in the table.
    past: i64,
    /// Entries up to this one are in the table or in `sorted`.
    until: i64,
    /// New digests for which none has gone into the table yet.
    owed: usize,
}

impl Seen {
    /// Reads what is not in the table, the last entry that there has been as far as the table knows, and what is in flight.
    pub(super) fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let sweep = "SELECT past, until, reached FROM sweep";
        let sweep = connection.query_row(sweep, [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get::<_, Vec<u8>>(2)?))
        })?;
        let (past, until, reached): (i64, i64, Vec<u8>) = sweep;
        let mut seen = Self {
            past,
            until,
            // The first new one completes a slice: a server that never lives long enough for one gets on as well.
            owed: SLICE.saturating_sub(1),
            ..Self::default()
        };
        let mut statement =
            connection.prepare("SELECT authorization, id, state FROM entry WHERE id > ?1")?;
        let mut rows = statement.query([past])?;
        while let Some(row) = rows.next()? {
            let (digest, entry): (Digest, i64) = (row.get(0)?, row.get(1)?);
            if state_in(row, 2)? < State::Unknown {
                seen.in_flight.insert(entry);
            }
            if entry > until {
                seen.held.insert(digest, entry);
            } else if digest[..] > reached[..] {
                seen.held.insert(digest, entry);
                seen.sorted.push(digest);
            }
        }
        seen.sort();
        let outlasting = "SELECT id FROM entry INDEXED BY entry_open WHERE open = 1 AND state < ?1";
        let mut statement = connection.prepare(outlasting)?;
        for entry in statement.query_map([State::Unknown.code()], |row| row.get(0))? {
            seen.in_flight.insert(entry?);
        }
        Ok(seen)
    }

    /// The newest entry of the last sorted generation.
    pub(super) fn until(&self) -> i64 {
        self.until
    }

    /// The entries in flight, oldest first.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = i64> {
        self.in_flight.iter().copied()
    }

    /// An entry is decided, or will have to be reconciled.
    pub(super) fn landed(&mut self, entry: i64) {
        self.in_flight.remove(&entry);
    }

    /// Where the entry of an authorization is, if it has one.
    pub(super) fn find(
        &self,
        statements: &mut Statements<'_>,
        digest: &Digest,
    ) -> rusqlite::Result<Option<i64>> {
        if let Some(entry) = self.held.get(digest) {
            return Ok(Some(*entry));
        }
        let sql = "SELECT entry FROM seen WHERE authorization = ?1";
        statements.find(sql, [digest], |row| row.get(0))
    }

    /// Notes a new entry in flight, the newest of all. It takes the place of another one of the same authorization.
    pub(super) fn add(&mut self, digest: Digest, entry: i64) {
        self.held.insert(digest, entry);
        self.in_flight.insert(entry);
        self.owed = self.owed.saturating_add(1);
    }

    /// Forgets an entry that is deleted.
    pub(super) fn remove(
        &mut self,
        statements: &mut Statements<'_>,
        digest: &Digest,
        entry: i64,
    ) -> rusqlite::Result<()> {
        if self.held.get(digest) == Some(&entry) {
            self.held.remove(digest);
            return Ok(());
        }
        let sql = "DELETE FROM seen WHERE authorization = ?1 AND entry = ?2";
        statements.execute(sql, params![digest, entry]).map(drop)
    }

    /// At the end of a batch: takes as many digests into the table as there are new ones, once that is a slice.
    pub(super) fn advance(&mut self, statements: &mut Statements<'_>) -> rusqlite::Result<()> {
        if self.owed < SLICE {
            return Ok(());
        }
        let due = mem::take(&mut self.owed);
        if self.sorted.is_empty() && self.held.len() >= GENERATION {
            self.turn();
            self.mark_outlasting(statements)?;
        }
        let rest = self.sorted.len().saturating_sub(due);
        let Some(reached) = self.sorted.get(rest).copied() else {
            return Ok(());
        };
        let insert = statements.get(
            "INSERT INTO seen (authorization, entry) VALUES (?1, ?2)
             ON CONFLICT (authorization) DO UPDATE SET entry = excluded.entry",
        )?;
        for digest in self.sorted.drain(rest..).rev() {
            // One that is claimed again belongs to the next generation.
            if let Entry::Occupied(held) = self.held.entry(digest)
                && *held.get() <= self.until
            {
                insert.execute(params![digest, held.remove()])?;
            }
        }
        let sql = "UPDATE sweep SET past = ?1, until = ?2, reached = ?3 WHERE id = 1";
        statements
            .execute(sql, params![self.past, self.until, reached])
            .map(drop)
    }

    /// The last generation is in the table, and the next one is complete.
    fn turn(&mut self) {
        self.past = self.until;
        self.until = self.held.values().copied().max().unwrap_or(self.past);
        self.sorted.extend(self.held.keys());
        self.sort();
    }

    /// Marks entries that are still in flight although their generation is past: they will not be looked for among the newest.
    fn mark_outlasting(&self, statements: &mut Statements<'_>) -> rusqlite::Result<()> {
        let mark = statements.get("UPDATE entry SET open = 1 WHERE id = ?1")?;
        for entry in self.in_flight.range(..=self.past) {
            mark.execute([entry])?;
        }
        Ok(())
    }

    fn sort(&mut self) {
        self.sorted.sort_unstable_by(|a, b| b.cmp(a));
    }
}

#[cfg(test)]
mod tests;
