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
use crate::store::{StoreError, change::oldest_live, kept::superseded};

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

/// Checks the room for a revocation of a grant that was never received. A received grant can always
/// be ended.
///
/// # Errors
/// `too_many_revocations`
pub(super) fn require_room_for_end(
    transaction: &Transaction<'_>,
    account: Address,
    grant_id: B256,
) -> Done<()> {
    if is_granted(transaction, account, grant_id)? {
        return Ok(());
    }
    let kept = tombstones(transaction, account)?;
    Ok(require_room_for_tombstone(kept).map_err(StoreError::from)?)
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
        .prepare_cached(
            "SELECT count(*) FROM permission WHERE account = ?1 AND issued_at >= ?2 AND grant_id NOT IN \
             (SELECT grant_id FROM ending WHERE account = ?1)",
        )?
        .query_row(params![of.to_string(), number(oldest_live(now))], |row| unsigned(row, 0))
}

fn is_granted(connection: &Connection, of: Address, grant_id: B256) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM permission WHERE account = ?1 AND grant_id = ?2")?
        .exists(key(of, grant_id))
}

/// Counts the revoked grants of an account that were never received.
fn tombstones(connection: &Connection, of: Address) -> rusqlite::Result<u64> {
    connection
        .prepare_cached(
            "SELECT count(*) FROM ending WHERE account = ?1 AND grant_id <> ?2 AND grant_id NOT IN \
             (SELECT grant_id FROM permission WHERE account = ?1)",
        )?
        .query_row(key(of, B256::ZERO), |row| unsigned(row, 0))
}
