//! Writes of the records in SQLite. Every function runs in one transaction that holds the write
//! lock, and judges the conditions of the write inside it.

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::onchain::SignedDelegation;
use delegation_fence::{LogEntry, LogEvent, Policy};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use storage::CLOCKS_DIFFER_SECONDS;
use storage::sqlite::{damaged, is_constraint, number, parsed, unsigned};

use super::{
    Done, bounds,
    read::{self, key, text},
};
use crate::store::{
    Acceptance, Change, Holder, Lease, StoreError, Write,
    change::{LastRecord, Place, day_of, next_record},
};

pub(super) fn install(transaction: &Transaction<'_>, policy: &Policy, at: UtcSeconds) -> Done<()> {
    let installed = transaction
        .prepare_cached("SELECT name, digest FROM policy ORDER BY id DESC LIMIT 1")?
        .query_row([], |row| Ok((text(row, 0)?, text(row, 1)?)))
        .optional()?;
    let (name, digest) = (policy.name().to_string(), policy.digest().to_string());
    if installed.is_some_and(|(old_name, old_digest)| {
        (old_name, old_digest) == (name.clone(), digest.clone())
    }) {
        return Ok(());
    }
    // Every replaced policy counts, not only the last one: otherwise the grants under it would come
    // back with it.
    let newest = transaction
        .prepare_cached(
            "SELECT name, digest FROM policy WHERE base = ?1 AND version >= ?2 \
             ORDER BY version DESC, id DESC LIMIT 1",
        )?
        .query_row(
            params![policy.base_name(), number(policy.version())],
            |row| Ok((text(row, 0)?, text(row, 1)?)),
        )
        .optional()?;
    if let Some((old_name, old_digest)) = newest {
        return Err(StoreError::policy_not_newer((&old_name, &old_digest), policy).into());
    }
    transaction
        .prepare_cached(
            "INSERT INTO policy (name, base, version, digest, document, installed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            name,
            policy.base_name(),
            number(policy.version()),
            digest,
            policy.canonical(),
            number(at.unix()),
        ])?;
    Ok(())
}

/// Makes all changes of a write, on its conditions.
pub(super) fn apply(transaction: &Transaction<'_>, write: &Write) -> Done<u64> {
    let account = write.account;
    let (version, token) = read::account(transaction, account)?;
    write.require(version, token)?;
    for change in &write.changes {
        make(transaction, write, change)?;
        if let Some((grant_id, entry)) = change.entry(write.at) {
            append(transaction, account, grant_id, entry)?;
        }
    }
    let next = version.saturating_add(1);
    transaction
        .prepare_cached(
            "INSERT INTO account (account, version, holder, token, until) VALUES (?1, ?2, '', 0, 0) \
             ON CONFLICT (account) DO UPDATE SET version = excluded.version",
        )?
        .execute(params![account.to_string(), number(next)])?;
    Ok(next)
}

