//! Reads of the records in SQLite. Every function runs in one transaction, so that it sees one
//! state of the file. A value that cannot be decoded is an error.

use alloy_primitives::{Address, B256, U256};
use calldata_checks::UtcSeconds;
use delegation_fence::onchain::SignedDelegation;
use delegation_fence::{Admitted, Event, LogRecord, Signed, Spent, Use};
use rusqlite::{Connection, OptionalExtension, Row, params};
use storage::sqlite::{damaged, number, parsed, unsigned};

use crate::store::{
    Ended, InstalledPolicy, KeptGrant, KeptLimit, KeptSubmission, View,
    change::{DAY_SECONDS, day_of},
};

/// The query runs every few seconds. Each half of it reads an index, so plans that ended long ago
/// cost nothing.
const SENDINGS: &str = "SELECT payload_digest, accepted_at FROM submission WHERE is_open = 1 \
     UNION SELECT payload_digest, accepted_at FROM submission WHERE changed_at >= ?1 \
     ORDER BY accepted_at, payload_digest";

pub(super) fn installed(connection: &Connection) -> rusqlite::Result<Option<InstalledPolicy>> {
    connection
        .prepare_cached("SELECT document FROM policy ORDER BY id DESC LIMIT 1")?
        .query_row([], |row| {
            Ok(InstalledPolicy {
                document: row.get(0)?,
            })
        })
        .optional()
}

/// Reads the version of an account and the token of its lease; zeros for an unknown account.
pub(super) fn account(connection: &Connection, account: Address) -> rusqlite::Result<(u64, u64)> {
    let row = connection
        .prepare_cached("SELECT version, token FROM account WHERE account = ?1")?
        .query_row([account.to_string()], |row| {
            Ok((unsigned(row, 0)?, unsigned(row, 1)?))
        })
        .optional()?;
    Ok(row.unwrap_or_default())
}

pub(super) fn view(
    moment: &Connection,
    of: Address,
    grant_id: B256,
    plan: Option<B256>,
) -> rusqlite::Result<View> {
    let (version, _) = account(moment, of)?;
    let plan = plan
        .map(|plan| order_of(moment, plan))
        .transpose()?
        .flatten();
    let grant = grant(moment, of, grant_id)?;
    let owner = grant.as_ref().map(|grant| grant.owner);
    let other_than = plan.map(|(payload_digest, _)| payload_digest);
    Ok(View {
        account: of,
        version,
        grant_id,
        grant,
        limits: limits(moment, of, grant_id)?
            .into_iter()
            .map(|(_, limit)| limit)
            .collect(),
        ended: ended(moment, of, grant_id)?,
        ended_all: ended(moment, of, B256::ZERO)?,
        uses: uses(moment, of, grant_id)?,
        plan,
        in_flight: in_flight(moment, of, owner, other_than)?,
    })
}

fn grant(moment: &Connection, of: Address, grant_id: B256) -> rusqlite::Result<Option<KeptGrant>> {
    moment
        .prepare_cached("SELECT signed, owner, received_at, delegations FROM permission WHERE account = ?1 AND grant_id = ?2")?
        .query_row(key(of, grant_id), |row| {
            Ok(KeptGrant {
                signed: Signed::parse(&text(row, 0)?).map_err(damaged)?,
                owner: parsed(row, 1)?,
                received_at: UtcSeconds::from_unix(unsigned(row, 2)?),
                delegations: SignedDelegation::parse_list(&text(row, 3)?).map_err(damaged)?,
            })
        })
        .optional()
}

/// Reads the limits of a grant, each with its row.
pub(super) fn limits(
    moment: &Connection,
    of: Address,
    grant_id: B256,
) -> rusqlite::Result<Vec<(i64, KeptLimit)>> {
    moment
        .prepare_cached("SELECT id, signed, received_at FROM tightening WHERE account = ?1 AND grant_id = ?2 ORDER BY id")?
        .query_map(key(of, grant_id), |row| {
            let limit = KeptLimit {
                signed: Signed::parse(&text(row, 1)?).map_err(damaged)?,
                received_at: UtcSeconds::from_unix(unsigned(row, 2)?),
            };
            Ok((row.get(0)?, limit))
        })?
        .collect()
}

pub(super) fn ended(
    moment: &Connection,
    of: Address,
    grant_id: B256,
) -> rusqlite::Result<Option<Ended>> {
    moment
        .prepare_cached("SELECT ended_at, seq FROM ending WHERE account = ?1 AND grant_id = ?2")?
        .query_row(key(of, grant_id), |row| {
            Ok(Ended {
                at: unsigned(row, 0)?,
                seq: unsigned(row, 1)?,
            })
        })
        .optional()
}

fn uses(moment: &Connection, of: Address, grant_id: B256) -> rusqlite::Result<Vec<Use>> {
    moment
        .prepare_cached(
            "SELECT payload_digest, amount, used_at FROM submission \
             WHERE account = ?1 AND grant_id = ?2 AND used_at IS NOT NULL ORDER BY payload_digest",
        )?
        .query_map(key(of, grant_id), |row| {
            Ok(Use {
                payload_digest: parsed(row, 0)?,
                amount: parsed::<U256>(row, 1)?,
                signed_at: UtcSeconds::from_unix(unsigned(row, 2)?),
            })
        })?
        .collect()
}

