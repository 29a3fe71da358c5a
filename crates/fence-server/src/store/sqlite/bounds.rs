//! The bounds of the records of one account. Every function runs in the transaction of the write
//! that it bounds.

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::require_room_for_tombstone;
use rusqlite::{Connection, Transaction, params};
use storage::sqlite::{number, unsigned};

use super::{
    Done,
    read::{self, key},
};
use crate::store::{
    StoreError,
    change::{Holder, Place, oldest_live},
    kept::superseded,
};

/// # Errors
/// `too_many_grants`
pub(super) fn require_room_for_grant(
    transaction: &Transaction<'_>,
    account: Address,
    now: UtcSeconds,
) -> Done<()> {
    let live = live_grants(transaction, account, now)?;
    Ok(delegation_fence::require_room_for_grant(live).map_err(StoreError::from)?)
}

/// Finds the place of an end. A received grant can always be ended, and so can all grants of a
/// known account.
///
/// # Errors
/// `too_many_revocations`, `revocations_full`
pub(super) fn place(
    transaction: &Transaction<'_>,
    account: Address,
    grant_id: B256,
    holder: Holder,
    now: UtcSeconds,
) -> Done<Place> {
    if !grant_id.is_zero() {
        if is_granted(transaction, account, grant_id)? {
            return Ok(Place::FOR_EVER);
        }
        let kept = tombstones(transaction, account, now)?;
        require_room_for_tombstone(kept).map_err(StoreError::from)?;
    }
    let holder = match has_grants(transaction, account)? {
        true => Holder::Known,
        false => holder,
    };
    let kept = match holder.pool() {
        Some(pool) => records_of(transaction, pool, now)?,
        None => 0,
    };
    Ok(Place::of(grant_id, holder, now, kept).map_err(StoreError::from)?)
}

/// Gives the room back that an account took before its first grant.
pub(super) fn is_known_now(transaction: &Transaction<'_>, account: Address) -> Done<()> {
    transaction
        .prepare_cached(
            "UPDATE ending SET pool = 0, \
             kept_until = CASE WHEN grant_id = ?2 THEN NULL ELSE kept_until END \
             WHERE account = ?1 AND pool <> 0",
        )?
        .execute(key(account, B256::ZERO))?;
    Ok(())
}

/// Deletes ends whose time is over, with their logs, and the accounts that have nothing else.
/// Returns how many ends.
pub(super) fn forget(
    transaction: &Transaction<'_>,
    now: UtcSeconds,
    most: u32,
) -> rusqlite::Result<u64> {
    let over: Vec<[String; 2]> = transaction
        .prepare_cached(OVER)?
        .query_map(params![number(now.unix()), most], |row| {
            Ok([row.get(0)?, row.get(1)?])
        })?
        .collect::<rusqlite::Result<_>>()?;
    for [account, grant_id] in &over {
        for delete in [
            "DELETE FROM ending WHERE account = ?1 AND grant_id = ?2",
            "DELETE FROM log WHERE account = ?1 AND grant_id = ?2",
        ] {
            transaction
                .prepare_cached(delete)?
                .execute([account, grant_id])?;
        }
        transaction
            .prepare_cached(
                "DELETE FROM account WHERE account = ?1 \
                 AND NOT EXISTS (SELECT 1 FROM permission WHERE account = ?1) \
                 AND NOT EXISTS (SELECT 1 FROM ending WHERE account = ?1)",
            )?
            .execute([account])?;
    }
    Ok(u64::try_from(over.len()).unwrap_or(u64::MAX))
}

/// Deletes the limits of a grant that add nothing to the tightest of each member.
pub(super) fn keep_tightest(
    transaction: &Transaction<'_>,
    account: Address,
    grant_id: B256,
) -> Done<()> {
    for id in superseded(read::limits(transaction, account, grant_id)?) {
        transaction
            .prepare_cached("DELETE FROM tightening WHERE id = ?1")?
            .execute([id])?;
    }
    Ok(())
}

/// Counts the grants of an account that are neither revoked nor older than a grant may live.
fn live_grants(connection: &Connection, of: Address, now: UtcSeconds) -> rusqlite::Result<u64> {
    connection
        .prepare_cached(LIVE)?
        .query_row(params![of.to_string(), number(oldest_live(now))], |row| {
            unsigned(row, 0)
        })
}

const LIVE: &str = "SELECT count(*) FROM permission WHERE account = ?1 AND issued_at >= ?2 \
     AND NOT EXISTS (SELECT 1 FROM ending WHERE ending.account = permission.account \
                     AND ending.grant_id = permission.grant_id)";

fn is_granted(connection: &Connection, of: Address, grant_id: B256) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM permission WHERE account = ?1 AND grant_id = ?2")?
        .exists(key(of, grant_id))
}

fn has_grants(connection: &Connection, of: Address) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM permission WHERE account = ?1 LIMIT 1")?
        .exists([of.to_string()])
}

