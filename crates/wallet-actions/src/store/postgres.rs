//! Intents in a PostgreSQL database.

use std::sync::Arc;

use alloy_primitives::{Address, B256};
use storage::Migration;
use storage::postgres::{
    Component, Condition, Postgres, PostgresError, Row, ToSql, Transaction, damaged, get, number,
    unsigned,
};

use super::{
    CHARGED_WITHIN_SECONDS, Forbidden, Place, Store, StoreError, StoreFuture, awaits_charge,
};
use crate::{Intent, IntentId};

const COMPONENT: Component = Component {
    name: "wallets",
    migrations: &[
        include_str!("postgres/0001.sql"),
        include_str!("postgres/0002.sql"),
    ],
};

const READ: &str = "read";

/// The parameters of a statement.
type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Intents in a PostgreSQL database, which any number of processes may open.
///
/// Each promise of [`Store`] holds between processes: a payment has one intent, and a wallet has
/// one running intent. Of two writes that depend on the same reading, one succeeds.
///
/// A revision rises by a random step. After a failover, a replica may lack the last revisions. With
/// steps of one, it would give the same numbers to other writes.
#[derive(Debug, Clone)]
pub struct PostgresStore {
    postgres: Postgres,
}

impl PostgresStore {
    /// Opens the intents, and migrates their tables to the current version.
    ///
    /// # Errors
    /// [`PostgresError`] when the database cannot be opened or migrated.
    pub async fn open(postgres: Postgres) -> Result<Self, PostgresError> {
        postgres.migrate(&COMPONENT).await?;
        Ok(Self { postgres })
    }

    /// Returns the migration that [`open`](Self::open) would run. Writes nothing.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn pending(postgres: &Postgres) -> Result<Migration, PostgresError> {
        postgres.pending(&COMPONENT).await
    }

    async fn rows(
        &self,
        operation: &'static str,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        Ok(self.postgres.query(operation, sql, params).await?)
    }
}

impl From<PostgresError> for StoreError {
    fn from(error: PostgresError) -> Self {
        tracing::warn!(%error, "the records of actions cannot be used");
        Self::Unavailable { code: error.code() }
    }
}

/// Reads an intent from the columns revision and body.
fn read(row: &Row) -> Result<Intent, StoreError> {
    let body: &str = get(row, 1, READ)?;
    let intent: Intent =
        serde_json::from_str(body).map_err(|_| damaged(READ, "the body is no intent"))?;
    Ok(Intent {
        revision: unsigned(row, 0, READ)?,
        ..intent
    })
}

/// Reads an id from the first column.
fn read_id(row: &Row) -> Result<IntentId, StoreError> {
    let id: &str = get(row, 0, READ)?;
    Ok(id
        .parse()
        .map_err(|_| damaged(READ, "an id has another form"))?)
}

fn body(intent: &Intent) -> Result<String, PostgresError> {
    serde_json::to_string(intent).map_err(|_| damaged("write", "the intent has no JSON form"))
}

const OF_PAYMENT: &str = "SELECT revision, body FROM wallets_intent WHERE payment = $1";
const FORBIDDEN: &str = "SELECT reason FROM wallets_forbidden WHERE payment = $1";
const RUNNING: &str = "SELECT id FROM wallets_intent WHERE wallet = $1 AND state = 'running'";

const UNCHARGED: &str = "SELECT id FROM wallets_intent
    WHERE owner = $1 AND created_at >= $2 AND awaits_charge AND body::jsonb ->> 'purchase' = $3 LIMIT 1";

async fn of_payment(
    transaction: &Transaction<'_>,
    payment: B256,
) -> Result<Option<Intent>, StoreError> {
    let row = transaction
        .query_opt(OF_PAYMENT, &[&payment.as_slice()])
        .await?;
    row.as_ref().map(read).transpose()
}

async fn forbidden(
    transaction: &Transaction<'_>,
    payment: B256,
) -> Result<Option<String>, StoreError> {
    let row = transaction
        .query_opt(FORBIDDEN, &[&payment.as_slice()])
        .await?;
    Ok(row.map(|row| get(&row, 0, READ)).transpose()?)
}