/// Reads the digest of the order that a plan was accepted with, whatever its account.
fn order_of(moment: &Connection, plan: B256) -> rusqlite::Result<Option<(B256, B256)>> {
    moment
        .prepare_cached(
            "SELECT payload_digest, order_digest FROM submission WHERE payload_digest = ?1",
        )?
        .query_row([plan.to_string()], |row| {
            Ok((parsed(row, 0)?, parsed(row, 1)?))
        })
        .optional()
}

/// Reads an open plan of the account, or of another one that the same person signs for. Prefers one
/// other than `plan`.
fn in_flight(
    moment: &Connection,
    of: Address,
    owner: Option<Address>,
    plan: Option<B256>,
) -> rusqlite::Result<Option<(B256, B256)>> {
    let owner = owner.map(|owner| owner.to_string()).unwrap_or_default();
    moment
        .prepare_cached(
            "SELECT payload_digest, order_digest FROM (\
               SELECT payload_digest, order_digest FROM submission WHERE account = ?1 AND is_open = 1 \
               UNION SELECT payload_digest, order_digest FROM submission \
               WHERE owner = ?3 AND is_open = 1 AND ?3 <> '') \
             ORDER BY payload_digest = ?2, payload_digest LIMIT 1",
        )?
        .query_row(
            params![of.to_string(), plan.unwrap_or_default().to_string(), owner],
            |row| Ok((parsed(row, 0)?, parsed(row, 1)?)),
        )
        .optional()
}

pub(super) fn log(
    connection: &Connection,
    of: Address,
    grant_id: B256,
    from: u64,
    most: u32,
) -> rusqlite::Result<Vec<LogRecord>> {
    let [account, grant_id] = key(of, grant_id);
    connection
        .prepare_cached(
            "SELECT record FROM log WHERE account = ?1 AND grant_id = ?2 AND seq >= ?3 ORDER BY seq LIMIT ?4",
        )?
        .query_map(params![account, grant_id, number(from), most], |row| {
            serde_json::from_str(&text(row, 0)?).map_err(damaged)
        })?
        .collect()
}

pub(super) fn submission(
    moment: &Connection,
    payload_digest: B256,
) -> rusqlite::Result<Option<KeptSubmission>> {
    let kept = moment
        .prepare_cached(
            "SELECT account, grant_id, signed, request, envelope, admitted, accepted_at, gas_micro_usd, is_open \
             FROM submission WHERE payload_digest = ?1",
        )?
        .query_row([payload_digest.to_string()], |row| {
            let (of, grant_id) = (parsed(row, 0)?, parsed(row, 1)?);
            Ok(KeptSubmission {
                view: view(moment, of, grant_id, Some(payload_digest))?,
                order: Signed::parse(&text(row, 2)?).map_err(damaged)?,
                request: text(row, 3)?,
                envelope: text(row, 4)?,
                admitted: Admitted::restore(&text(row, 5)?).map_err(damaged)?,
                accepted_at: UtcSeconds::from_unix(unsigned(row, 6)?),
                gas_micro_usd: unsigned(row, 7)?,
                is_open: row.get(8)?,
                events: Vec::new(),
            })
        })
        .optional()?;
    let Some(mut kept) = kept else {
        return Ok(None);
    };
    kept.events = moment
        .prepare_cached("SELECT event FROM send_event WHERE payload_digest = ?1 ORDER BY number")?
        .query_map([payload_digest.to_string()], |row| {
            Event::parse(&text(row, 0)?).map_err(damaged)
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Some(kept))
}

pub(super) fn sendings(
    connection: &Connection,
    ended_since: UtcSeconds,
) -> rusqlite::Result<Vec<B256>> {
    connection
        .prepare_cached(SENDINGS)?
        .query_map([number(ended_since.unix())], |row| parsed(row, 0))?
        .collect()
}

pub(super) fn gas_spent(
    connection: &Connection,
    account: Address,
    at: UtcSeconds,
) -> rusqlite::Result<Spent> {
    let day = day_of(at);
    connection
        .prepare_cached(
            "SELECT coalesce(sum(gas_micro_usd) FILTER (WHERE account = ?1), 0), coalesce(sum(gas_micro_usd), 0) \
             FROM submission WHERE accepted_at >= ?2 AND accepted_at < ?3",
        )?
        .query_row(
            params![account.to_string(), number(day), number(day.saturating_add(DAY_SECONDS))],
            |row| {
                Ok(Spent {
                    of_account: unsigned(row, 0)?,
                    of_all: unsigned(row, 1)?,
                })
            },
        )
}

/// The spelling of an account and a grant id in every table.
pub(super) fn key(account: Address, grant_id: B256) -> [String; 2] {
    [account.to_string(), grant_id.to_string()]
}

pub(super) fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    row.get(column)
}

#[cfg(test)]
mod tests {
    use storage::sqlite::Worker;

    use super::*;
    use crate::store::sqlite::{FORMAT, SETTINGS};

    /// The query runs every few seconds, so it must not become slower with every plan that was ever
    /// sent.
    #[test]
    fn open_plans_are_found_without_a_scan_of_all_plans() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.fence.db");
        drop(Worker::shared(path.clone(), &FORMAT, &SETTINGS).unwrap());
        let connection = Connection::open(path).unwrap();
        let mut explained = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {SENDINGS}"))
            .unwrap();
        let plan: Vec<String> = explained
            .query_map([0], |row| row.get(3))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        assert!(!plan.is_empty());
        assert!(!plan.iter().any(|line| line.contains("SCAN")), "{plan:?}");
    }
}
