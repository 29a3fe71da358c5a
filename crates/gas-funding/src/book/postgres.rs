//! A book in a PostgreSQL database.

use std::sync::Arc;

use alloy_primitives::U256;
use storage::Migration;
use storage::postgres::{
    Component, Postgres, PostgresError, ToSql, Transaction, damaged, get, number, unsigned,
};

use super::{Book, BookError, BookFuture, Booked, Given, Limits, TopUp, day_of};

const COMPONENT: Component = Component {
    name: "gas",
    migrations: &[include_str!("postgres/0001.sql")],
};

const BOOK: &str = "book coins for gas";

/// The parameters of a statement.
type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A book in a PostgreSQL database. Any number of servers may share it, and its budgets hold for
/// all of them together.
///
/// A new book is empty. Unlike [`SqliteBook`](super::SqliteBook) it copies nothing from the files
/// of an earlier version, so top-ups in those files do not count.
#[derive(Debug, Clone)]
pub struct PostgresBook {
    postgres: Postgres,
}

impl PostgresBook {
    /// Opens the book and migrates its table.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn open(postgres: Postgres) -> Result<Self, PostgresError> {
        postgres.migrate(&COMPONENT).await?;
        Ok(Self { postgres })
    }

    /// Returns the migration that [`open`](Self::open) would run. Writes nothing.
    ///
    /// # Errors
    /// The same as [`open`](Self::open).
    pub async fn pending(postgres: &Postgres) -> Result<Migration, PostgresError> {
        postgres.pending(&COMPONENT).await
    }
}

impl From<PostgresError> for BookError {
    fn from(error: PostgresError) -> Self {
        tracing::warn!(%error, "the book of coins for gas cannot be used");
        Self::Unavailable { code: error.code() }
    }
}

impl Book for PostgresBook {
    fn book(&self, top_up: TopUp, limits: Limits) -> BookFuture<'_, Booked> {
        Box::pin(async move {
            let top_up = Arc::new(top_up);
            // The transaction is serializable, so two bookings whose sums contain each other run
            // one after the other.
            self.postgres
                .transaction(BOOK, |transaction| {
                    let top_up = Arc::clone(&top_up);
                    Box::pin(async move { book(transaction, &top_up, limits).await })
                })
                .await
        })
    }
}

async fn book(
    transaction: &Transaction<'_>,
    top_up: &TopUp,
    limits: Limits,
) -> Result<Booked, BookError> {
    let sql = "SELECT wei FROM gas_top_up WHERE key = $1";
    if let Some(row) = transaction.query_opt(sql, &[&top_up.key]).await? {
        let wei: &str = get(&row, 0, BOOK)?;
        let wei = U256::from_str_radix(wei, 10).map_err(|error| damaged(BOOK, error))?;
        return Ok(Booked { wei, is_new: false });
    }
    limits.require(top_up, given(transaction, top_up).await?)?;
    // A concurrent booking of the same key is invisible to this transaction. It makes the insert
    // fail, and the transaction then runs again.
    let sql = "INSERT INTO gas_top_up (key, owner, account, at, chain_id, wei, micro_usd)
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let params: Params<'_> = &[
        &top_up.key,
        &top_up.owner.to_string(),
        &top_up.account.to_string(),
        &number(top_up.at),
        &number(top_up.chain_id),
        &top_up.wei.to_string(),
        &number(top_up.micro_usd),
    ];
    transaction.query(sql, params).await?;
    Ok(Booked {
        wei: top_up.wei,
        is_new: true,
    })
}

/// The values of the earlier top-ups. A sum above the largest value of its type counts as that one.
async fn given(transaction: &Transaction<'_>, top_up: &TopUp) -> Result<Given, BookError> {
    let sql = "SELECT
                   least(coalesce(sum(micro_usd) FILTER (WHERE at >= $2), 0), 9223372036854775807)::bigint,
                   least(coalesce(sum(micro_usd), 0), 9223372036854775807)::bigint
               FROM gas_top_up WHERE owner = $1";
    let day = number(day_of(top_up.at));
    let of_owner = transaction
        .query_opt(sql, &[&top_up.owner.to_string(), &day])
        .await?;
    let sql = "SELECT least(coalesce(sum(micro_usd), 0), 9223372036854775807)::bigint
               FROM gas_top_up WHERE at >= $1";
    let of_all = transaction.query_opt(sql, &[&day]).await?;
    let sql = "SELECT least(coalesce(sum(wei::numeric), 0), $3::text::numeric)::text
               FROM gas_top_up WHERE at >= $1 AND chain_id = $2";
    let (chain, most) = (number(top_up.chain_id), U256::MAX.to_string());
    let of_chain = transaction.query_opt(sql, &[&day, &chain, &most]).await?;
    let (Some(of_owner), Some(of_all), Some(of_chain)) = (of_owner, of_all, of_chain) else {
        return Err(damaged(BOOK, "a sum is missing").into());
    };
    let wei: &str = get(&of_chain, 0, BOOK)?;
    Ok(Given {
        owner_today: unsigned(&of_owner, 0, BOOK)?,
        owner_ever: unsigned(&of_owner, 1, BOOK)?,
        all_today: unsigned(&of_all, 0, BOOK)?,
        chain_today_wei: U256::from_str_radix(wei, 10).map_err(|error| damaged(BOOK, error))?,
    })
}