fn make(transaction: &Transaction<'_>, write: &Write, change: &Change) -> Done<()> {
    let account = write.account;
    let at = number(write.at.unix());
    match change {
        Change::Grant(received, delegations) => {
            let grant = received.grant();
            bounds::require_room_for_grant(transaction, account, write.at)?;
            let [account, grant_id] = key(account, grant.grant_id);
            transaction
                .prepare_cached(
                    "INSERT INTO permission (account, grant_id, owner, issued_at, signed, received_at, delegations) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute(params![
                    account,
                    grant_id,
                    received.owner().to_string(),
                    number(grant.issued_at),
                    received.signed().to_json(),
                    at,
                    SignedDelegation::list_to_json(delegations),
                ])?;
            bounds::is_known_now(transaction, write.account)?;
        }
        Change::Limit(received) => {
            let [account, grant_id] = key(account, received.limit().grant_id);
            transaction
                .prepare_cached(
                    "INSERT INTO tightening (account, grant_id, signed, received_at) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![account, grant_id, received.signed().to_json(), at])?;
            bounds::keep_tightest(transaction, write.account, received.limit().grant_id)?;
        }
        Change::End {
            grant_id,
            ended_at,
            signed,
            holder,
        } => {
            let signed = signed.as_ref().map(|signed| signed.to_json());
            let of = (*grant_id, *ended_at);
            end(transaction, write, of, signed.as_deref(), *holder)?;
        }
        Change::Accept(acceptance) => accept(transaction, write, acceptance)?,
        Change::Event {
            payload_digest,
            number: count,
            event,
            counts,
            is_open,
            ..
        } => {
            let plan = payload_digest.to_string();
            let inserted = transaction
                .prepare_cached(
                    "INSERT INTO send_event (payload_digest, number, event) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![plan, number(*count), event.to_json()]);
            taken_is_conflict(inserted, account)?;
            transaction
                .prepare_cached(
                    "UPDATE submission SET is_open = ?2, changed_at = ?3, \
                     used_at = CASE WHEN ?4 AND used_at IS NULL THEN ?3 ELSE used_at END \
                     WHERE payload_digest = ?1",
                )?
                .execute(params![plan, is_open, at, counts])?;
        }
        Change::Gas {
            payload_digest,
            micro_usd,
        } => {
            transaction
                .prepare_cached(
                    "UPDATE submission SET gas_micro_usd = ?2 WHERE payload_digest = ?1",
                )?
                .execute(params![payload_digest.to_string(), number(*micro_usd)])?;
        }
    }
    Ok(())
}

fn accept(transaction: &Transaction<'_>, write: &Write, acceptance: &Acceptance) -> Done<()> {
    let Acceptance {
        order,
        request,
        envelope,
        admitted,
        budget,
    } = acceptance;
    let spent = read::gas_spent(transaction, write.account, write.at)?;
    budget.require_gas(spent).map_err(StoreError::from)?;
    let [account, grant_id] = key(write.account, admitted.grant_id);
    let owner: Option<String> = transaction
        .prepare_cached("SELECT owner FROM permission WHERE account = ?1 AND grant_id = ?2")?
        .query_row([&account, &grant_id], |row| row.get(0))
        .optional()?;
    let owner = owner.unwrap_or_default();
    // A plan of another account has another version, so only this finds one that was accepted since
    // the account was read.
    let is_busy: bool = transaction
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM submission WHERE owner = ?1 AND is_open = 1 AND ?1 <> '')",
        )?
        .query_row([&owner], |row| row.get(0))?;
    if is_busy {
        let account = write.account;
        return Err(StoreError::Conflict { account }.into());
    }
    let at = number(write.at.unix());
    let inserted = transaction
        .prepare_cached(
            "INSERT INTO submission (payload_digest, account, grant_id, order_digest, signed, request, envelope, \
             admitted, accepted_at, gas_micro_usd, is_open, changed_at, amount, owner) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 1, ?9, ?11, ?12)",
        )?
        .execute(params![
            admitted.payload_digest.to_string(),
            account,
            grant_id,
            admitted.order_digest.to_string(),
            order.to_json(),
            request,
            envelope,
            admitted.to_json(),
            at,
            number(budget.of_plan),
            admitted.amount.to_string(),
            owner,
        ]);
    taken_is_conflict(inserted, write.account)
}

/// Makes an existing row a conflict: another process wrote it since the account was read.
fn taken_is_conflict(inserted: rusqlite::Result<usize>, account: Address) -> Done<()> {
    match inserted {
        Ok(_) => Ok(()),
        Err(error) if is_constraint(&error) => Err(StoreError::Conflict { account }.into()),
        Err(error) => Err(error.into()),
    }
}

fn end(
    transaction: &Transaction<'_>,
    write: &Write,
    (grant_id, ended_at): (B256, u64),
    signed: Option<&str>,
    holder: Holder,
) -> Done<()> {
    let account = write.account;
    let known = read::ended(transaction, account, grant_id)?;
    if known.is_some_and(|known| known.stays(grant_id, ended_at)) {
        return Ok(());
    }
    let place = bounds::place(transaction, account, grant_id, holder, write.at)?;
    end_one(transaction, write, (grant_id, ended_at), signed, place)?;
    if !grant_id.is_zero() {
        return Ok(());
    }
    let ids: Vec<B256> = transaction
        .prepare_cached(
            "SELECT grant_id FROM permission WHERE account = ?1 AND issued_at <= ?2 AND grant_id NOT IN \
             (SELECT grant_id FROM ending WHERE account = ?1) ORDER BY grant_id",
        )?
        .query_map(params![account.to_string(), number(ended_at)], |row| {
            parsed(row, 0)
        })?
        .collect::<rusqlite::Result<_>>()?;
    ids.into_iter()
        .try_for_each(|id| end_one(transaction, write, (id, ended_at), None, Place::FOR_EVER))
}

