//! The store's rules as SQL. A rule that decides between instances is one conditional statement;
//! what needs two is one immediate transaction.

use std::path::Path;

use alloy_primitives::B256;
use bytes::Bytes;
use rusqlite::{
    Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params, types::Type,
};

use super::{
    Artifact, COUNTERS_KEPT_SECONDS, DatasetRecord, StoreError, WINDOWS_KEPT_SECONDS,
    artifact::digest,
};
use crate::sqlite::DatabaseError;

mod limits;

/// What all artifacts take, in bytes of their bodies.
pub(super) const KEPT_BYTES: &str = "SELECT coalesce(sum(size), 0) FROM artifact";

/// One open store.
#[derive(Debug)]
pub(super) struct Statements<'a> {
    pub(super) connection: &'a mut Connection,
    pub(super) path: &'a Path,
}

impl Statements<'_> {
    pub(super) fn lease(
        &self,
        name: &str,
        holder: &str,
        now: u64,
        seconds: u32,
    ) -> Result<bool, StoreError> {
        let until = now.saturating_add(u64::from(seconds));
        let changed = self
            .connection
            .prepare_cached(
                "INSERT INTO lease (name, holder, expires_at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
                 WHERE lease.holder = excluded.holder OR lease.expires_at <= ?4",
            )
            .and_then(|mut statement| {
                statement.execute(params![name, holder, stored(until), stored(now)])
            })
            .map_err(|error| self.named(&error, "lease"))?;
        Ok(changed == 1)
    }

    pub(super) fn give_back(&self, name: &str, holder: &str) -> Result<bool, StoreError> {
        let changed = self
            .connection
            .prepare_cached("DELETE FROM lease WHERE name = ?1 AND holder = ?2")
            .and_then(|mut statement| statement.execute(params![name, holder]))
            .map_err(|error| self.named(&error, "give_back"))?;
        Ok(changed == 1)
    }

    pub(super) fn publish(&mut self, name: &str, record: &DatasetRecord) -> Result<(), StoreError> {
        record.check_time(name)?;
        let newer = self.write("publish", |transaction| {
            let changed = transaction
                .prepare_cached(
                    "INSERT INTO dataset
                     (name, snapshot_id, as_of, inputs_sha256, written_at, body_sha256, body)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                     ON CONFLICT (name) DO UPDATE SET
                     snapshot_id = excluded.snapshot_id, as_of = excluded.as_of,
                     inputs_sha256 = excluded.inputs_sha256, written_at = excluded.written_at,
                     body_sha256 = excluded.body_sha256, body = excluded.body
                     WHERE dataset.as_of <= excluded.as_of",
                )?
                .execute(params![
                    name,
                    record.snapshot_id,
                    stored(record.as_of),
                    record.inputs_sha256.as_slice(),
                    stored(record.written_at),
                    digest(&record.body).as_slice(),
                    record.body.as_ref(),
                ])?;
            if changed == 1 {
                return Ok(None);
            }
            transaction
                .query_row("SELECT as_of FROM dataset WHERE name = ?1", [name], |row| {
                    seconds(row, 0)
                })
                .map(Some)
        })?;
        match newer {
            None => Ok(()),
            Some(expected) => Err(StoreError::OlderRecord {
                name: name.to_owned(),
                expected,
                observed: record.as_of,
            }),
        }
    }

    pub(super) fn latest(&self, name: &str) -> Result<Option<DatasetRecord>, StoreError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT snapshot_id, as_of, inputs_sha256, written_at, body, body_sha256
                 FROM dataset WHERE name = ?1",
            )
            .and_then(|mut statement| {
                statement
                    .query_row([name], |row| {
                        let record = DatasetRecord {
                            snapshot_id: row.get(0)?,
                            as_of: seconds(row, 1)?,
                            inputs_sha256: word(row, 2)?,
                            written_at: seconds(row, 3)?,
                            body: Bytes::from(row.get::<_, Vec<u8>>(4)?),
                        };
                        Ok((record, word(row, 5)?))
                    })
                    .optional()
            })
            .map_err(|error| self.named(&error, "latest"))?;
        match found {
            Some((record, sha256)) if digest(&record.body) != sha256 => Err(self.damaged()),
            found => Ok(found.map(|(record, _)| record)),
        }
    }

    pub(super) fn keep(
        &mut self,
        artifact: &Artifact,
        max_bytes: u64,
        now: u64,
    ) -> Result<(), StoreError> {
        let size = u64::try_from(artifact.bytes().len()).unwrap_or(u64::MAX);
        let too_much = self.write("keep", |transaction| {
            forget_artifacts(transaction, now)?;
            let extended = transaction
                .prepare_cached(
                    "UPDATE artifact SET expires_at = max(expires_at, ?2) WHERE sha256 = ?1",
                )?
                .execute(params![
                    artifact.sha256().as_slice(),
                    stored(artifact.expires_at())
                ])?;
            if extended == 1 {
                return Ok(None);
            }
            let kept = transaction.query_row(KEPT_BYTES, [], |row| seconds(row, 0))?;
            let total = kept.saturating_add(size);
            if total > max_bytes {
                return Ok(Some(total));
            }
            transaction
                .prepare_cached(
                    "INSERT INTO artifact (sha256, media_type, expires_at, size, body)
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![
                    artifact.sha256().as_slice(),
                    artifact.media_type(),
                    stored(artifact.expires_at()),
                    stored(size),
                    artifact.bytes().as_ref(),
                ])?;
            Ok(None)
        })?;
        match too_much {
            None => Ok(()),
            Some(observed) => Err(StoreError::ArtifactsFull {
                expected: max_bytes,
                observed,
            }),
        }
    }

    pub(super) fn has_room(
        &mut self,
        bytes: u64,
        max_bytes: u64,
        now: u64,
    ) -> Result<(), StoreError> {
        let kept = self.write("has_room", |transaction| {
            forget_artifacts(transaction, now)?;
            transaction.query_row(KEPT_BYTES, [], |row| seconds(row, 0))
        })?;
        let observed = kept.saturating_add(bytes);
        if observed > max_bytes {
            return Err(StoreError::ArtifactsFull {
                expected: max_bytes,
                observed,
            });
        }
        let path = self.path;
        let mut run = || {
            let attempt = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            // More than the cache holds goes to the disk at once, or does not fit there.
            attempt
                .prepare_cached(
                    "INSERT INTO artifact (sha256, media_type, expires_at, size, body)
                     VALUES (x'', '', 0, ?1, zeroblob(?1))",
                )?
                .execute([stored(bytes)])?;
            attempt.rollback()
        };
        run().map_err(|error| named(&error, path, "has_room"))
    }

    pub(super) fn artifact(&self, sha256: B256, now: u64) -> Result<Option<Artifact>, StoreError> {
        let found = self
            .connection
            .prepare_cached(
                "SELECT media_type, body, expires_at FROM artifact
                 WHERE sha256 = ?1 AND expires_at > ?2",
            )
            .and_then(|mut statement| {
                statement
                    .query_row(params![sha256.as_slice(), stored(now)], |row| {
                        let media_type: String = row.get(0)?;
                        let body: Vec<u8> = row.get(1)?;
                        Ok((media_type, body, seconds(row, 2)?))
                    })
                    .optional()
            })
            .map_err(|error| self.named(&error, "artifact"))?;
        found
            .map(|(media_type, body, expires_at)| {
                Artifact::checked(sha256, media_type, body.into(), expires_at)
                    .map_err(|_| self.damaged())
            })
            .transpose()
    }

    pub(super) fn count(&self, name: &str, period: u64, amount: u64) -> Result<u64, StoreError> {
        // A total ends where SQLite's integers do.
        self.connection
            .prepare_cached(
                "INSERT INTO counter (name, period, total) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name, period) DO UPDATE SET
                 total = min(total, 9223372036854775807 - excluded.total) + excluded.total
                 RETURNING total",
            )
            .and_then(|mut statement| {
                statement.query_row(params![name, stored(period), stored(amount)], |row| {
                    seconds(row, 0)
                })
            })
            .map_err(|error| self.named(&error, "count"))
    }

    pub(super) fn prune(&mut self, now: u64) -> Result<u64, StoreError> {
        self.write("prune", |transaction| {
            transaction
                .prepare_cached("DELETE FROM lease WHERE expires_at <= ?1")?
                .execute([stored(now)])?;
            transaction
                .prepare_cached("DELETE FROM counter WHERE period < ?1")?
                .execute([stored(now.saturating_sub(COUNTERS_KEPT_SECONDS))])?;
            transaction
                .prepare_cached("DELETE FROM window_use WHERE slice < ?1")?
                .execute([stored(now.saturating_sub(WINDOWS_KEPT_SECONDS))])?;
            forget_artifacts(transaction, now)
        })
    }

    /// Runs `work` with the write lock held from the start, so that what it reads still holds when
    /// it writes.
    fn write<T>(
        &mut self,
        operation: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let path = self.path;
        let run = || {
            let transaction = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        run().map_err(|error| named(&error, path, operation))
    }

    fn named(&self, error: &rusqlite::Error, operation: &'static str) -> StoreError {
        named(error, self.path, operation)
    }

    fn damaged(&self) -> StoreError {
        DatabaseError::Damaged {
            path: self.path.to_owned(),
        }
        .into()
    }
}

