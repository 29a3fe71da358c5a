//! `ledger import`: moves a ledger from a file into a database.

use std::io::Write;
use std::time::Duration;

use ledger::{Journal, LedgerError, PostgresLedger, SqliteLedger};
use storage::postgres::{Address, Postgres, PostgresOptions};
use storage::sqlite::path_of;

use super::LedgerCliError;
use crate::config::Config;
use crate::serve::ledger_options;

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
    let target = PostgresLedger::open(postgres, options, lease).await?;
    let imported = target.import(source).await;
    target.close().await?;
    let copied = imported?;
    writeln!(out, "copied and compared: {copied}")?;
    Ok(out.flush()?)
}