fn end_one(
    transaction: &Transaction<'_>,
    write: &Write,
    (grant_id, ended_at): (B256, u64),
    signed: Option<&str>,
    place: Place,
) -> Done<()> {
    let entry = LogEntry::new(write.at, LogEvent::Revoked);
    let seq = append(transaction, write.account, grant_id, entry)?;
    let [account, grant_id] = key(write.account, grant_id);
    transaction
        .prepare_cached(
            "INSERT INTO ending (account, grant_id, ended_at, seq, signed, pool, kept_until, records) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1) \
             ON CONFLICT (account, grant_id) DO UPDATE SET \
             ended_at = excluded.ended_at, seq = excluded.seq, signed = excluded.signed, \
             pool = excluded.pool, kept_until = excluded.kept_until, records = ending.records + 1",
        )?
        .execute(params![
            account,
            grant_id,
            number(ended_at),
            number(seq),
            signed,
            place.pool,
            place.kept_until.map(number),
        ])?;
    Ok(())
}

/// Adds a record to a log, and returns its number.
fn append(
    transaction: &Transaction<'_>,
    account: Address,
    grant_id: B256,
    entry: LogEntry,
) -> Done<u64> {
    let [account, grant_id] = key(account, grant_id);
    let last = transaction
        .prepare_cached(
            "SELECT seq, hash, at FROM log WHERE account = ?1 AND grant_id = ?2 ORDER BY seq DESC LIMIT 1",
        )?
        .query_row([&account, &grant_id], |row| {
            Ok(LastRecord {
                seq: unsigned(row, 0)?,
                hash: parsed(row, 1)?,
                at: unsigned(row, 2)?,
            })
        })
        .optional()?;
    let (record, at) = next_record(last, entry).map_err(damaged)?;
    let event = serde_json::to_value(record.event()).map_err(damaged)?;
    transaction
        .prepare_cached(
            "INSERT INTO log (account, grant_id, seq, at, hash, event, payload_digest, refused_by, record) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            account,
            grant_id,
            number(record.seq()),
            number(at.unix()),
            record.hash().to_string(),
            event.as_str(),
            record.payload_digest().map(|digest| digest.to_string()),
            record.refused_by(),
            record.to_json(),
        ])?;
    Ok(record.seq())
}

pub(super) fn note_refusal(
    transaction: &Transaction<'_>,
    account: Address,
    grant_id: B256,
    refusal: LogEntry,
    most: u32,
) -> Done<()> {
    let [of, id] = key(account, grant_id);
    let day = day_of(refusal.at);
    let plan = refusal.payload_digest.map(|digest| digest.to_string());
    let (known, today): (bool, u32) = transaction
        .prepare_cached(
            "SELECT coalesce(max(payload_digest IS ?3 AND refused_by IS ?4), 0), coalesce(sum(at >= ?5), 0) \
             FROM log WHERE account = ?1 AND grant_id = ?2 AND event = 'refused'",
        )?
        .query_row(
            params![
                of,
                id,
                plan,
                refusal.refused_by.map(|rule| rule.as_str()),
                number(day)
            ],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
    if known || today >= most {
        return Ok(());
    }
    append(transaction, account, grant_id, refusal).map(|_| ())
}

pub(super) fn acquire(
    connection: &Connection,
    account: Address,
    holder: &str,
    now: UtcSeconds,
    for_seconds: u64,
) -> rusqlite::Result<Option<u64>> {
    let until = now.unix().saturating_add(for_seconds);
    // It is one statement, so that one of several concurrent holders gets the lease.
    connection
        .prepare_cached(
            "INSERT INTO account (account, version, holder, token, until) VALUES (?1, 0, ?2, 1, ?3) \
             ON CONFLICT (account) DO UPDATE SET \
             token = token + (holder <> excluded.holder), holder = excluded.holder, until = excluded.until \
             WHERE holder = excluded.holder OR until <= ?4 OR until > excluded.until + ?5 \
             RETURNING token",
        )?
        .query_row(
            params![
                account.to_string(),
                holder,
                number(until),
                number(now.unix()),
                i64::from(CLOCKS_DIFFER_SECONDS)
            ],
            |row| unsigned(row, 0),
        )
        .optional()
}

pub(super) fn give_back(
    connection: &Connection,
    lease: Lease,
    holder: &str,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE account SET until = 0, holder = '' WHERE account = ?1 AND token = ?2 AND holder = ?3",
        )?
        .execute(params![
            lease.account.to_string(),
            number(lease.token),
            holder
        ])?;
    Ok(())
}
