//! The digests of a generation, as they are written down.

use std::cell::OnceCell;

use rusqlite::{Row, params, types::Type};

use super::{Digest, GENERATION};
use crate::sqlite::{statements::Statements, store::unreadable};

/// Bytes of a digest and its entry in a bucket.
const PAIR: usize = size_of::<Digest>() + size_of::<i64>();

/// Rows of a generation: one for each first byte of a digest.
const BUCKETS: i64 = 256;

/// A generation in the file, and what is held of it.
#[derive(Debug)]
pub(super) struct Generation {
    id: i64,
    /// Its newest entry.
    last: i64,
    /// Read when a claim asks it for the first time.
    filter: OnceCell<Filter>,
}

impl Generation {
    /// Those in the file, oldest first.
    pub(super) fn all(statements: &mut Statements<'_>) -> rusqlite::Result<Vec<Self>> {
        let read = |row: &Row<'_>| {
            Ok(Self {
                id: row.get(0)?,
                last: row.get(1)?,
                filter: OnceCell::new(),
            })
        };
        statements
            .get("SELECT id, last FROM generation ORDER BY id")?
            .query_map([], read)?
            .collect()
    }

    /// Writes one down: digests in their order, each with its entry.
    pub(super) fn write(
        statements: &mut Statements<'_>,
        id: i64,
        digests: &[(Digest, i64)],
    ) -> rusqlite::Result<Self> {
        let last = digests.iter().map(|(_, entry)| *entry).max();
        let last = last.unwrap_or_default();
        let filter = Filter::of(digests.iter().map(|(digest, _)| digest));
        statements.execute(
            "INSERT INTO generation (id, last, filter) VALUES (?1, ?2, ?3)",
            params![id, last, &filter.0[..]],
        )?;
        let generation = Self {
            id,
            last,
            filter: filter.into(),
        };
        let insert = statements.get("INSERT INTO bucket (id, digests) VALUES (?1, ?2)")?;
        let mut text = Vec::new();
        for bucket in digests.chunk_by(|(a, _), (b, _)| a[0] == b[0]) {
            text.clear();
            for (digest, entry) in bucket {
                text.extend_from_slice(digest);
                text.extend_from_slice(&entry.to_be_bytes());
            }
            let first = bucket.first().map_or(0, |(digest, _)| digest[0]);
            insert.execute(params![generation.bucket(first), text])?;
        }
        Ok(generation)
    }

    pub(super) fn id(&self) -> i64 {
        self.id
    }

    /// Its newest entry.
    pub(super) fn last(&self) -> i64 {
        self.last
    }

    /// The entry of an authorization that was in it. Should the entry be deleted by now, the
    /// authorization has none.
    pub(super) fn find(
        &self,
        statements: &mut Statements<'_>,
        digest: &Digest,
    ) -> rusqlite::Result<Option<i64>> {
        if !self.filter(statements)?.may_have(digest) {
            return Ok(None);
        }
        let sql = "SELECT digests FROM bucket WHERE id = ?1";
        let found = statements.find(sql, [self.bucket(digest[0])], |row| {
            let digests = row.get_ref(0)?.as_blob();
            let digests = digests.map_err(|error| unreadable(0, Type::Blob, error.into()))?;
            let (pairs, []) = digests.as_chunks::<PAIR>() else {
                return Err(unreadable(0, Type::Blob, "not whole digests".into()));
            };
            let mut entries = pairs.iter().filter_map(|pair| pair.strip_prefix(digest));
            Ok(entries.find_map(|entry| Some(i64::from_be_bytes(entry.try_into().ok()?))))
        });
        Ok(found?.flatten())
    }

    fn filter(&self, statements: &mut Statements<'_>) -> rusqlite::Result<&Filter> {
        if let Some(filter) = self.filter.get() {
            return Ok(filter);
        }
        let sql = "SELECT filter FROM generation WHERE id = ?1";
        let read = statements
            .get(sql)?
            .query_row([self.id], |row| Ok(Filter(Box::new(row.get(0)?))))?;
        Ok(self.filter.get_or_init(|| read))
    }

    /// Deletes what is written of it.
    pub(super) fn delete(&self, statements: &mut Statements<'_>) -> rusqlite::Result<()> {
        let buckets = [self.bucket(u8::MIN), self.bucket(u8::MAX)];
        statements.execute("DELETE FROM bucket WHERE id BETWEEN ?1 AND ?2", buckets)?;
        let sql = "DELETE FROM generation WHERE id = ?1";
        statements.execute(sql, [self.id]).map(drop)
    }

    /// The row of the digests that begin with a byte.
    fn bucket(&self, byte: u8) -> i64 {
        self.id * BUCKETS + i64::from(byte)
    }
}

/// Bits of a filter. Ten for each digest and four of them set: one in 85 of the digests that are
/// not in it passes. A million entries take 1.2 MiB of filters.
const BITS: usize = GENERATION * 10;

/// A Bloom filter. Digests are random, so that four parts of one are as good as four hashes of it.
#[derive(Debug)]
pub(super) struct Filter(Box<[u8; BITS / 8]>);

impl Filter {
    pub(super) fn of<'d>(digests: impl Iterator<Item = &'d Digest>) -> Self {
        let mut bits = Box::new([0; BITS / 8]);
        for place in digests.flat_map(places) {
            if let Some(byte) = bits.get_mut(place / 8) {
                *byte |= 1 << (place % 8);
            }
        }
        Self(bits)
    }

    pub(super) fn may_have(&self, digest: &Digest) -> bool {
        let is_set = |place: usize| {
            let byte = self.0.get(place / 8);
            byte.is_some_and(|byte| byte & (1 << (place % 8)) != 0)
        };
        places(digest).all(is_set)
    }
}

/// Which bits of a filter are a digest's.
fn places(digest: &Digest) -> impl Iterator<Item = usize> {
    let (parts, _) = digest.as_chunks::<4>();
    let number = |part: &[u8; 4]| usize::try_from(u32::from_be_bytes(*part));
    parts
        .iter()
        .map(move |part| number(part).unwrap_or_default() % BITS)
}
