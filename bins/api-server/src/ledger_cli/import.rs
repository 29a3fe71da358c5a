//! `ledger import`: moves a ledger from a file into a database.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use custody::{
    CustodyError, PostgresWalletRecords, SqliteWalletRecords, WalletRecord, WalletRecords as _,
};
use jiff::Timestamp;
use ledger::{Journal, LedgerError, PostgresLedger, SqliteLedger};
use storage::postgres::{Address, Postgres, PostgresOptions};
use storage::sqlite::path_of;

use super::LedgerCliError;
use crate::config::Config;
use crate::serve::{CUSTODY, ledger_options};

/// The time limit of the copy, which is one transaction.
const COPY: Duration = Duration::from_secs(86_400);

/// Copies the ledger at `from` into the ledger of the configuration.
pub(super) async fn run(
    config: &Config,
    from: &str,
    out: &mut dyn Write,
) -> Result<(), LedgerCliError> {
    if !config.storage.is_shared() {
        return Err(LedgerCliError::IntoFile);
    }
    let path = path_of(from).map_err(|error| LedgerCliError::Source(error.into()))?;
    if !path.exists() {
        return Err(LedgerCliError::NoSource(path));
    }
    let options = ledger_options(config);
    let source = SqliteLedger::open(from, options).map_err(LedgerCliError::Source)?;
    let address: Address = config.storage.url().parse().map_err(LedgerError::from)?;
    let patient = PostgresOptions {
        statement: COPY,
        ..PostgresOptions::default()
    };
    let postgres = Postgres::new(address, patient).map_err(LedgerError::from)?;
    let lease = Duration::from_secs(config.storage.lease_seconds.into());
    let target = PostgresLedger::open(postgres.clone(), options, lease).await?;
    let imported = target.import(source).await;
    target.close().await?;
    let copied = imported?;
    writeln!(out, "copied and compared: {copied}")?;
    let file = path.with_extension(CUSTODY);
    if file.exists() {
        let wallets = import_wallets(file, postgres).await;
        let wallets = wallets.map_err(LedgerCliError::Wallets)?;
        writeln!(out, "copied and compared: {wallets} owners of sub-wallets")?;
    }
    Ok(out.flush()?)
}

/// Copies the records of which owner has which wallet. A wallet that another record contradicts is
/// an error.
async fn import_wallets(file: PathBuf, postgres: Postgres) -> Result<usize, CustodyError> {
    let from = SqliteWalletRecords::open(file)?;
    let to = PostgresWalletRecords::open(postgres).await?;
    let records = from.all().await?;
    let now = Timestamp::now().as_second().unsigned_abs();
    for (owner, record) in &records {
        let WalletRecord::Made(expected) = *record else {
            to.begin(*owner, now).await?;
            continue;
        };
        let observed = to.finish(*owner, expected, now).await?;
        if observed != expected {
            return Err(CustodyError::AnotherWallet {
                owner: *owner,
                expected,
                observed,
            });
        }
    }
    Ok(records.len())
}
