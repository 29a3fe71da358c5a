//! The bounds of the records of one account. Every function runs in the transaction of the write
//! that it bounds.

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::require_room_for_tombstone;
use storage::postgres::{Transaction, number};

use super::{Done, Params, read};
use crate::store::{StoreError, change::oldest_live, kept::superseded};

/// # Errors
/// `too_many_grants`
pub(super) async fn require_room_for_grant(
    transaction: &Transaction<'_>,
    account: Address,
    now: UtcSeconds,
) -> Done<()> {
    let sql = "SELECT count(*) FROM fence_grant g
               WHERE g.account = $1 AND g.issued_at >= $2 AND NOT EXISTS (
                   SELECT FROM fence_end e WHERE e.account = g.account AND e.grant_id = g.grant_id
               )";
    let params: Params<'_> = &[&account.as_slice(), &number(oldest_live(now))];
    let live = read::count(&transaction.query(sql, params).await?)?;
    Ok(delegation_fence::require_room_for_grant(live).map_err(StoreError::from)?)
}

/// Checks the room for a revocation of a grant that was never received. A received grant can always
/// be ended.
///
/// # Errors
/// `too_many_revocations`
pub(super) async fn require_room_for_end(
    transaction: &Transaction<'_>,
    account: Address,
    grant_id: B256,
) -> Done<()> {
    let sql = "SELECT count(*) FROM fence_grant WHERE account = $1 AND grant_id = $2";
    let params: Params<'_> = &[&account.as_slice(), &grant_id.as_slice()];
    if read::count(&transaction.query(sql, params).await?)? > 0 {
        return Ok(());
    }
    // These are the ends of grants that were never received.
    let sql = "SELECT count(*) FROM fence_end e
               WHERE e.account = $1 AND e.grant_id <> $2 AND NOT EXISTS (
                   SELECT FROM fence_grant g WHERE g.account = e.account AND g.grant_id = e.grant_id
               )";
    let params: Params<'_> = &[&account.as_slice(), &B256::ZERO.as_slice()];
    let kept = read::count(&transaction.query(sql, params).await?)?;
    Ok(require_room_for_tombstone(kept).map_err(StoreError::from)?)
}

/// Deletes the limits of a grant that add nothing to the tightest of each member.
pub(super) async fn keep_tightest(
    transaction: &Transaction<'_>,
    account: Address,
    grant_id: B256,
) -> Done<()> {
    let ids = superseded(read::limits(transaction, account, grant_id).await?);
    let sql = "DELETE FROM fence_limit WHERE id = ANY($1)";
    transaction.query(sql, &[&ids]).await?;
    Ok(())
}
