//! The moves of an entry on PostgreSQL. Each is one conditional statement that makes all writes of
//! the move.

use std::time::Duration;

use storage::postgres::{PostgresError, get, number};
use x402_wire::AuthorizationKey;

use super::{
    Inner, Params, code,
    credit::{Spending, take_from_newcomers},
    state,
};
use crate::{
    answer::{PendingSettlement, StoredReceipt},
    column::{Digest, kept},
    error::LedgerError,
    journal::Resolution,
    spending::Spent,
    state::{EntryId, Transition},
};

/// The pauses before a move is sent again when the database cannot be reached or has cut the
/// connection. A move records a fact, so it waits longer than a claim.
const AGAIN_AFTER: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1_500),
    Duration::from_millis(3_000),
];

/// One move of an entry.
#[derive(Clone, Copy)]
struct Move {
    entry: EntryId,
    transition: Transition,
    now: u64,
    /// The instance that makes the move. `None` for this instance, under its current number.
    instance: Option<i64>,
    /// The authorization that the entry must have. `None` when any is allowed.
    authorization: Option<Digest>,
}

impl Move {
    const fn new(entry: EntryId, transition: Transition, now: u64) -> Self {
        Self {
            entry,
            transition,
            now,
            instance: None,
            authorization: None,
        }
    }
}

/// The statement that ends an entry as charged. The caller inserts a condition.
macro_rules! end_charged {
    ($condition:expr) => {
        concat!(
            "WITH moved AS (
                 UPDATE ledger_entry SET state = $3, open = 0, changed_at = greatest(changed_at, $6),
                     transaction_hash = $7, receipt = $8
                 WHERE id = $2 AND state BETWEEN $4 AND $5",
            $condition,
            " RETURNING payer, least(amount, 4611686018427387904)::bigint AS earned
             ), credited AS (
                 INSERT INTO ledger_credit AS c (payer, micro_usd, paid)
                 SELECT payer, least(earned, $9::bigint), earned FROM moved WHERE earned > 0
                 ON CONFLICT (payer) DO UPDATE SET
                     micro_usd = CASE WHEN c.micro_usd < $9
                         THEN least(c.micro_usd + excluded.micro_usd, $9) ELSE c.micro_usd END,
                     paid = least(c.paid, 4611686018427387904 - excluded.paid) + excluded.paid
             )
             SELECT FROM moved"
        )
    };
}

/// The statement that ends an entry as not charged.
macro_rules! end_uncharged {
    ($retired:expr, $owner:expr, $alive:expr) => {
        concat!(
            "WITH moved AS (
                 UPDATE ledger_entry SET state = $3, open = 0, changed_at = greatest(changed_at, $6),
                     attempted = attempted OR answered, answered = false, payment_id = NULL, cause = $7",
            $retired,
            "
                 WHERE id = $2 AND state BETWEEN $4 AND $5",
            $owner,
            $alive,
            " RETURNING id, payer
             ), dropped AS (
                 DELETE FROM ledger_answer WHERE entry IN (SELECT id FROM moved)
             ), unplaced AS (
                 DELETE FROM ledger_place WHERE entry IN (SELECT id FROM moved)
             ), debited AS (
                 UPDATE ledger_credit SET micro_usd = greatest(least(micro_usd, $9::bigint) - $8::bigint, 0)
                 WHERE $8::bigint > 0 AND payer IN (SELECT payer FROM moved)
             ), taken AS (",
            take_from_newcomers!(
                "moved, ", "$6::bigint", "$10", "$11", "$12", "$13", "$14", "$15"
            ),
            ")
             SELECT FROM moved"
        )
    };
}

