//! `api-server ledger`: lists, shows and sums up payments, looks at those whose result is unknown,
//! and records the operator's decision about those that no server can decide.
//!
//! A SQLite ledger admits one writer. The server must be stopped first; otherwise the command says
//! so. On PostgreSQL the servers may run.

mod import;
mod reconcile;
mod resolve;
mod rows;
mod selection;
mod totals;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use alloy_primitives::B256;
use clap::{Args, Subcommand, ValueEnum};
use custody::CustodyError;
use ledger::{
    AnyLedger, EntryId, EntryRecord, Filter, Journal, LedgerError, PostgresLedger, State,
};
use storage::Migration;
use storage::postgres::PostgresError;
use thiserror::Error;
use x402_wire::RestoreError;

use self::rows::Format;
use self::selection::Selection;
use self::totals::{Group, Totals};
use crate::config::Config;
use crate::error::ServeError;
use crate::serve::Stores;

/// The most entries that one read of the ledger returns.
const PAGE: u32 = 256;

#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// List payments: without a state, those whose result the server cannot determine. A server on
    /// a SQLite file must be stopped.
    List {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Print JSON, one object on each line.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        selection: Selection,
        /// At most this many payments, the oldest first.
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Show one payment. Exits with 1 if there is none. A server on a SQLite file must be stopped.
    Show {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        #[command(flatten)]
        which: Which,
        /// Print JSON, one object on each line.
        #[arg(long)]
        json: bool,
    },
    /// Write payments to standard output, one on each line: without a selection, all of them. A
    /// server on a SQLite file must be stopped.
    Export {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// The form of the lines. CSV begins with a line of names.
        #[arg(long, value_name = "FORMAT")]
        format: Export,
        #[command(flatten)]
        selection: Selection,
    },
    /// Count payments, and add up the amounts of the settled ones. A server on a SQLite file must
    /// be stopped.
    Stats {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// A line for each day (UTC, of the last change of state), operation, asset or state.
        #[arg(long, value_name = "GROUP")]
        by: Option<Group>,
        /// Print JSON, one object on each line.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        selection: Selection,
    },
    /// Look now at the payments whose result is unknown, and at those that a server has left open:
    /// ask the chain or the facilitator, and record the answer. Leaves the payments of running
    /// servers alone. A server on a SQLite file must be stopped.
    Reconcile {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Print JSON, one object on each line.
        #[arg(long)]
        json: bool,
    },
    /// Record your decision about a payment that the server cannot decide, by what you found out
    /// about it. This cannot be undone. A server on a SQLite file must be stopped.
    Resolve {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// The entry's number, as `ledger list` prints it.
        #[arg(long, value_name = "N")]
        entry: i64,
        #[command(flatten)]
        found: Found,
    },
    /// Copy the ledger of a SQLite file into the configured PostgreSQL database, which must have no
    /// payments yet. Everything is read back and compared before it counts. No server may use
    /// either of them.
    Import {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// The SQLite file, as `storage.url` named it. It is brought up to this version, and keeps
        /// its payments.
        #[arg(long, value_name = "URL")]
        from: String,
    },
}

/// One payment.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Which {
    /// The entry's number.
    #[arg(long, value_name = "N")]
    entry: Option<i64>,
    /// The payment identifier that the payer has chosen. Shows every payer's payment with it.
    #[arg(long, value_name = "ID")]
    payment_id: Option<String>,
}

/// The form of an export.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Export {
    Csv,
    Jsonl,
}

/// The operator's finding.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Found {
    /// The payment was charged by this transaction: the payer gets the stored answer when the
    /// payment is sent again.
    #[arg(long, value_name = "TX")]
    settled: Option<B256>,
    /// Nothing was charged, and nothing can be charged any more. The reason is stored with the
    /// payment.
    #[arg(long, value_name = "REASON")]
    released: Option<String>,
}

/// An error of a command on the ledger.
#[derive(Debug, Error)]
pub(crate) enum LedgerCliError {
    #[error("storage.url: there is no ledger at {}", .0.display())]
    NoLedger(PathBuf),
    #[error("storage.url: the database has no ledger; `serve` makes one")]
    NoTables,
    #[error(
        "storage.url: {} have version {}, this program needs {}; a start of `serve` brings them up",
        .0.tables, .0.from, .0.to
    )]
    OldTables(Migration),
    #[error("{0}")]
    Store(#[from] ServeError),
    #[error("storage.url: {0}")]
    Ledger(#[from] LedgerError),
    #[error("entry {0} is not undecidable; `ledger list` prints the entries that are")]
    NotUndecidable(EntryId),
    #[error("the payment of entry {entry} cannot be read: {error}")]
    Damaged { entry: EntryId, error: RestoreError },
    #[error("the ledger has no entry {0}")]
    NoEntry(EntryId),
    #[error("the ledger has no payment with the identifier {0:?}")]
    NoIdentifier(String),
    #[error("storage.url: a ledger is imported into a PostgreSQL database, not into a file")]
    IntoFile,
    #[error("--from: there is no ledger at {}", .0.display())]
    NoSource(PathBuf),
    #[error("--from: {0}")]
    Source(LedgerError),
    #[error(
        "the ledger is copied, and the records of sub-wallets are not: {0} ({code}); record the wallets \
         with `wallets adopt` and all files of their folder",
        code = .0.code()
    )]
    Wallets(CustodyError),
    #[error("{0}")]
    Output(#[from] io::Error),
}

impl LedgerCliError {
    /// Whether the database could not be reached. Nothing is wrong with the configuration then, and
    /// the command may be repeated.
    pub(crate) fn is_unreached(&self) -> bool {
        match self {
            Self::Ledger(error) | Self::Store(ServeError::Ledger(error)) => matches!(
                error,
                LedgerError::Unavailable { .. } | LedgerError::Interrupted { .. }
            ),
            Self::Store(ServeError::Database(error)) => matches!(
                error,
                PostgresError::Unavailable { .. } | PostgresError::Interrupted { .. }
            ),
            _ => false,
        }
    }
}

