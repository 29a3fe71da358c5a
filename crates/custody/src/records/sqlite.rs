//! The records of wallets in a SQLite file.

use std::path::{Path, PathBuf};

use alloy_primitives::Address;
use rusqlite::{OptionalExtension as _, Row, params};
use storage::Migration;
use storage::sqlite::{self, DatabaseError, Format, Settings, Worker, damaged, number, parsed};

use super::{WalletRecord, WalletRecords};
use crate::{CustodyFuture, Owner};

/// `x4cw`.
const FORMAT: Format = Format {
    application_id: 0x7834_6377,
    migrations: &[include_str!("0001.sql"), include_str!("0002.sql")],
};

const SETTINGS: Settings = Settings::of_records(256);

/// The records of wallets in one file, which several processes of one machine may share.
#[derive(Debug)]
pub struct SqliteWalletRecords {
    worker: Worker,
}

impl SqliteWalletRecords {
    /// Opens the file at `path`. Creates the file and its folder if they are missing, readable by
    /// their owner only.
    ///
    /// # Errors
    /// The defect of the file.
    pub fn open(path: PathBuf) -> Result<Self, DatabaseError> {
        let worker = Worker::shared(path, &FORMAT, &SETTINGS)?;
        Ok(Self { worker })
    }

    /// Returns the migration that [`open`](Self::open) would run on the file at `path`; `None` when
    /// there is no file. Does not write to it.
    ///
    /// # Errors
    /// The same as [`sqlite::pending`].
    pub fn pending(path: &Path) -> Result<Option<Migration>, DatabaseError> {
        sqlite::pending(path, &FORMAT)
    }
}

impl WalletRecords for SqliteWalletRecords {
    fn all(&self) -> CustodyFuture<'_, Vec<(Owner, WalletRecord)>> {
        self.worker.read("list wallets", |transaction| {
            let sql = "SELECT owner, address FROM custody_wallet";
            let mut statement = transaction.prepare_cached(sql)?;
            let rows = statement.query_map([], |row| Ok((parsed(row, 0)?, read(row, 1)?)))?;
            Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
        })
    }

    fn unfinished(&self) -> CustodyFuture<'_, Vec<(Owner, u64)>> {
        self.worker.read("list unfinished wallets", |transaction| {
            let sql = "SELECT owner, begun_at FROM custody_wallet WHERE address IS NULL";
            let mut statement = transaction.prepare_cached(sql)?;
            let rows = statement.query_map([], |row| {
                let begun_at: i64 = row.get(1)?;
                Ok((parsed(row, 0)?, u64::try_from(begun_at).unwrap_or_default()))
            })?;
            Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
        })
    }

    fn find(&self, owner: Owner) -> CustodyFuture<'_, Option<WalletRecord>> {
        self.worker.read("find a wallet", move |transaction| {
            let sql = "SELECT address FROM custody_wallet WHERE owner = ?1";
            let mut statement = transaction.prepare_cached(sql)?;
            let found = statement.query_row([owner.to_string()], |row| read(row, 0));
            Ok(found.optional()?)
        })
    }

    fn begin(&self, owner: Owner, now: u64) -> CustodyFuture<'_, ()> {
        self.worker.write("begin a wallet", move |transaction| {
            let sql = "INSERT INTO custody_wallet (owner, begun_at) VALUES (?1, ?2)
                       ON CONFLICT (owner) DO UPDATE SET begun_at = excluded.begun_at
                       WHERE custody_wallet.address IS NULL";
            let mut statement = transaction.prepare_cached(sql)?;
            statement.execute(params![owner.to_string(), number(now)])?;
            Ok(())
        })
    }

    fn finish(&self, owner: Owner, wallet: Address, now: u64) -> CustodyFuture<'_, Address> {
        self.worker.write("record a wallet", move |transaction| {
            let sql = "INSERT INTO custody_wallet (owner, address, begun_at) VALUES (?1, ?2, ?3)
                       ON CONFLICT (owner) DO UPDATE
                       SET address = coalesce(custody_wallet.address, excluded.address)
                       RETURNING address";
            let mut statement = transaction.prepare_cached(sql)?;
            let parameters = params![owner.to_string(), wallet.as_slice(), number(now)];
            match statement.query_row(parameters, |row| read(row, 0))? {
                WalletRecord::Made(recorded) => Ok(recorded),
                WalletRecord::Making => Err(damaged("no address").into()),
            }
        })
    }

    fn forget(&self, owner: Owner, before: u64) -> CustodyFuture<'_, ()> {
        self.worker.write("forget a wallet", move |transaction| {
            let sql = "DELETE FROM custody_wallet
                       WHERE owner = ?1 AND address IS NULL AND begun_at < ?2";
            let mut statement = transaction.prepare_cached(sql)?;
            statement.execute(params![owner.to_string(), number(before)])?;
            Ok(())
        })
    }
}

/// Reads the address in a column.
fn read(row: &Row<'_>, column: usize) -> rusqlite::Result<WalletRecord> {
    let address: Option<Vec<u8>> = row.get(column)?;
    Ok(match address {
        None => WalletRecord::Making,
        Some(bytes) => WalletRecord::Made(Address::try_from(bytes.as_slice()).map_err(damaged)?),
    })
}
