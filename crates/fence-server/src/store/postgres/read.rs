//! Reads of the records in PostgreSQL. Each is one statement, so that it sees one state of the
//! database. A value that cannot be decoded is an error.

use alloy_primitives::{Address, B256, U256};
use calldata_checks::UtcSeconds;
use delegation_fence::onchain::SignedDelegation;
use delegation_fence::{Admitted, Event, LogRecord, Signed, Spent, Use};
use storage::postgres::{
    Postgres, PostgresError, Row, Transaction, bytes, damaged, get, number, unsigned,
};

use super::Params;
use crate::store::{
    Ended, InstalledPolicy, KeptGrant, KeptLimit, KeptSubmission, View,
    change::{DAY_SECONDS, day_of},
};

pub(super) const READ: &str = "read";

/// Makes the statement that reads a view, with the columns `more` after it. `target` selects
/// account, grant and plan; `p` is the row of the plan.
macro_rules! view_of {
    ($target:literal, $more:literal) => {
        concat!(
            "SELECT t.account, t.grant_id,
                 (SELECT version FROM fence_account WHERE account = t.account),
                 g.signed, g.owner, g.received_at, g.delegations,
                 ARRAY(SELECT signed FROM fence_limit
                       WHERE account = t.account AND grant_id = t.grant_id ORDER BY id),
                 ARRAY(SELECT received_at FROM fence_limit
                       WHERE account = t.account AND grant_id = t.grant_id ORDER BY id),
                 e.ended_at, e.seq, a.ended_at, a.seq,
                 ARRAY(SELECT payload_digest FROM fence_plan
                       WHERE account = t.account AND grant_id = t.grant_id AND used_at IS NOT NULL
                       ORDER BY payload_digest),
                 ARRAY(SELECT amount FROM fence_plan
                       WHERE account = t.account AND grant_id = t.grant_id AND used_at IS NOT NULL
                       ORDER BY payload_digest),
                 ARRAY(SELECT used_at FROM fence_plan
                       WHERE account = t.account AND grant_id = t.grant_id AND used_at IS NOT NULL
                       ORDER BY payload_digest),
                 p.payload_digest, p.order_digest, f.payload_digest, f.order_digest",
            $more,
            " FROM (",
            $target,
            ") AS t
             LEFT JOIN fence_grant g ON g.account = t.account AND g.grant_id = t.grant_id
             LEFT JOIN fence_end e ON e.account = t.account AND e.grant_id = t.grant_id
             LEFT JOIN fence_end a ON a.account = t.account
                 AND a.grant_id = decode(repeat('00', 32), 'hex')
             LEFT JOIN fence_plan p ON p.payload_digest = t.plan
             LEFT JOIN LATERAL (
                 SELECT payload_digest, order_digest FROM fence_plan
                 WHERE is_open AND (account = t.account OR owner = g.owner)
                 ORDER BY payload_digest IS NOT DISTINCT FROM t.plan, payload_digest LIMIT 1
             ) f ON true"
        )
    };
}

const VIEW: &str = view_of!(
    "SELECT $1::bytea AS account, $2::bytea AS grant_id, $3::bytea AS plan",
    ""
);

const SUBMISSION: &str = view_of!(
    "SELECT account, grant_id, payload_digest AS plan FROM fence_plan WHERE payload_digest = $1",
    ", p.signed, p.request, p.envelope, p.admitted, p.accepted_at, p.gas_micro_usd, p.is_open,
     ARRAY(SELECT event FROM fence_event WHERE payload_digest = p.payload_digest ORDER BY number)"
);

const GAS_SPENT: &str =
    "SELECT coalesce(sum(gas_micro_usd) FILTER (WHERE account = $1), 0)::bigint,
         coalesce(sum(gas_micro_usd), 0)::bigint
     FROM fence_plan WHERE accepted_at >= $2 AND accepted_at < $3";

pub(super) async fn installed(
    postgres: &Postgres,
) -> Result<Option<InstalledPolicy>, PostgresError> {
    let sql = "SELECT document FROM fence_policy ORDER BY id DESC LIMIT 1";
    let row = postgres.query_opt("installed", sql, &[]).await?;
    row.map(|row| {
        Ok(InstalledPolicy {
            document: get(&row, 0, READ)?,
        })
    })
    .transpose()
}

pub(super) async fn view(
    postgres: &Postgres,
    account: Address,
    grant_id: B256,
    plan: Option<B256>,
) -> Result<View, PostgresError> {
    let params: Params<'_> = &[
        &account.as_slice(),
        &grant_id.as_slice(),
        &plan.as_ref().map(|plan| plan.as_slice()),
    ];
    view_in(&postgres.query_one("view", VIEW, params).await?)
}

