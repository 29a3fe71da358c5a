//! The rules of the store as SQL. Each function runs in one transaction of its caller.

use alloy_primitives::B256;
use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::{
    Artifact, COUNTERS_KEPT_SECONDS, DatasetRecord, StoreError, WINDOWS_KEPT_SECONDS,
    artifact::digest,
};
use crate::sqlite::{Failure, damaged, number, unsigned};

pub(super) mod limits;

/// The size of the bodies of all artifacts, in bytes.
pub(super) const KEPT_BYTES: &str = "SELECT coalesce(sum(size), 0) FROM artifact";

type Done<T> = Result<T, Failure<StoreError>>;

pub(super) fn lease(
    transaction: &Transaction<'_>,
    name: &str,
    holder: &str,
    now: u64,
    seconds: u32,
) -> Done<bool> {
    let until = now.saturating_add(u64::from(seconds));
    let changed = transaction
        .prepare_cached(
            "INSERT INTO lease (name, holder, expires_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
             WHERE lease.holder = excluded.holder OR lease.expires_at <= ?4",
        )?
        .execute(params![name, holder, number(until), number(now)])?;
    Ok(changed == 1)
}

pub(super) fn give_back(transaction: &Transaction<'_>, name: &str, holder: &str) -> Done<bool> {
    let changed = transaction
        .prepare_cached("DELETE FROM lease WHERE name = ?1 AND holder = ?2")?
        .execute(params![name, holder])?;
    Ok(changed == 1)
}

pub(super) fn publish(
    transaction: &Transaction<'_>,
    name: &str,
    record: &DatasetRecord,
) -> Done<()> {
    record.check_time(name)?;
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
            number(record.as_of),
            record.inputs_sha256.as_slice(),
            number(record.written_at),
            digest(&record.body).as_slice(),
            record.body.as_ref(),
        ])?;
    if changed == 1 {
        return Ok(());
    }
    let expected =
        transaction.query_row("SELECT as_of FROM dataset WHERE name = ?1", [name], |row| {
            unsigned(row, 0)
        })?;
    Err(StoreError::OlderRecord {
        name: name.to_owned(),
        expected,
        observed: record.as_of,
    }
    .into())
}

pub(super) fn latest(transaction: &Transaction<'_>, name: &str) -> Done<Option<DatasetRecord>> {
    let found = transaction
        .prepare_cached(
            "SELECT snapshot_id, as_of, inputs_sha256, written_at, body, body_sha256
             FROM dataset WHERE name = ?1",
        )?
        .query_row([name], |row| {
            let record = DatasetRecord {
                snapshot_id: row.get(0)?,
                as_of: unsigned(row, 1)?,
                inputs_sha256: word(row, 2)?,
                written_at: unsigned(row, 3)?,
                body: Bytes::from(row.get::<_, Vec<u8>>(4)?),
            };
            Ok((record, word(row, 5)?))
        })
        .optional()?;
    match found {
        Some((record, sha256)) if digest(&record.body) != sha256 => {
            Err(damaged("the body has another digest").into())
        }
        found => Ok(found.map(|(record, _)| record)),
    }
}

/// Stores an artifact, or returns why there is no room for it. In both cases it deletes expired
/// artifacts.
pub(super) fn keep(
    transaction: &Transaction<'_>,
    artifact: &Artifact,
    max_bytes: u64,
    now: u64,
) -> Done<Result<(), StoreError>> {
    delete_expired(transaction, now)?;
    let extended = transaction
        .prepare_cached("UPDATE artifact SET expires_at = max(expires_at, ?2) WHERE sha256 = ?1")?
        .execute(params![
            artifact.sha256().as_slice(),
            number(artifact.expires_at())
        ])?;
    if extended == 1 {
        return Ok(Ok(()));
    }
    let size = u64::try_from(artifact.bytes().len()).unwrap_or(u64::MAX);
    let room = room_for(transaction, size, max_bytes)?;
    if room.is_ok() {
        transaction
            .prepare_cached(
                "INSERT INTO artifact (sha256, media_type, expires_at, size, body)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                artifact.sha256().as_slice(),
                artifact.media_type(),
                number(artifact.expires_at()),
                number(size),
                artifact.bytes().as_ref(),
            ])?;
    }
    Ok(room)
}

/// Checks that the limit leaves room for an artifact of this size. It always deletes expired
/// artifacts.
pub(super) fn has_room(
    transaction: &Transaction<'_>,
    bytes: u64,
    max_bytes: u64,
    now: u64,
) -> Done<Result<(), StoreError>> {
    delete_expired(transaction, now)?;
    Ok(room_for(transaction, bytes, max_bytes)?)
}

