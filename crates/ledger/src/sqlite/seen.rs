//! Which authorizations have an entry, and which entries are in flight.
//!
//! Digests are random. A table in their order reads and changes another of its pages for every
//! payment, which is about as much as all the rest that a payment writes. So new digests are held
//! in memory, where they cost nothing, and once there are enough of them they are written down
//! together as a [`Generation`], one page after the other, and never changed again. Of each
//! generation a filter is held, once it was asked, that knows nearly every digest that is not in
//! it, so that a first claim reads next to nothing. When its entries are deleted, so is the
//! generation.
//!
//! Entries in flight are held in memory as well: in an index each payment would write a row and
//! delete it again. Only the few that outlast their generation are marked in the file.
//!
//! What is held is only a copy of what the file says. It is read again after a restart and after a
//! rollback.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
};

use super::{credit::Earning, statements::Statements, store::state_in};

mod generation;

use generation::Generation;

/// What is kept of an authorization's digest.
pub(super) type Digest = [u8; 16];

/// Digests that are written down together. So many entries are read at a start at most; and a claim
/// asks the filter of each generation that is still needed, of which fewer are better.
const GENERATION: usize = if cfg!(test) { 8 } else { 16_384 };

/// Which entries somebody has to find again: what the column `open` says of them. It is 0 for those
/// that are decided, and for those in flight that are among the newest.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mark {
    /// In flight, and older than the newest generation.
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

/// The newest digests, what is held of the others, and the entries in flight.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The digests that are in no generation yet, and their entries.
    held: HashMap<Digest, i64>,
    /// Oldest first.
    generations: Vec<Generation>,
    /// What a settlement will earn, as far as the entry was reserved since this was loaded. Those
    /// up to [`Self::until`] are marked in the file.
    in_flight: BTreeMap<i64, Option<Earning>>,
}

impl Seen {
    /// Reads the newest digests and what is in flight. Digests that should have been written down
    /// already, in a ledger of an older version, are written now.
    pub(super) fn load(statements: &mut Statements<'_>) -> rusqlite::Result<Self> {
        let mut seen = Self {
            generations: Generation::all(statements)?,
            ..Self::default()
        };
        let outlasting = "SELECT id FROM entry INDEXED BY entry_open WHERE open <> 0 AND open = ?1";
        let marked = statements.get(outlasting)?;
        for entry in marked.query_map([Mark::InFlight.code()], |row| row.get(0))? {
            seen.in_flight.insert(entry?, None);
        }
        while seen.hold_next(statements)? {
            seen.write_down(statements)?;
        }
        Ok(seen)
    }

    /// Reads the digests of the next entries; whether they are a whole generation.
    fn hold_next(&mut self, statements: &mut Statements<'_>) -> rusqlite::Result<bool> {
        let most = i64::try_from(GENERATION).unwrap_or(i64::MAX);
        let mut rows = statements
            .get("SELECT authorization, id, state FROM entry WHERE id > ?1 ORDER BY id LIMIT ?2")?
            .query([self.until(), most])?;
        while let Some(row) = rows.next()? {
            let (digest, entry) = (row.get(0)?, row.get(1)?);
            if state_in(row, 2)?.is_in_flight() {
                self.in_flight.insert(entry, None);
            }
            self.held.insert(digest, entry);
        }
        Ok(self.held.len() >= GENERATION)
    }

    /// The newest entry whose digest is written down, as far as it is still needed.
    pub(super) fn until(&self) -> i64 {
        self.generations.last().map_or(0, Generation::last)
    }

    /// The entries in flight, oldest first.
    pub(super) fn in_flight(&self) -> impl ExactSizeIterator<Item = i64> {
        self.in_flight.keys().copied()
    }

    /// The entries in flight after `entry`, oldest first.
    pub(super) fn in_flight_after(&self, entry: i64) -> impl Iterator<Item = i64> {
        let after = (Bound::Excluded(entry), Bound::Unbounded);
        self.in_flight.range(after).map(|(entry, _)| *entry)
    }

    /// An entry is in flight no longer: it is decided, or nobody in this server works on it any
    /// more. Returns what its settlement earns, if that is held.
    pub(super) fn mark_terminal(&mut self, entry: i64) -> Option<Earning> {
        self.in_flight.remove(&entry).flatten()
    }

    /// The newest entry that an authorization has had, if it has had one; it may be deleted.
    pub(super) fn find(
        &self,
        statements: &mut Statements<'_>,
        digest: &Digest,
    ) -> rusqlite::Result<Option<i64>> {
        if let Some(entry) = self.held.get(digest) {
            return Ok(Some(*entry));
        }
        for generation in self.generations.iter().rev() {
            if let Some(entry) = generation.find(statements, digest)? {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Notes a new entry in flight, the newest of all. It takes the place of another one of the
    /// same authorization.
    pub(super) fn add(&mut self, digest: Digest, entry: i64, earning: Earning) {
        self.held.insert(digest, entry);
        self.in_flight.insert(entry, Some(earning));
    }

    /// Forgets an authorization whose entry is deleted. What is written down stays as it is: it
    /// names an entry that is not there.
    pub(super) fn remove(&mut self, digest: &Digest) {
        self.held.remove(digest);
    }

    /// At the end of a batch: writes the digests down that are held, once they are a generation.
    pub(super) fn advance(&mut self, statements: &mut Statements<'_>) -> rusqlite::Result<()> {
        if self.held.len() < GENERATION {
            return Ok(());
        }
        self.write_down(statements)
    }

    /// All of it or nothing, within a transaction as well as without one.
    fn write_down(&mut self, statements: &mut Statements<'_>) -> rusqlite::Result<()> {
        statements.execute("SAVEPOINT generation", [])?;
        let id = self.generations.last().map_or(1, |last| last.id() + 1);
        let mut digests: Vec<_> = self.held.drain().collect();
        digests.sort_unstable();
        let generation = Generation::write(statements, id, &digests)?;
        // They will not be looked for among the newest any more.
        let mark = statements.get("UPDATE entry SET open = ?2 WHERE id = ?1")?;
        for entry in self
            .in_flight
            .range(..=generation.last())
            .map(|(entry, _)| entry)
        {
            mark.execute([*entry, Mark::InFlight.code()])?;
        }
        statements.execute("RELEASE generation", [])?;
        self.generations.push(generation);
        Ok(())
    }

    /// Deletes the generations that have no entry any more.
    pub(super) fn forget_deleted(
        &mut self,
        statements: &mut Statements<'_>,
    ) -> rusqlite::Result<()> {
        let mut before = 0;
        let mut kept = Vec::with_capacity(self.generations.len());
        for generation in self.generations.drain(..) {
            let sql = "SELECT EXISTS (SELECT 1 FROM entry WHERE id > ?1 AND id <= ?2)";
            let entries = [before, generation.last()];
            let exists = statements.get(sql)?.query_row(entries, |row| row.get(0))?;
            before = generation.last();
            if exists {
                kept.push(generation);
            } else {
                generation.delete(statements)?;
            }
        }
        self.generations = kept;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