/// Reads the first 20 columns of a row of [`view_of`].
fn view_in(row: &Row) -> Result<View, PostgresError> {
    let version: Option<i64> = get(row, 2, READ)?;
    Ok(View {
        account: Address::from(bytes(row, 0, READ)?),
        version: version.map_or(Ok(0), positive)?,
        grant_id: B256::from(bytes(row, 1, READ)?),
        grant: grant_in(row)?,
        limits: limits_in(row)?,
        ended: ended_in(row, 9)?,
        ended_all: ended_in(row, 11)?,
        uses: uses_in(row)?,
        plan: order_in(row, 16)?,
        in_flight: order_in(row, 18)?,
    })
}

fn grant_in(row: &Row) -> Result<Option<KeptGrant>, PostgresError> {
    let Some(signed) = get::<Option<&str>>(row, 3, READ)? else {
        return Ok(None);
    };
    Ok(Some(KeptGrant {
        signed: Signed::parse(signed).map_err(other_form)?,
        owner: Address::from(bytes(row, 4, READ)?),
        received_at: time(row, 5)?,
        delegations: SignedDelegation::parse_list(get(row, 6, READ)?).map_err(other_form)?,
    }))
}

fn limits_in(row: &Row) -> Result<Vec<KeptLimit>, PostgresError> {
    let signed: Vec<&str> = get(row, 7, READ)?;
    let received_at: Vec<i64> = get(row, 8, READ)?;
    let limits = signed.into_iter().zip(received_at);
    limits
        .map(|(signed, received_at)| limit(signed, received_at))
        .collect()
}

fn limit(signed: &str, received_at: i64) -> Result<KeptLimit, PostgresError> {
    Ok(KeptLimit {
        signed: Signed::parse(signed).map_err(other_form)?,
        received_at: UtcSeconds::from_unix(positive(received_at)?),
    })
}

/// Reads the columns `ended_at` and `seq`, from `column` on.
fn ended_in(row: &Row, column: usize) -> Result<Option<Ended>, PostgresError> {
    let at: Option<i64> = get(row, column, READ)?;
    at.map(|at| {
        Ok(Ended {
            at: positive(at)?,
            seq: unsigned(row, column.saturating_add(1), READ)?,
        })
    })
    .transpose()
}

fn uses_in(row: &Row) -> Result<Vec<Use>, PostgresError> {
    let digests: Vec<&[u8]> = get(row, 13, READ)?;
    let amounts: Vec<&str> = get(row, 14, READ)?;
    let used_at: Vec<i64> = get(row, 15, READ)?;
    let uses = digests.into_iter().zip(amounts).zip(used_at);
    uses.map(|((payload_digest, amount), used_at)| {
        Ok(Use {
            payload_digest: B256::try_from(payload_digest).map_err(other_form)?,
            amount: amount.parse::<U256>().map_err(other_form)?,
            signed_at: UtcSeconds::from_unix(positive(used_at)?),
        })
    })
    .collect()
}

/// Reads the columns `payload_digest` and `order_digest`, from `column` on.
fn order_in(row: &Row, column: usize) -> Result<Option<(B256, B256)>, PostgresError> {
    let Some(payload_digest) = get::<Option<&[u8]>>(row, column, READ)? else {
        return Ok(None);
    };
    Ok(Some((
        B256::try_from(payload_digest).map_err(other_form)?,
        B256::from(bytes(row, column.saturating_add(1), READ)?),
    )))
}

/// Reads the limits of a grant, each with its row.
pub(super) async fn limits(
    transaction: &Transaction<'_>,
    account: Address,
    grant_id: B256,
) -> Result<Vec<(i64, KeptLimit)>, PostgresError> {
    let sql = "SELECT id, signed, received_at FROM fence_limit
               WHERE account = $1 AND grant_id = $2 ORDER BY id";
    let params: Params<'_> = &[&account.as_slice(), &grant_id.as_slice()];
    let rows = transaction.query(sql, params).await?;
    rows.iter()
        .map(|row| {
            let limit = limit(get(row, 1, READ)?, get(row, 2, READ)?)?;
            Ok((get(row, 0, READ)?, limit))
        })
        .collect()
}

pub(super) async fn ended(
    transaction: &Transaction<'_>,
    account: Address,
    grant_id: B256,
) -> Result<Option<Ended>, PostgresError> {
    let sql = "SELECT ended_at, seq FROM fence_end WHERE account = $1 AND grant_id = $2";
    let params: Params<'_> = &[&account.as_slice(), &grant_id.as_slice()];
    match transaction.query_opt(sql, params).await? {
        Some(row) => ended_in(&row, 0),
        None => Ok(None),
    }
}

