//! The bounds of the records of one account. Every function runs in the transaction of the write
//! that it bounds.

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::require_room_for_tombstone;
use storage::postgres::{Transaction, get, number};

use super::{Done, Params, read};
use crate::store::{
    StoreError,
    change::{Holder, Place, oldest_live},
    kept::superseded,
};

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

/// Finds the place of an end. A received grant can always be ended, and so can all grants of a
/// known account.
///
/// # Errors
/// `too_many_revocations`, `revocations_full`
pub(super) async fn place(
    transaction: &Transaction<'_>,
    account: Address,
    grant_id: B256,
    holder: Holder,
    now: UtcSeconds,
) -> Done<Place> {
    let at = number(now.unix());
    if !grant_id.is_zero() {
        let sql = "SELECT count(*) FROM fence_grant WHERE account = $1 AND grant_id = $2";
        let params: Params<'_> = &[&account.as_slice(), &grant_id.as_slice()];
        if read::count(&transaction.query(sql, params).await?)? > 0 {
            return Ok(Place::FOR_EVER);
        }
        // These are the ends of single grants that were never received.
        let sql = "SELECT count(*) FROM fence_end
                   WHERE account = $1 AND kept_until > $2 AND grant_id <> $3";
        let params: Params<'_> = &[&account.as_slice(), &at, &B256::ZERO.as_slice()];
        let kept = read::count(&transaction.query(sql, params).await?)?;
        require_room_for_tombstone(kept).map_err(StoreError::from)?;
    }
    let sql = "SELECT account FROM fence_grant WHERE account = $1 LIMIT 1";
    let known = transaction.query_opt(sql, &[&account.as_slice()]).await?;
    let holder = known.map_or(holder, |_| Holder::Known);
    let kept = match holder.pool() {
        Some(pool) => {
            let sql = "SELECT coalesce(sum(records), 0)::bigint FROM fence_end
                       WHERE pool = $1 AND pool <> 0 AND kept_until > $2";
            read::count(&transaction.query(sql, &[&pool, &at]).await?)?
        }
        None => 0,
    };
    Ok(Place::of(grant_id, holder, now, kept).map_err(StoreError::from)?)
}

/// Gives the room back that an account took before its first grant.
pub(super) async fn is_known_now(transaction: &Transaction<'_>, account: Address) -> Done<()> {
    let sql = "UPDATE fence_end SET pool = 0,
                   kept_until = CASE WHEN grant_id = $2 THEN NULL ELSE kept_until END
               WHERE account = $1 AND pool <> 0";
    let params: Params<'_> = &[&account.as_slice(), &B256::ZERO.as_slice()];
    transaction.query(sql, params).await?;
    Ok(())
}

/// Deletes ends whose time is over, with their logs, and the accounts that have nothing else.
/// Returns how many ends.
pub(super) async fn forget(transaction: &Transaction<'_>, now: UtcSeconds, most: u32) -> Done<u64> {
    let sql = "WITH ended AS MATERIALIZED (
                   SELECT account, grant_id FROM fence_end
                   WHERE kept_until <= $1 ORDER BY kept_until LIMIT $2
               ), logs AS (
                   DELETE FROM fence_log l USING ended o
                   WHERE l.account = o.account AND l.grant_id = o.grant_id
               )
               DELETE FROM fence_end e USING ended o
               WHERE e.account = o.account AND e.grant_id = o.grant_id
               RETURNING e.account";
    let params: Params<'_> = &[&number(now.unix()), &i64::from(most)];
    let rows = transaction.query(sql, params).await?;
    let accounts: Vec<&[u8]> = rows
        .iter()
        .map(|row| get(row, 0, "forget"))
        .collect::<Result<_, _>>()?;
    let sql = "DELETE FROM fence_account a WHERE a.account = ANY($1)
                   AND NOT EXISTS (SELECT FROM fence_grant g WHERE g.account = a.account)
                   AND NOT EXISTS (SELECT FROM fence_end e WHERE e.account = a.account)";
    transaction.query(sql, &[&accounts]).await?;
    Ok(u64::try_from(rows.len()).unwrap_or(u64::MAX))
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
