//! Writes of the records in PostgreSQL. Functions with a `Transaction` run in one that is
//! serializable, and their conditions are judged inside it.

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::onchain::SignedDelegation;
use delegation_fence::{LogEntry, LogEvent, Policy};
use storage::CLOCKS_DIFFER_SECONDS;
use storage::postgres::{
    Postgres, PostgresError, Row, Transaction, damaged, get, number, unsigned,
};

use super::{
    Done, Failure, Params, bounds,
    read::{self, READ},
};
use crate::store::{
    Acceptance, Change, Holder, Lease, StoreError, Write,
    change::{LastRecord, Place, day_of, next_record},
};

pub(super) async fn install(
    transaction: &Transaction<'_>,
    policy: &Policy,
    at: UtcSeconds,
) -> Done<()> {
    let (name, digest) = (policy.name().to_string(), policy.digest().to_string());
    let sql = "SELECT name, digest FROM fence_policy ORDER BY id DESC LIMIT 1";
    if let Some(row) = transaction.query_opt(sql, &[]).await?
        && (get::<&str>(&row, 0, READ)?, get::<&str>(&row, 1, READ)?) == (&name, &digest)
    {
        return Ok(());
    }
    // Not only the last one counts: the grants under any policy that was replaced would come back
    // with it.
    let sql = "SELECT name, digest FROM fence_policy WHERE base = $1 AND version >= $2
               ORDER BY version DESC, id DESC LIMIT 1";
    let (base, version) = (policy.base_name(), number(policy.version()));
    if let Some(row) = transaction.query_opt(sql, &[&base, &version]).await? {
        let installed = (get(&row, 0, READ)?, get(&row, 1, READ)?);
        return Err(StoreError::policy_not_newer(installed, policy).into());
    }
    let sql = "INSERT INTO fence_policy (name, base, version, digest, document, installed_at)
               VALUES ($1, $2, $3, $4, $5, $6)";
    let params: Params<'_> = &[
        &name,
        &base,
        &version,
        &digest,
        &policy.canonical(),
        &number(at.unix()),
    ];
    transaction.query(sql, params).await?;
    Ok(())
}

/// All changes of a write, on its conditions.
pub(super) async fn apply(transaction: &Transaction<'_>, write: &Write) -> Done<u64> {
    // This statement comes first: it makes other writes about the account wait, and holders who
    // want its lease. Versions and tokens rise by random steps, because a replica that takes over
    // may lack the last ones. With fixed steps it would give the same numbers to other writes and
    // holders.
    let sql = "WITH step AS MATERIALIZED (SELECT 1 + (random() * 1000000)::bigint AS size)
               INSERT INTO fence_account AS a (account, version, holder, token, until)
               SELECT $1::bytea, size, '', 0, 0 FROM step
               ON CONFLICT (account) DO UPDATE SET version = a.version + excluded.version
               RETURNING version, version - (SELECT size FROM step), token";
    let params: Params<'_> = &[&write.account.as_slice()];
    let rows = transaction.query(sql, params).await?;
    let row = read::only(&rows)?;
    let next = unsigned(row, 0, READ)?;
    write.require(unsigned(row, 1, READ)?, unsigned(row, 2, READ)?)?;
    for change in &write.changes {
        make(transaction, write, change).await?;
        if let Some((grant_id, entry)) = change.entry(write.at) {
            append(transaction, write.account, grant_id, entry).await?;
        }
    }
    Ok(next)
}

async fn make(transaction: &Transaction<'_>, write: &Write, change: &Change) -> Done<()> {
    let account = write.account;
    let at = number(write.at.unix());
    match change {
        Change::Grant(received, delegations) => {
            let (grant, owner) = (received.grant(), received.owner());
            bounds::require_room_for_grant(transaction, account, write.at).await?;
            let sql = "INSERT INTO fence_grant
                           (account, grant_id, owner, issued_at, signed, received_at, delegations)
                       VALUES ($1, $2, $3, $4, $5, $6, $7)";
            let params: Params<'_> = &[
                &account.as_slice(),
                &grant.grant_id.as_slice(),
                &owner.as_slice(),
                &number(grant.issued_at),
                &received.signed().to_json(),
                &at,
                &SignedDelegation::list_to_json(delegations),
            ];
            transaction.query(sql, params).await?;
            bounds::is_known_now(transaction, account).await?;
        }
        Change::Limit(received) => {
            let grant_id = received.limit().grant_id;
            let sql = "INSERT INTO fence_limit (account, grant_id, signed, received_at)
                       VALUES ($1, $2, $3, $4)";
            let params: Params<'_> = &[
                &account.as_slice(),
                &grant_id.as_slice(),
                &received.signed().to_json(),
                &at,
            ];
            transaction.query(sql, params).await?;
            bounds::keep_tightest(transaction, account, grant_id).await?;
        }
        Change::End {
            grant_id,
            ended_at,
            signed,
            holder,
        } => {
            let signed = signed.as_ref().map(|signed| signed.to_json());
            let of = (*grant_id, *ended_at);
            end(transaction, write, of, signed.as_deref(), *holder).await?;
        }
        Change::Accept(acceptance) => accept(transaction, write, acceptance).await?,
        Change::Event {
            payload_digest,
            number: count,
            event,
            counts,
            is_open,
            ..
        } => {
            let plan = payload_digest.as_slice();
            let sql = "INSERT INTO fence_event (payload_digest, number, event) VALUES ($1, $2, $3)";
            let params: Params<'_> = &[&plan, &number(*count), &event.to_json()];
            taken_is_conflict(transaction.query(sql, params).await, account)?;
            let sql = "UPDATE fence_plan SET is_open = $2, changed_at = $3,
                           used_at = CASE WHEN $4 AND used_at IS NULL THEN $3 ELSE used_at END
                       WHERE payload_digest = $1";
            let params: Params<'_> = &[&plan, is_open, &at, counts];
            transaction.query(sql, params).await?;
        }
        Change::Gas {
            payload_digest,
            micro_usd,
        } => {
            let sql = "UPDATE fence_plan SET gas_micro_usd = $2 WHERE payload_digest = $1";
            let params: Params<'_> = &[&payload_digest.as_slice(), &number(*micro_usd)];
            transaction.query(sql, params).await?;
        }
    }
    Ok(())
}