pub(super) async fn log(
    postgres: &Postgres,
    account: Address,
    grant_id: B256,
    from: u64,
    most: u32,
) -> Result<Vec<LogRecord>, PostgresError> {
    let sql = "SELECT record FROM fence_log
               WHERE account = $1 AND grant_id = $2 AND seq >= $3 ORDER BY seq LIMIT $4";
    let params: Params<'_> = &[
        &account.as_slice(),
        &grant_id.as_slice(),
        &number(from),
        &i64::from(most),
    ];
    let rows = postgres.query("log", sql, params).await?;
    rows.iter()
        .map(|row| serde_json::from_str(get(row, 0, READ)?).map_err(other_form))
        .collect()
}

pub(super) async fn submission(
    postgres: &Postgres,
    payload_digest: B256,
) -> Result<Option<KeptSubmission>, PostgresError> {
    let params: Params<'_> = &[&payload_digest.as_slice()];
    let row = postgres.query_opt("submission", SUBMISSION, params).await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let events: Vec<&str> = get(&row, 27, READ)?;
    Ok(Some(KeptSubmission {
        view: view_in(&row)?,
        order: Signed::parse(get(&row, 20, READ)?).map_err(other_form)?,
        request: get(&row, 21, READ)?,
        envelope: get(&row, 22, READ)?,
        admitted: Admitted::restore(get(&row, 23, READ)?).map_err(other_form)?,
        accepted_at: time(&row, 24)?,
        gas_micro_usd: unsigned(&row, 25, READ)?,
        is_open: get(&row, 26, READ)?,
        events: events
            .into_iter()
            .map(|event| Event::parse(event).map_err(other_form))
            .collect::<Result<_, _>>()?,
    }))
}

pub(super) async fn sendings(
    postgres: &Postgres,
    ended_since: UtcSeconds,
) -> Result<Vec<B256>, PostgresError> {
    let sql = "SELECT payload_digest, accepted_at FROM fence_plan WHERE is_open
               UNION SELECT payload_digest, accepted_at FROM fence_plan WHERE changed_at >= $1
               ORDER BY accepted_at, payload_digest";
    let params: Params<'_> = &[&number(ended_since.unix())];
    let rows = postgres.query("sendings", sql, params).await?;
    rows.iter().map(|row| digest(row, 0)).collect()
}

pub(super) async fn gas_spent(
    postgres: &Postgres,
    account: Address,
    at: UtcSeconds,
) -> Result<Spent, PostgresError> {
    let (day, next) = day(at);
    let params: Params<'_> = &[&account.as_slice(), &day, &next];
    spent_in(&postgres.query("gas spent", GAS_SPENT, params).await?)
}

/// Reads the same as [`gas_spent`], within a write. Another write that adds to the sum undoes this
/// one, or waits for it.
pub(super) async fn gas_spent_within(
    transaction: &Transaction<'_>,
    account: Address,
    at: UtcSeconds,
) -> Result<Spent, PostgresError> {
    let (day, next) = day(at);
    let params: Params<'_> = &[&account.as_slice(), &day, &next];
    spent_in(&transaction.query(GAS_SPENT, params).await?)
}

fn spent_in(rows: &[Row]) -> Result<Spent, PostgresError> {
    let row = only(rows)?;
    Ok(Spent {
        of_account: unsigned(row, 0, READ)?,
        of_all: unsigned(row, 1, READ)?,
    })
}

/// Returns the first second of the UTC day of a time, and that of the next day.
fn day(at: UtcSeconds) -> (i64, i64) {
    let day = day_of(at);
    (number(day), number(day.saturating_add(DAY_SECONDS)))
}

/// Reads the only column of the only row of a count.
pub(super) fn count(rows: &[Row]) -> Result<u64, PostgresError> {
    unsigned(only(rows)?, 0, READ)
}

/// Reads the row of a statement that always returns one.
pub(super) fn only(rows: &[Row]) -> Result<&Row, PostgresError> {
    rows.first()
        .ok_or_else(|| damaged(READ, "a row was expected"))
}

pub(super) fn digest(row: &Row, column: usize) -> Result<B256, PostgresError> {
    Ok(B256::from(bytes(row, column, READ)?))
}

fn time(row: &Row, column: usize) -> Result<UtcSeconds, PostgresError> {
    Ok(UtcSeconds::from_unix(unsigned(row, column, READ)?))
}

fn positive(value: i64) -> Result<u64, PostgresError> {
    u64::try_from(value).map_err(|_| damaged(READ, "a number is negative"))
}

fn other_form(error: impl std::fmt::Display) -> PostgresError {
    damaged(READ, error)
}