/// The ends that are over, the oldest first.
const OVER: &str =
    "SELECT account, grant_id FROM ending WHERE kept_until <= ?1 ORDER BY kept_until LIMIT ?2";

/// The number of an account's ends of single grants that were never received.
const TOMBSTONES: &str =
    "SELECT count(*) FROM ending WHERE account = ?1 AND kept_until > ?2 AND grant_id <> ?3";

fn tombstones(connection: &Connection, of: Address, now: UtcSeconds) -> rusqlite::Result<u64> {
    let [account, all] = key(of, B256::ZERO);
    connection
        .prepare_cached(TOMBSTONES)?
        .query_row(params![account, number(now.unix()), all], |row| {
            unsigned(row, 0)
        })
}

/// The number of records that the ends in a shared room have written.
const RECORDS: &str = "SELECT coalesce(sum(records), 0) FROM ending WHERE pool = ?1 AND pool <> 0 AND kept_until > ?2";

fn records_of(connection: &Connection, pool: i32, now: UtcSeconds) -> rusqlite::Result<u64> {
    connection
        .prepare_cached(RECORDS)?
        .query_row(params![pool, number(now.unix())], |row| unsigned(row, 0))
}

#[cfg(test)]
mod tests {
    use delegation_fence::TOMBSTONE_SECONDS;
    use storage::sqlite::{Format, Worker};

    use super::*;
    use crate::store::sqlite::{FORMAT, SETTINGS};

    /// Strangers fill these rows, and every revocation counts them.
    #[test]
    fn ends_are_counted_and_found_by_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.fence.db");
        drop(Worker::shared(path.clone(), &FORMAT, &SETTINGS).unwrap());
        let connection = Connection::open(path).unwrap();
        for (query, index) in [
            (OVER, "ending_over"),
            (TOMBSTONES, "ending_of_account"),
            (RECORDS, "COVERING INDEX ending_of_pool"),
            (LIVE, "permission_issued"),
        ] {
            let mut explained = connection
                .prepare(&format!("EXPLAIN QUERY PLAN {query}"))
                .unwrap();
            let parameters = explained.parameter_count();
            let plan: Vec<String> = explained
                .query_map(rusqlite::params_from_iter(vec![0; parameters]), |row| {
                    row.get(3)
                })
                .unwrap()
                .collect::<rusqlite::Result<_>>()
                .unwrap();
            let plan = plan.join("\n");
            assert!(plan.contains(index), "{plan}");
            for word in ["SCAN", "TEMP B-TREE"] {
                assert!(!plan.contains(word), "{plan}");
            }
        }
    }

    /// The records of an earlier version: a received grant and its end, the end of one that never
    /// arrived, and the end of all.
    #[test]
    fn the_ends_of_an_earlier_version_get_their_places() {
        const OLD: Format = Format {
            application_id: FORMAT.application_id,
            migrations: &[
                include_str!("../0001.sql"),
                include_str!("../0002.sql"),
                include_str!("../0003.sql"),
            ],
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.fence.db");
        drop(Worker::shared(path.clone(), &OLD, &SETTINGS).unwrap());
        let connection = Connection::open(&path).unwrap();
        let [granted, never, all] = [1, 2, 0].map(B256::with_last_byte);
        let insert = format!(
            "INSERT INTO permission (account, grant_id, owner, issued_at, signed, received_at) \
                 VALUES ('a', '{granted}', 'o', 1, '', 1);
             INSERT INTO ending (account, grant_id, ended_at, seq) \
                 VALUES ('a', '{granted}', 1, 1), ('a', '{never}', 1, 0), ('a', '{all}', 1, 0);
             INSERT INTO log (account, grant_id, seq, at, hash, event, record) \
                 VALUES ('a', '{granted}', 0, 7, '', '', ''), ('a', '{granted}', 1, 1000, '', '', ''), \
                        ('a', '{never}', 0, 1000, '', '', ''), ('a', '{all}', 0, 1000, '', '', '');"
        );
        connection.execute_batch(&insert).unwrap();
        drop(connection);
        drop(Worker::shared(path.clone(), &FORMAT, &SETTINGS).unwrap());
        let connection = Connection::open(path).unwrap();
        let place = |grant_id: B256| -> (i32, Option<i64>) {
            let sql = "SELECT pool, kept_until FROM ending WHERE grant_id = ?1";
            let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            connection
                .query_row(sql, [grant_id.to_string()], read)
                .unwrap()
        };
        assert_eq!(place(granted), (0, None));
        assert_eq!(place(never), (0, Some(number(1000 + TOMBSTONE_SECONDS))));
        assert_eq!(place(all), (0, None));
        let postgres = include_str!("../postgres/0002.sql");
        assert!(postgres.contains(&format!("+ {TOMBSTONE_SECONDS}")));
    }
}