/// Inserts an intent in a serializable transaction. The payment's claim is checked first: without
/// it nothing is changed.
///
/// When another transaction commits an intent of the payment or of the wallet, or a prohibition,
/// meanwhile, this one is undone. It then runs again and sees the other one's write.
async fn insert(
    transaction: &Transaction<'_>,
    intent: &Intent,
    claim: Option<&Condition>,
) -> Result<Intent, StoreError> {
    if let Some(claim) = claim
        && !claim.holds(transaction).await?
    {
        return Err(StoreError::ClaimLost);
    }
    if let Some(known) = of_payment(transaction, intent.payment).await? {
        if known.may_have_effect() {
            return Ok(known);
        }
        // The earlier intent has no effect, gets none, and was not charged, so the payment may
        // begin another one.
        let sql = "UPDATE wallets_intent SET payment = $2 WHERE id = $1";
        let id = known.id.as_str();
        transaction.query(sql, &[&id, &id.as_bytes()]).await?;
    }
    if let Some(reason) = forbidden(transaction, intent.payment).await? {
        return Err(StoreError::Forbidden { reason });
    }
    let wallet = intent.wallet.to_string();
    if let Some(row) = transaction.query_opt(RUNNING, &[&wallet]).await? {
        let running = read_id(&row)?;
        return Err(StoreError::Busy { running });
    }
    if let Some(purchase) = intent.purchase {
        let since = intent.created_at.saturating_sub(CHARGED_WITHIN_SECONDS);
        let params: Params<'_> = &[&intent.owner, &number(since), &purchase.to_string()];
        if let Some(row) = transaction.query_opt(UNCHARGED, params).await? {
            let intent = read_id(&row)?;
            return Err(StoreError::Uncharged { intent });
        }
    }
    let sql = "INSERT INTO wallets_intent
                   (id, payment, owner, wallet, state, created_at, revision, body, awaits_charge,
                    is_empty)
               VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $8, $9) ON CONFLICT DO NOTHING RETURNING id";
    let params: Params<'_> = &[
        &intent.id.as_str(),
        &intent.payment.as_slice(),
        &intent.owner,
        &wallet,
        &intent.state.as_str(),
        &number(intent.created_at),
        &body(intent)?,
        &awaits_charge(intent),
        &intent.is_empty(),
    ];
    match transaction.query_opt(sql, params).await? {
        Some(_) => Ok(Intent {
            revision: 1,
            ..intent.clone()
        }),
        None => Err(StoreError::Conflict {
            id: intent.id.clone(),
        }),
    }
}

async fn forbid(
    transaction: &Transaction<'_>,
    payment: B256,
    reason: &str,
    at: u64,
) -> Result<Forbidden, StoreError> {
    let sql = "INSERT INTO wallets_forbidden (payment, reason, at) VALUES ($1, $2, $3)
               ON CONFLICT (payment) DO NOTHING";
    let params: Params<'_> = &[&payment.as_slice(), &reason, &number(at)];
    transaction.query(sql, params).await?;
    let first = forbidden(transaction, payment).await?;
    Ok(Forbidden {
        reason: first.unwrap_or_else(|| reason.to_owned()),
        intent: of_payment(transaction, payment).await?,
    })
}