impl LedgerCommand {
    /// The path of the configuration file.
    pub(crate) fn config(&self) -> &Path {
        match self {
            Self::List { config, .. }
            | Self::Show { config, .. }
            | Self::Export { config, .. }
            | Self::Stats { config, .. }
            | Self::Reconcile { config, .. }
            | Self::Resolve { config, .. }
            | Self::Import { config, .. } => config,
        }
    }

    /// Whether the command asks the chain or the facilitator. Its log then shows their answers.
    pub(crate) fn asks_others(&self) -> bool {
        matches!(self, Self::Reconcile { .. })
    }

    /// Runs the command on the ledger of a configuration.
    pub(crate) async fn run(
        self,
        config: &Config,
        out: &mut dyn Write,
    ) -> Result<(), LedgerCliError> {
        if let Self::Import { from, .. } = &self {
            return import::run(config, from, out).await;
        }
        let stores = match &self {
            Self::Reconcile { .. } | Self::Resolve { .. } => Stores::at(config)?,
            _ => Stores::for_reading(config)?,
        };
        let ledger = open(config, &stores).await?;
        if let Self::Reconcile { json, .. } = self {
            return reconcile::run(config, &stores, ledger, json, out).await;
        }
        let done = self.run_on(&ledger, out).await;
        ledger.close().await?;
        done?;
        Ok(out.flush()?)
    }

    async fn run_on(self, ledger: &AnyLedger, out: &mut dyn Write) -> Result<(), LedgerCliError> {
        match self {
            Self::List {
                json,
                selection,
                limit,
                ..
            } => {
                let filter = selection.filter(&[State::Undecidable]);
                let format = if json { Format::Json } else { Format::Table };
                format.begin(out)?;
                let limit = limit.unwrap_or(usize::MAX);
                let listed = each(ledger, &filter, limit, |record| format.write(record, out));
                if listed.await? == 0 && !json {
                    writeln!(out, "no payment")?;
                }
                Ok(())
            }
            Self::Show { which, json, .. } => show(ledger, which, json, out).await,
            Self::Export {
                format, selection, ..
            } => {
                let format = match format {
                    Export::Csv => Format::Csv,
                    Export::Jsonl => Format::Json,
                };
                format.begin(out)?;
                let filter = selection.filter(&[]);
                let write = |record: &EntryRecord| format.write(record, out);
                each(ledger, &filter, usize::MAX, write).await?;
                Ok(())
            }
            Self::Stats {
                by,
                json,
                selection,
                ..
            } => {
                let mut totals = Totals::by(by);
                let add = |record: &EntryRecord| {
                    totals.add(record);
                    Ok(())
                };
                each(ledger, &selection.filter(&[]), usize::MAX, add).await?;
                Ok(totals.write(json, out)?)
            }
            Self::Resolve { entry, found, .. } => {
                resolve::resolve(ledger, EntryId::new(entry), found, out).await
            }
            // `Self::run` handles these commands, which take the ledger itself.
            Self::Reconcile { .. } | Self::Import { .. } => Ok(()),
        }
    }
}

/// Opens the ledger. Refuses to create or migrate the tables of a database, because servers that
/// share it may run.
async fn open(config: &Config, stores: &Stores) -> Result<AnyLedger, LedgerCliError> {
    match stores {
        Stores::Files(path) if !path.exists() => {
            return Err(LedgerCliError::NoLedger(path.clone()));
        }
        Stores::Files(_) => {}
        Stores::Database(postgres) => {
            let pending = PostgresLedger::pending(postgres).await;
            let [ledger, instances] = pending.map_err(LedgerError::from)?;
            if ledger.from == 0 {
                return Err(LedgerCliError::NoTables);
            }
            up_to_date(ledger)?;
            up_to_date(instances)?;
        }
    }
    Ok(stores.ledger(config).await?)
}

/// Checks that opening the tables would not change them.
fn up_to_date(pending: Migration) -> Result<(), LedgerCliError> {
    match pending.from < pending.to {
        true => Err(LedgerCliError::OldTables(pending)),
        false => Ok(()),
    }
}

/// Calls `handle` with each selected entry, in the order of their numbers. Returns how many there
/// were.
async fn each(
    ledger: &AnyLedger,
    filter: &Filter,
    limit: usize,
    mut handle: impl FnMut(&EntryRecord) -> io::Result<()>,
) -> Result<usize, LedgerCliError> {
    let mut after = None;
    let mut count = 0_usize;
    while count < limit {
        let left = u32::try_from(limit.saturating_sub(count)).unwrap_or(u32::MAX);
        let page = ledger.entries(filter, after, left.min(PAGE)).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.entry);
        count = count.saturating_add(page.len());
        page.iter().try_for_each(&mut handle)?;
    }
    Ok(count)
}

async fn show(
    ledger: &AnyLedger,
    which: Which,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), LedgerCliError> {
    let filter = Filter {
        entry: which.entry.map(EntryId::new),
        payment_id: which.payment_id,
        ..Filter::default()
    };
    let format = if json { Format::Json } else { Format::Full };
    let write = |record: &EntryRecord| format.write(record, out);
    match (
        each(ledger, &filter, usize::MAX, write).await?,
        filter.entry,
    ) {
        (0, Some(entry)) => Err(LedgerCliError::NoEntry(entry)),
        (0, None) => {
            let identifier = filter.payment_id.unwrap_or_default();
            Err(LedgerCliError::NoIdentifier(identifier))
        }
        _ => Ok(()),
    }
}
