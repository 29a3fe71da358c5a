//! `api-server ledger`: lists payments that only the operator can decide, and records the decision.
//!
//! The ledger admits one writer. The server must be stopped first; otherwise the command says so.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::B256;
use clap::{Args, Subcommand};
use ledger::{EntryId, Journal, LedgerError, Resolution, SqliteLedger, StoredReceipt, Undecided};
use serde_json::{Value, json};
use settlement::Receipt;
use thiserror::Error;
use x402_wire::{Payment, RestoreError};

use crate::config::Config;
use crate::serve::ledger_options;

/// Entries per read.
const PAGE: u32 = 256;

#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// List the payments whose result the server cannot determine. The server must be stopped.
    List {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Print JSON, one object in a list for each payment.
        #[arg(long)]
        json: bool,
    },
    /// Decide such a payment by what you found out about it. This cannot be undone. The server must
    /// be stopped.
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

/// Why a payment could not be listed or decided.
#[derive(Debug, Error)]
pub(crate) enum LedgerCliError {
    #[error("storage.url: there is no ledger at {}", .0.display())]
    NoLedger(PathBuf),
    #[error("storage.url: {0}")]
    Ledger(#[from] LedgerError),
    #[error("entry {0} is not undecidable; `ledger list` prints the entries that are")]
    NotUndecidable(EntryId),
    #[error("the payment of entry {entry} cannot be read: {error}")]
    Damaged { entry: EntryId, error: RestoreError },
}

impl LedgerCommand {
    /// The path of the configuration file.
    pub(crate) fn config(&self) -> &Path {
        match self {
            Self::List { config, .. } | Self::Resolve { config, .. } => config,
        }
    }

    /// Runs the command on the ledger of a configuration. Returns the text to print.
    pub(crate) async fn run(self, config: &Config) -> Result<String, LedgerCliError> {
        let ledger = open(config)?;
        match self {
            Self::List { json, .. } => {
                let undecidable = undecidable(&ledger).await?;
                Ok(if json {
                    Value::from_iter(undecidable.iter().map(as_json)).to_string()
                } else {
                    as_text(&undecidable)
                })
            }
            Self::Resolve { entry, found, .. } => {
                resolve(&ledger, EntryId::new(entry), found).await
            }
        }
    }
}

/// Opens the ledger. Does not create one.
fn open(config: &Config) -> Result<SqliteLedger, LedgerCliError> {
    let url = &config.storage.url;
    let path = Path::new(url.strip_prefix("sqlite://").unwrap_or(url));
    if !path.exists() {
        return Err(LedgerCliError::NoLedger(path.to_owned()));
    }
    Ok(SqliteLedger::open(url, ledger_options(config))?)
}

async fn undecidable(ledger: &SqliteLedger) -> Result<Vec<Undecided>, LedgerError> {
    let mut all: Vec<Undecided> = Vec::new();
    loop {
        let after = all.last().map(|last| last.entry);
        let page = ledger.undecidable(after, PAGE).await?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

async fn resolve(
    ledger: &SqliteLedger,
    entry: EntryId,
    found: Found,
) -> Result<String, LedgerCliError> {
    let listed = undecidable(ledger).await?;
    let undecided = listed
        .iter()
        .find(|undecided| undecided.entry == entry)
        .ok_or(LedgerCliError::NotUndecidable(entry))?;
    let (resolution, said) = match found {
        Found {
            settled: Some(transaction),
            ..
        } => (
            Resolution::Settled(receipt(undecided, transaction)?),
            format!("settled by {transaction}"),
        ),
        Found { released, .. } => {
            let reason = released.unwrap_or_default();
            let said = format!("released: {reason}");
            (Resolution::Released { reason }, said)
        }
    };
    ledger.resolve(entry, resolution, now()).await?;
    Ok(format!("entry {entry} is {said}"))
}

/// The receipt for the payer, as the server would have made it.
fn receipt(undecided: &Undecided, transaction: B256) -> Result<StoredReceipt, LedgerCliError> {
    let payment = Payment::restore(
        undecided.payload_json.as_bytes(),
        undecided.requirements_json.as_bytes(),
    );
    let payment = payment.map_err(|error| LedgerCliError::Damaged {
        entry: undecided.entry,
        error,
    })?;
    let response = Receipt::of(&payment, transaction.to_string()).into_response();
    Ok(StoredReceipt {
        header: response.to_header(),
        transaction: response.transaction,
    })
}

/// The fields with which an operator can look a payment up. The signature is left out because it
/// may still be usable.
fn as_json(undecided: &Undecided) -> Value {
    let payment = Payment::restore(
        undecided.payload_json.as_bytes(),
        undecided.requirements_json.as_bytes(),
    );
    let key = payment.ok().map(|payment| payment.key());
    json!({
        "entry": undecided.entry.number(),
        "since": undecided.since,
        "amount": undecided.amount.to_string(),
        "payer": undecided.payer.to_string(),
        "asset": key.map(|key| key.asset.to_string()),
        "nonce": key.map(|key| key.nonce.to_string()),
        "method": undecided.method,
        "path": undecided.path,
        "transaction": undecided.transaction,
        "cause": undecided.cause,
    })
}

fn as_text(undecidable: &[Undecided]) -> String {
    if undecidable.is_empty() {
        return "no payment is undecidable".to_owned();
    }
    let mut text = String::new();
    for undecided in undecidable {
        let row = as_json(undecided);
        let word = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or("none");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "entry {}: {} {}\n  since        {} (Unix seconds)\n  amount       {}\n  asset        {}\n  \
             payer        {}\n  nonce        {}\n  transaction  {}\n  cause        {}",
            undecided.entry,
            undecided.method,
            undecided.path,
            undecided.since,
            undecided.amount,
            word("asset"),
            undecided.payer,
            word("nonce"),
            word("transaction"),
            word("cause"),
        );
    }
    text
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