impl Store for PostgresStore {
    fn insert(&self, intent: Intent, claim: Option<Condition>) -> StoreFuture<'_, Intent> {
        Box::pin(async move {
            let order = Arc::new((intent, claim));
            self.postgres
                .transaction("insert an intent", |transaction| {
                    let order = Arc::clone(&order);
                    Box::pin(async move { insert(transaction, &order.0, order.1.as_ref()).await })
                })
                .await
        })
    }

    fn get(&self, id: &IntentId) -> StoreFuture<'_, Option<Intent>> {
        let id = id.clone();
        Box::pin(async move {
            let sql = "SELECT revision, body FROM wallets_intent WHERE id = $1";
            let rows = self.rows("read an intent", sql, &[&id.as_str()]).await?;
            rows.first().map(read).transpose()
        })
    }

    fn of_payment(&self, payment: B256) -> StoreFuture<'_, Option<Intent>> {
        Box::pin(async move {
            let params: Params<'_> = &[&payment.as_slice()];
            let rows = self.rows("find an intent", OF_PAYMENT, params).await?;
            rows.first().map(read).transpose()
        })
    }

    fn forbid(&self, payment: B256, reason: &str, at: u64) -> StoreFuture<'_, Forbidden> {
        let reason: Arc<str> = reason.into();
        Box::pin(async move {
            self.postgres
                .transaction("forbid an order", |transaction| {
                    let reason = Arc::clone(&reason);
                    Box::pin(async move { forbid(transaction, payment, &reason, at).await })
                })
                .await
        })
    }

    fn forbidden(&self, payment: B256) -> StoreFuture<'_, Option<String>> {
        Box::pin(async move {
            let params: Params<'_> = &[&payment.as_slice()];
            let rows = self.rows("find a forbidden order", FORBIDDEN, params);
            let reason = rows.await?.first().map(|row| get(row, 0, READ)).transpose();
            Ok(reason?)
        })
    }

    fn write(&self, intent: Intent) -> StoreFuture<'_, Intent> {
        Box::pin(async move {
            let sql = "UPDATE wallets_intent
                       SET state = $2, revision = revision + 1 + (random() * 1000000)::bigint,
                           body = $3, is_final = $5, awaits_charge = $6, is_empty = $7
                       WHERE id = $1 AND revision = $4 RETURNING revision";
            let params: Params<'_> = &[
                &intent.id.as_str(),
                &intent.state.as_str(),
                &body(&intent)?,
                &number(intent.revision),
                &intent.is_final,
                &awaits_charge(&intent),
                &intent.is_empty(),
            ];
            match self
                .postgres
                .query_opt("write an intent", sql, params)
                .await
            {
                Ok(Some(row)) => Ok(Intent {
                    revision: unsigned(&row, 0, READ)?,
                    ..intent
                }),
                Ok(None) | Err(PostgresError::Constraint { .. }) => {
                    Err(StoreError::Conflict { id: intent.id })
                }
                Err(error) => Err(error.into()),
            }
        })
    }

    fn open(&self) -> StoreFuture<'_, Vec<IntentId>> {
        Box::pin(async move {
            let sql = "SELECT id FROM wallets_intent
                       WHERE state IN ('running', 'following', 'reopened') ORDER BY created_at, id";
            let rows = self.rows("list open intents", sql, &[]).await?;
            rows.iter().map(read_id).collect()
        })
    }

    fn unsettled(&self) -> StoreFuture<'_, Vec<IntentId>> {
        Box::pin(async move {
            let sql = "SELECT id FROM wallets_intent
                       WHERE NOT is_final AND state IN ('completed', 'partial', 'failed', 'cancelled')
                       ORDER BY created_at, id";
            let rows = self.rows("list ended intents", sql, &[]).await?;
            rows.iter().map(read_id).collect()
        })
    }

    fn awaiting_charge(&self, after: Place, most: u32) -> StoreFuture<'_, Vec<Place>> {
        Box::pin(async move {
            let sql = "SELECT id, created_at FROM wallets_intent
                       WHERE awaits_charge AND (created_at, id) > ($1, $2)
                       ORDER BY created_at, id LIMIT $3";
            let id = after.1.as_ref().map_or("", IntentId::as_str);
            let params: Params<'_> = &[&number(after.0), &id, &i64::from(most)];
            let rows = self.rows("list uncharged intents", sql, params).await?;
            let place = |row| Ok((unsigned(row, 1, READ)?, Some(read_id(row)?)));
            rows.iter().map(place).collect()
        })
    }

    fn forget(&self, before: u64, most: u32) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let params: Params<'_> = &[&number(before), &i64::from(most)];
            for sql in [
                "DELETE FROM wallets_intent WHERE id IN (SELECT id FROM wallets_intent
                 WHERE is_empty AND created_at < $1 LIMIT $2)",
                "DELETE FROM wallets_forbidden WHERE payment IN (SELECT payment
                 FROM wallets_forbidden WHERE at < $1 LIMIT $2)",
            ] {
                self.rows("forget intents", sql, params).await?;
            }
            Ok(())
        })
    }

    fn of_owner(&self, owner: &str, created_at: u64, most: u32) -> StoreFuture<'_, Vec<Intent>> {
        let owner = owner.to_owned();
        Box::pin(async move {
            let sql = "SELECT revision, body FROM wallets_intent
                       WHERE owner = $1 AND created_at >= $2 ORDER BY created_at DESC, id LIMIT $3";
            let params: Params<'_> = &[&owner, &number(created_at), &i64::from(most)];
            let rows = self.rows("list an owner's intents", sql, params).await?;
            rows.iter().map(read).collect()
        })
    }

    fn uncharged(
        &self,
        owner: &str,
        purchase: B256,
        created_at: u64,
    ) -> StoreFuture<'_, Option<IntentId>> {
        let owner = owner.to_owned();
        Box::pin(async move {
            let params: Params<'_> = &[&owner, &number(created_at), &purchase.to_string()];
            let rows = self.rows("look for an uncharged intent", UNCHARGED, params);
            rows.await?.first().map(read_id).transpose()
        })
    }

    fn is_busy(&self, wallet: Address) -> StoreFuture<'_, Option<IntentId>> {
        Box::pin(async move {
            let params: Params<'_> = &[&wallet.to_string()];
            let rows = self.rows("look for a running intent", RUNNING, params);
            rows.await?.first().map(read_id).transpose()
        })
    }
}