async fn accept(transaction: &Transaction<'_>, write: &Write, acceptance: &Acceptance) -> Done<()> {
    let Acceptance {
        order,
        request,
        envelope,
        admitted,
        budget,
    } = acceptance;
    let spent = read::gas_spent_within(transaction, write.account, write.at).await?;
    budget.require_gas(spent).map_err(StoreError::from)?;
    // A plan of another account has another version, so only this finds one that was accepted since
    // the account was read.
    let sql = "SELECT 1 FROM fence_plan p JOIN fence_grant g ON g.owner = p.owner
               WHERE p.is_open AND g.account = $1 AND g.grant_id = $2 LIMIT 1";
    let params: Params<'_> = &[&write.account.as_slice(), &admitted.grant_id.as_slice()];
    if transaction.query_opt(sql, params).await?.is_some() {
        let account = write.account;
        return Err(StoreError::Conflict { account }.into());
    }
    let sql = "INSERT INTO fence_plan
                   (payload_digest, account, grant_id, order_digest, signed, request, envelope,
                    admitted, accepted_at, gas_micro_usd, is_open, changed_at, amount, owner)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, true, $9, $11,
                       (SELECT owner FROM fence_grant WHERE account = $2 AND grant_id = $3))";
    let params: Params<'_> = &[
        &admitted.payload_digest.as_slice(),
        &write.account.as_slice(),
        &admitted.grant_id.as_slice(),
        &admitted.order_digest.as_slice(),
        &order.to_json(),
        request,
        envelope,
        &admitted.to_json(),
        &number(write.at.unix()),
        &number(budget.of_plan),
        &admitted.amount.to_string(),
    ];
    taken_is_conflict(transaction.query(sql, params).await, write.account)
}

/// A row that exists already was written by another process since the account was read.
fn taken_is_conflict(inserted: Result<Vec<Row>, PostgresError>, account: Address) -> Done<()> {
    match inserted {
        Ok(_) => Ok(()),
        Err(PostgresError::Constraint { .. }) => Err(StoreError::Conflict { account }.into()),
        Err(error) => Err(error.into()),
    }
}

async fn end(
    transaction: &Transaction<'_>,
    write: &Write,
    (grant_id, ended_at): (B256, u64),
    signed: Option<&str>,
    holder: Holder,
) -> Done<()> {
    let account = write.account;
    let known = read::ended(transaction, account, grant_id).await?;
    if known.is_some_and(|known| known.stays(grant_id, ended_at)) {
        return Ok(());
    }
    let place = bounds::place(transaction, account, grant_id, holder, write.at).await?;
    end_one(transaction, write, (grant_id, ended_at), signed, place).await?;
    if !grant_id.is_zero() {
        return Ok(());
    }
    let sql = "SELECT g.grant_id FROM fence_grant g
               WHERE g.account = $1 AND g.issued_at <= $2 AND NOT EXISTS (
                   SELECT FROM fence_end e WHERE e.account = g.account AND e.grant_id = g.grant_id
               )
               ORDER BY g.grant_id";
    let params: Params<'_> = &[&account.as_slice(), &number(ended_at)];
    for row in transaction.query(sql, params).await? {
        let grant_id = read::digest(&row, 0)?;
        let of = (grant_id, ended_at);
        end_one(transaction, write, of, None, Place::FOR_EVER).await?;
    }
    Ok(())
}