/// Writes this many bytes and rolls them back. The disk may have less room than the limit leaves.
pub(super) fn try_write(connection: &mut Connection, bytes: u64) -> Done<()> {
    let attempt = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // SQLite writes at once what does not fit into its cache. So a full disk shows before the
    // commit.
    attempt
        .prepare_cached(
            "INSERT INTO artifact (sha256, media_type, expires_at, size, body)
             VALUES (x'', '', 0, ?1, zeroblob(?1))",
        )?
        .execute([number(bytes)])?;
    Ok(attempt.rollback()?)
}

pub(super) fn artifact(
    transaction: &Transaction<'_>,
    sha256: B256,
    now: u64,
) -> Done<Option<Artifact>> {
    let found = transaction
        .prepare_cached(
            "SELECT media_type, body, expires_at FROM artifact
             WHERE sha256 = ?1 AND expires_at > ?2",
        )?
        .query_row(params![sha256.as_slice(), number(now)], |row| {
            let (media_type, body): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
            Artifact::checked(sha256, media_type, body.into(), unsigned(row, 2)?).map_err(damaged)
        })
        .optional()?;
    Ok(found)
}

pub(super) fn count(
    transaction: &Transaction<'_>,
    name: &str,
    period: u64,
    amount: u64,
) -> Done<u64> {
    // The total never exceeds the highest integer of SQLite.
    let total = transaction
        .prepare_cached(
            "INSERT INTO counter (name, period, total) VALUES (?1, ?2, ?3)
             ON CONFLICT (name, period) DO UPDATE SET
             total = min(total, 9223372036854775807 - excluded.total) + excluded.total
             RETURNING total",
        )?
        .query_row(params![name, number(period), number(amount)], |row| {
            unsigned(row, 0)
        })?;
    Ok(total)
}

pub(super) fn prune(transaction: &Transaction<'_>, now: u64) -> Done<u64> {
    transaction
        .prepare_cached("DELETE FROM lease WHERE expires_at <= ?1")?
        .execute([number(now)])?;
    transaction
        .prepare_cached("DELETE FROM counter WHERE period < ?1")?
        .execute([number(now.saturating_sub(COUNTERS_KEPT_SECONDS))])?;
    transaction
        .prepare_cached("DELETE FROM window_use WHERE slice < ?1")?
        .execute([number(now.saturating_sub(WINDOWS_KEPT_SECONDS))])?;
    Ok(delete_expired(transaction, now)?)
}

fn delete_expired(transaction: &Transaction<'_>, now: u64) -> rusqlite::Result<u64> {
    let deleted = transaction
        .prepare_cached("DELETE FROM artifact WHERE expires_at <= ?1")?
        .execute([number(now)])?;
    Ok(u64::try_from(deleted).unwrap_or(u64::MAX))
}

fn room_for(
    transaction: &Transaction<'_>,
    bytes: u64,
    max_bytes: u64,
) -> rusqlite::Result<Result<(), StoreError>> {
    let kept = transaction.query_row(KEPT_BYTES, [], |row| unsigned(row, 0))?;
    let total = kept.saturating_add(bytes);
    Ok(match total > max_bytes {
        true => Err(StoreError::ArtifactsFull {
            expected: max_bytes,
            observed: total,
        }),
        false => Ok(()),
    })
}

fn word(row: &Row<'_>, column: usize) -> rusqlite::Result<B256> {
    row.get::<_, [u8; 32]>(column).map(B256::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        sqlite::{self, DatabaseError},
        store::schema,
    };

    #[test]
    fn a_full_disk_shows_before_anything_is_stored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        sqlite::create(&path).unwrap();
        let mut connection = sqlite::open(&path, &schema::FORMAT, &schema::SETTINGS).unwrap();
        let pages: u32 = connection
            .pragma_query_value(None, "page_count", |row| row.get(0))
            .unwrap();
        // For SQLite this is the same as a disk without room.
        connection
            .pragma_update(None, "max_page_count", pages + 64)
            .unwrap();
        let Err(Failure::Sqlite(error)) = try_write(&mut connection, 4 << 20) else {
            panic!("there is no room");
        };
        let named = DatabaseError::named(&error, &path, "has_room");
        assert_eq!(named, DatabaseError::Full);
        assert!(try_write(&mut connection, 4 << 10).is_ok());
    }
}