impl Inner {
    pub(super) async fn begin_settlement(
        &self,
        entry: EntryId,
        settlement: &PendingSettlement,
        now: u64,
    ) -> Result<(), LedgerError> {
        const SQL: &str = concat!(
            "WITH moved AS (
                 UPDATE ledger_entry SET state = $3, changed_at = greatest(changed_at, $6), private = $7,
                     answered = true
                 WHERE id = $2 AND state BETWEEN $4 AND $5 AND owner = $1 AND ",
            alive!(),
            " RETURNING id
             )
             INSERT INTO ledger_answer (entry, payload, requirements, status, headers, body_digest, body)
             SELECT id, $8, $9, $10, $11, $12, $13 FROM moved RETURNING entry"
        );
        let answer = &settlement.answer;
        let headers = serde_json::to_string(answer.headers()).map_err(|_| LedgerError::Query {
            operation: "begin_settlement",
            sqlstate: None,
        })?;
        let status = i16::try_from(answer.status()).unwrap_or(i16::MAX);
        let (payload, requirements) = (
            settlement.payment.payload().raw(),
            settlement.payment.requirements_json(),
        );
        let digest = answer.body_digest();
        let params: [&(dyn storage::postgres::ToSql + Sync); 7] = [
            &settlement.private,
            &payload,
            &requirements,
            &status,
            &headers,
            &digest.as_slice(),
            &&answer.body()[..],
        ];
        let begin = Move::new(entry, Transition::BeginSettlement, now);
        self.advance(begin, SQL, &params).await
    }

    /// Records that the payer was charged. The payer earns the amount. The entry may belong to
    /// another instance meanwhile.
    pub(super) async fn settle(
        &self,
        entry: EntryId,
        key: &AuthorizationKey,
        receipt: &StoredReceipt,
        now: u64,
    ) -> Result<(), LedgerError> {
        const SQL: &str = end_charged!(concat!(" AND authorization_digest = $10 AND ", alive!()));
        let authorization = kept(key.digest());
        let cap = self.cap();
        let digest: &[u8] = &authorization;
        let params: Params<'_> = &[&receipt.transaction, &receipt.header, &cap, &digest];
        let settle = Move {
            authorization: Some(authorization),
            ..Move::new(entry, Transition::Settle, now)
        };
        self.advance(settle, SQL, params).await
    }

    /// Records that the payer was not charged, deletes the answer, and subtracts `spent`. With
    /// `instance`, the entry moves only under that number, which must have its lease.
    pub(super) async fn end_uncharged(
        &self,
        instance: Option<i64>,
        entry: EntryId,
        transition: Transition,
        reason: &str,
        spent: Spent,
        now: u64,
    ) -> Result<(), LedgerError> {
        const RELEASE: &str = end_uncharged!("", " AND owner = $1 AND ", alive!());
        const RESOLVE: &str = end_uncharged!(
            ", retired = attempted OR answered",
            "",
            " AND $1::bigint IS NOT NULL"
        );
        let sql = match transition {
            Transition::ResolveReleased => RESOLVE,
            _ => RELEASE,
        };
        let Spending {
            payer,
            cap,
            names,
            amounts,
            capacities,
            pool_rate,
            share_rate,
            late,
        } = self.spending(spent);
        let params: Params<'_> = &[
            &reason,
            &payer,
            &cap,
            &names,
            &amounts,
            &capacities,
            &pool_rate,
            &share_rate,
            &late,
        ];
        let release = Move {
            instance,
            ..Move::new(entry, transition, now)
        };
        self.advance(release, sql, params).await
    }

    pub(super) async fn resolve(
        &self,
        entry: EntryId,
        resolution: &Resolution,
        now: u64,
    ) -> Result<(), LedgerError> {
        match resolution {
            Resolution::Settled(receipt) => {
                const SQL: &str = end_charged!(" AND $1::bigint IS NOT NULL");
                let cap = self.cap();
                let params: Params<'_> = &[&receipt.transaction, &receipt.header, &cap];
                let resolve = Move::new(entry, Transition::ResolveSettled, now);
                self.advance(resolve, SQL, params).await
            }
            Resolution::Released { reason } => {
                let transition = Transition::ResolveReleased;
                self.end_uncharged(None, entry, transition, reason, Spent::NOTHING, now)
                    .await
            }
        }
    }

    pub(super) async fn mark_unknown(
        &self,
        entry: EntryId,
        transaction: Option<&str>,
        cause: &str,
        now: u64,
    ) -> Result<(), LedgerError> {
        const SQL: &str = concat!(
            "UPDATE ledger_entry SET state = $3, open = 2, cause = $8,
                 changed_at = CASE WHEN state = $3 THEN changed_at ELSE greatest(changed_at, $6) END,
                 transaction_hash = coalesce($7, transaction_hash)
             WHERE id = $2 AND state BETWEEN $4 AND $5 AND owner = $1 AND ",
            alive!(),
            " RETURNING id"
        );
        let params: Params<'_> = &[&transaction, &cause];
        let mark = Move::new(entry, Transition::MarkUnknown, now);
        self.advance(mark, SQL, params).await
    }

    pub(super) async fn mark_undecidable(
        &self,
        entry: EntryId,
        cause: &str,
        now: u64,
    ) -> Result<(), LedgerError> {
        const SQL: &str = concat!(
            "UPDATE ledger_entry SET state = $3, open = 3, cause = $7,
                 changed_at = greatest(changed_at, $6)
             WHERE id = $2 AND state BETWEEN $4 AND $5 AND owner = $1 AND ",
            alive!(),
            " RETURNING id"
        );
        let mark = Move::new(entry, Transition::MarkUndecidable, now);
        self.advance(mark, SQL, &[&cause]).await
    }

    /// Runs a conditional statement until its outcome is known. Returns why, if it has moved
    /// nothing.
    ///
    /// The first parameters of the statement are the instance, the entry, the new state, the first
    /// and the last state that allow the move, and the time. It returns a row when it has moved the
    /// entry.
    async fn advance(
        &self,
        to_make: Move,
        sql: &str,
        params: Params<'_>,
    ) -> Result<(), LedgerError> {
        let Move {
            entry,
            transition,
            now,
            instance,
            authorization: _,
        } = to_make;
        let (number, now) = (entry.number(), number(now));
        let (first, last) = (
            code(*transition.from().start()),
            code(*transition.from().end()),
        );
        let to = code(transition.to());
        let mut waits = AGAIN_AFTER.iter();
        // Set when an earlier try may have moved the entry.
        let mut interrupted = false;
        loop {
            let tried = async {
                let instance = match instance {
                    Some(number) => number,
                    None => self.number().await?,
                };
                let common: Params<'_> = &[&instance, &number, &to, &first, &last, &now];
                let all = [common, params].concat();
                let moved = self.postgres.query_opt(transition.as_str(), sql, &all);
                match moved.await? {
                    Some(_) => Ok(None),
                    None => self.why_not(&to_make, instance).await.map(Some),
                }
            };
            let outcome = match tried.await {
                Ok(None) => {
                    self.working().remove(&number);
                    return Ok(());
                }
                // Only an earlier try of this same move can have led to this state.
                Ok(Some(LedgerError::WrongState { observed, .. }))
                    if interrupted && observed == transition.to() =>
                {
                    return Ok(());
                }
                Ok(Some(refusal)) => return Err(refusal),
                Err(error) => error,
            };
            interrupted |= matches!(outcome, PostgresError::Interrupted { .. });
            let may_pass = matches!(
                outcome,
                PostgresError::Interrupted { .. } | PostgresError::Unavailable { .. }
            );
            match waits.next() {
                Some(wait) if may_pass => tokio::time::sleep(*wait).await,
                _ if interrupted => {
                    return Err(LedgerError::Interrupted {
                        operation: transition.as_str(),
                    });
                }
                _ => return Err(outcome.into()),
            }
        }
    }

    /// Returns why a move found no entry to move.
    async fn why_not(&self, failed: &Move, instance: i64) -> Result<LedgerError, PostgresError> {
        const SQL: &str = concat!(
            "SELECT (SELECT state FROM ledger_entry
                     WHERE id = $2 AND ($3::bytea IS NULL OR authorization_digest = $3)), ",
            alive!()
        );
        let Move {
            entry, transition, ..
        } = *failed;
        let operation = transition.as_str();
        let authorization = failed.authorization.as_ref().map(Digest::as_slice);
        let params: Params<'_> = &[&instance, &entry.number(), &authorization];
        let row = self.postgres.query_one(operation, SQL, params).await?;
        if get::<Option<i16>>(&row, 0, operation)?.is_none() {
            return Ok(LedgerError::NoSuchEntry { entry });
        }
        let observed = self.with_note(entry, state(&row, 0, operation)?);
        let expected = transition.from();
        Ok(if !expected.contains(&observed) {
            LedgerError::WrongState {
                entry,
                transition,
                expected,
                observed,
            }
        } else if get(&row, 1, operation)? {
            LedgerError::TakenOver { entry }
        } else {
            LedgerError::LeaseLost
        })
    }

    /// Returns why an entry cannot make a move now.
    pub(super) async fn refusal(
        &self,
        entry: EntryId,
        transition: Transition,
        now: u64,
        instance: i64,
    ) -> Result<LedgerError, PostgresError> {
        self.why_not(&Move::new(entry, transition, now), instance)
            .await
    }

    /// Returns whether an instance has its lease.
    pub(super) async fn is_alive(&self, instance: i64) -> Result<bool, PostgresError> {
        const SQL: &str = concat!("SELECT ", alive!());
        let row = self.postgres.query_one("lease", SQL, &[&instance]).await?;
        get(&row, 0, "lease")
    }
}
