//! The records of wallets in a PostgreSQL database.

use alloy_primitives::Address;
use storage::Migration;
use storage::postgres::{
    Component, Postgres, PostgresError, Row, ToSql, bytes, damaged, get, number, unsigned,
};

use super::{WalletRecord, WalletRecords};
use crate::{CustodyError, CustodyFuture, InvalidOwner, Owner};

const COMPONENT: Component = Component {
    name: "custody",
    migrations: &[
        include_str!("postgres/0001.sql"),
        include_str!("postgres/0002.sql"),
    ],
};

/// The records of wallets in a database, which any number of servers may share.
#[derive(Debug, Clone)]
pub struct PostgresWalletRecords {
    postgres: Postgres,
}

impl PostgresWalletRecords {
    /// Opens the records and migrates their table.
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

impl WalletRecords for PostgresWalletRecords {
    fn all(&self) -> CustodyFuture<'_, Vec<(Owner, WalletRecord)>> {
        Box::pin(async move {
            const ALL: &str = "list wallets";
            let sql = "SELECT owner, address FROM custody_wallet";
            let rows = self.postgres.query(ALL, sql, &[]).await?;
            let record = |row: &Row| -> Result<_, PostgresError> {
                Ok((owner(row, ALL)?, read(row, 1, ALL)?))
            };
            Ok(rows.iter().map(record).collect::<Result<Vec<_>, _>>()?)
        })
    }

    fn unfinished(&self) -> CustodyFuture<'_, Vec<(Owner, u64)>> {
        Box::pin(async move {
            const UNFINISHED: &str = "list unfinished wallets";
            let sql = "SELECT owner, begun_at FROM custody_wallet WHERE address IS NULL";
            let rows = self.postgres.query(UNFINISHED, sql, &[]).await?;
            let begun = |row: &Row| -> Result<_, PostgresError> {
                Ok((owner(row, UNFINISHED)?, unsigned(row, 1, UNFINISHED)?))
            };
            Ok(rows.iter().map(begun).collect::<Result<Vec<_>, _>>()?)
        })
    }

    fn find(&self, owner: Owner) -> CustodyFuture<'_, Option<WalletRecord>> {
        Box::pin(async move {
            const FIND: &str = "find a wallet";
            let sql = "SELECT address FROM custody_wallet WHERE owner = $1";
            let owner = owner.to_string();
            let row = self.postgres.query_opt(FIND, sql, &[&owner]).await?;
            Ok(row.map(|row| read(&row, 0, FIND)).transpose()?)
        })
    }

    fn begin(&self, owner: Owner, now: u64) -> CustodyFuture<'_, ()> {
        Box::pin(async move {
            let sql = "INSERT INTO custody_wallet (owner, begun_at) VALUES ($1, $2)
                       ON CONFLICT (owner) DO UPDATE SET begun_at = excluded.begun_at
                       WHERE custody_wallet.address IS NULL";
            let parameters: &[&(dyn ToSql + Sync)] = &[&owner.to_string(), &number(now)];
            let done = self.postgres.query("begin a wallet", sql, parameters);
            Ok(done.await.map(drop)?)
        })
    }

    fn finish(&self, owner: Owner, wallet: Address, now: u64) -> CustodyFuture<'_, Address> {
        Box::pin(async move {
            const FINISH: &str = "record a wallet";
            // Two servers may finish one wallet at once: an upsert would fail at the unique
            // address. The insertion waits for the other one, and adds nothing if the owner or the
            // wallet has a row; a wallet of another owner leaves no row to update.
            let insert = "INSERT INTO custody_wallet (owner, address, begun_at) VALUES ($1, $2, $3)
                          ON CONFLICT DO NOTHING";
            let update = "UPDATE custody_wallet SET address = coalesce(address, $2)
                          WHERE owner = $1 RETURNING address";
            let (owner, wallet) = (owner.to_string(), wallet.as_slice());
            let begun: &[&(dyn ToSql + Sync)] = &[&owner, &wallet, &number(now)];
            self.postgres.query(FINISH, insert, begun).await?;
            let made: &[&(dyn ToSql + Sync)] = &[&owner, &wallet];
            let row = self.postgres.query_opt(FINISH, update, made).await?;
            let row = row.ok_or_else(|| {
                damaged(FINISH, "the owner has no row; the wallet has another owner")
            })?;
            match read(&row, 0, FINISH)? {
                WalletRecord::Made(recorded) => Ok(recorded),
                WalletRecord::Making => Err(CustodyError::from(damaged(FINISH, "no address"))),
            }
        })
    }

    fn forget(&self, owner: Owner, before: u64) -> CustodyFuture<'_, ()> {
        Box::pin(async move {
            let sql = "DELETE FROM custody_wallet
                       WHERE owner = $1 AND address IS NULL AND begun_at < $2";
            let parameters: &[&(dyn ToSql + Sync)] = &[&owner.to_string(), &number(before)];
            let done = self.postgres.query("forget a wallet", sql, parameters);
            Ok(done.await.map(drop)?)
        })
    }
}

/// Reads the owner in the first column.
fn owner(row: &Row, operation: &'static str) -> Result<Owner, PostgresError> {
    let owner: &str = get(row, 0, operation)?;
    let parsed = owner.parse();
    parsed.map_err(|error: InvalidOwner| damaged(operation, error))
}

/// Reads the address in a column.
fn read(row: &Row, column: usize, operation: &'static str) -> Result<WalletRecord, PostgresError> {
    let address: Option<&[u8]> = get(row, column, operation)?;
    Ok(match address {
        None => WalletRecord::Making,
        Some(_) => WalletRecord::Made(Address::from(bytes::<20>(row, column, operation)?)),
    })
}