async fn end_one(
    transaction: &Transaction<'_>,
    write: &Write,
    (grant_id, ended_at): (B256, u64),
    signed: Option<&str>,
    place: Place,
) -> Done<()> {
    let entry = LogEntry::new(write.at, LogEvent::Revoked);
    let seq = append(transaction, write.account, grant_id, entry).await?;
    let sql = "INSERT INTO fence_end AS e
                   (account, grant_id, ended_at, seq, signed, pool, kept_until, records)
               VALUES ($1, $2, $3, $4, $5, $6, $7, 1)
               ON CONFLICT (account, grant_id) DO UPDATE SET
                   ended_at = excluded.ended_at, seq = excluded.seq, signed = excluded.signed,
                   pool = excluded.pool, kept_until = excluded.kept_until, records = e.records + 1";
    let params: Params<'_> = &[
        &write.account.as_slice(),
        &grant_id.as_slice(),
        &number(ended_at),
        &number(seq),
        &signed,
        &place.pool,
        &place.kept_until.map(number),
    ];
    transaction.query(sql, params).await?;
    Ok(())
}

/// Adds a record to a log, and returns its number.
async fn append(
    transaction: &Transaction<'_>,
    account: Address,
    grant_id: B256,
    entry: LogEntry,
) -> Done<u64> {
    let sql = "SELECT seq, hash, at FROM fence_log WHERE account = $1 AND grant_id = $2
               ORDER BY seq DESC LIMIT 1";
    let params: Params<'_> = &[&account.as_slice(), &grant_id.as_slice()];
    let last = match transaction.query_opt(sql, params).await? {
        Some(row) => Some(LastRecord {
            seq: unsigned(&row, 0, READ)?,
            hash: read::digest(&row, 1)?,
            at: unsigned(&row, 2, READ)?,
        }),
        None => None,
    };
    let (record, at) =
        next_record(last, entry).map_err(|error| Failure::from(damaged("append", error)))?;
    let sql = "INSERT INTO fence_log
                   (account, grant_id, seq, at, hash, is_refusal, payload_digest, refused_by, record)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let params: Params<'_> = &[
        &account.as_slice(),
        &grant_id.as_slice(),
        &number(record.seq()),
        &number(at.unix()),
        &record.hash().to_vec(),
        &(record.event() == LogEvent::Refused),
        &record.payload_digest().map(|digest| digest.to_vec()),
        &record.refused_by(),
        &record.to_json(),
    ];
    taken_is_conflict(transaction.query(sql, params).await, account)?;
    Ok(record.seq())
}

pub(super) async fn note_refusal(
    transaction: &Transaction<'_>,
    account: Address,
    grant_id: B256,
    refusal: &LogEntry,
    most: u32,
) -> Done<()> {
    let sql = "SELECT count(*) FILTER (WHERE at >= $5),
                   coalesce(bool_or(payload_digest IS NOT DISTINCT FROM $3
                                    AND refused_by IS NOT DISTINCT FROM $4), false)
               FROM fence_log WHERE account = $1 AND grant_id = $2 AND is_refusal";
    let params: Params<'_> = &[
        &account.as_slice(),
        &grant_id.as_slice(),
        &refusal.payload_digest.map(|digest| digest.to_vec()),
        &refusal.refused_by.map(|rule| rule.as_str()),
        &number(day_of(refusal.at)),
    ];
    let rows = transaction.query(sql, params).await?;
    let is_known: bool = get(read::only(&rows)?, 1, READ)?;
    if is_known || read::count(&rows)? >= u64::from(most) {
        return Ok(());
    }
    let noted = append(transaction, account, grant_id, refusal.clone()).await;
    noted.map(drop)
}

pub(super) async fn acquire(
    postgres: &Postgres,
    account: Address,
    holder: &str,
    now: UtcSeconds,
    for_seconds: u64,
) -> Result<Option<u64>, PostgresError> {
    // It is one statement, so that one of several concurrent holders gets the lease.
    let sql = "INSERT INTO fence_account AS a (account, version, holder, token, until)
               VALUES ($1, 0, $2, 1 + (random() * 1000000)::bigint, $3)
               ON CONFLICT (account) DO UPDATE SET
                   token = a.token + CASE WHEN a.holder = excluded.holder THEN 0 ELSE excluded.token END,
                   holder = excluded.holder, until = excluded.until
               WHERE a.holder = excluded.holder OR a.until <= $4 OR a.until > excluded.until + $5
               RETURNING token";
    let params: Params<'_> = &[
        &account.as_slice(),
        &holder,
        &number(now.unix().saturating_add(for_seconds)),
        &number(now.unix()),
        &i64::from(CLOCKS_DIFFER_SECONDS),
    ];
    let row = postgres.query_opt("acquire", sql, params).await?;
    row.map(|row| unsigned(&row, 0, READ)).transpose()
}

pub(super) async fn give_back(
    postgres: &Postgres,
    lease: Lease,
    holder: &str,
) -> Result<(), PostgresError> {
    let sql = "UPDATE fence_account SET until = 0, holder = ''
               WHERE account = $1 AND token = $2 AND holder = $3";
    let params: Params<'_> = &[&lease.account.as_slice(), &number(lease.token), &holder];
    postgres.query("give back", sql, params).await.map(drop)
}