fn named(error: &rusqlite::Error, path: &Path, operation: &'static str) -> StoreError {
    DatabaseError::named(error, path, operation).into()
}

fn forget_artifacts(transaction: &Transaction<'_>, now: u64) -> rusqlite::Result<u64> {
    let forgotten = transaction
        .prepare_cached("DELETE FROM artifact WHERE expires_at <= ?1")?
        .execute([stored(now)])?;
    Ok(u64::try_from(forgotten).unwrap_or(u64::MAX))
}

/// A number as SQLite takes it: its integers end at 2^63, which is further than any time or size.
fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn seconds(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

fn word(row: &Row<'_>, column: usize) -> rusqlite::Result<B256> {
    let bytes: Vec<u8> = row.get(column)?;
    B256::try_from(bytes.as_slice()).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Blob, Box::new(error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sqlite, store::schema};

    #[test]
    fn a_full_disk_is_seen_before_there_is_anything_to_keep() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        sqlite::create(&path).unwrap();
        let mut connection = sqlite::open(&path, &schema::FORMAT, &schema::SETTINGS).unwrap();
        let pages: u32 = connection
            .pragma_query_value(None, "page_count", |row| row.get(0))
            .unwrap();
        // The same to SQLite as a disk without room.
        connection
            .pragma_update(None, "max_page_count", pages + 64)
            .unwrap();
        let mut store = Statements {
            connection: &mut connection,
            path: &path,
        };
        assert_eq!(
            store.has_room(4 << 20, u64::MAX, 1),
            Err(DatabaseError::Full.into())
        );
        assert_eq!(store.has_room(4 << 10, u64::MAX, 1), Ok(()));
    }
}
