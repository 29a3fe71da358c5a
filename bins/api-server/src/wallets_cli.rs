//! `api-server wallets`: what an operator does with the keys of sub-wallets that this machine holds.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use custody::{Custody as _, CustodyError, Listed, LocalCustody};
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::{Value, json};
use thiserror::Error;

use crate::config::Config;

#[derive(Debug, Subcommand)]
pub(crate) enum WalletsCommand {
    /// Print every sub-wallet: its owner, its address, when it was made. No key is opened.
    List {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// As JSON, one object in a list for each wallet.
        #[arg(long)]
        json: bool,
    },
    /// Open every sub-wallet with the operator's secret, as after a backup was restored. Takes about a second for each.
    /// Exits 1 when one cannot be opened.
    Check {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Write every sub-wallet into another folder under another secret, and open each again there. The folder of the
    /// configuration does not change. The server must be stopped; a run that was cut off can be repeated. Takes about
    /// three seconds for each wallet.
    Rotate {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// The other folder: a new one, or that of a run that was cut off.
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
        /// The file that holds the new secret.
        #[arg(long, value_name = "FILE")]
        secret_file: PathBuf,
    },
}

/// Why nothing could be done with the wallets.
#[derive(Debug, Error)]
pub(crate) enum WalletsCliError {
    #[error("custody: is missing: without it there are no sub-wallets")]
    NoCustody,
    #[error("custody.directory: there is no folder at {}", .0.display())]
    NoFolder(PathBuf),
    #[error("--to: expected another folder than custody.directory")]
    SameFolder,
    #[error("--secret-file: cannot read {}: {kind}", .file.display())]
    Secret { file: PathBuf, kind: io::ErrorKind },
    #[error("custody: {0}")]
    Custody(#[from] CustodyError),
}

/// What is printed, and whether all is well.
pub(crate) struct Printed {
    pub(crate) text: String,
    pub(crate) is_good: bool,
}

impl WalletsCommand {
    /// The configuration's file.
    pub(crate) fn config(&self) -> &Path {
        match self {
            Self::List { config, .. } | Self::Check { config } | Self::Rotate { config, .. } => {
                config
            }
        }
    }

    /// Runs the command on the wallets of a configuration.
    pub(crate) async fn run(self, config: &Config) -> Result<Printed, WalletsCliError> {
        let section = config.custody.as_ref().ok_or(WalletsCliError::NoCustody)?;
        let (Some(folder), Some(secret)) = (&section.directory, &section.secret) else {
            return Err(WalletsCliError::NoCustody);
        };
        // Opening makes a folder where none is.
        if !folder.exists() {
            return Err(WalletsCliError::NoFolder(folder.clone()));
        }
        let wallets = LocalCustody::open(folder, secret.clone())?;
        match self {
            Self::List { json, .. } => {
                let listed = wallets.list().await?;
                let text = match json {
                    true => Value::from_iter(listed.iter().map(as_json)).to_string(),
                    false => as_text(&listed),
                };
                Ok(good(text))
            }
            Self::Check { .. } => check(&wallets).await,
            Self::Rotate {
                to, secret_file, ..
            } => {
                if is_same(&to, folder) {
                    return Err(WalletsCliError::SameFolder);
                }
                let rotated = wallets.rotate(&to, new_secret(&secret_file)?).await?;
                Ok(good(format!(
                    "{} wallets written to {}, {} were there; all open under the new secret\n\
                     now set custody.directory and custody.secret_file to the new ones, and keep the old folder until the \
                     server has served a wallet",
                    rotated.written,
                    to.display(),
                    rotated.there
                )))
            }
        }
    }
}

async fn check(wallets: &LocalCustody) -> Result<Printed, WalletsCliError> {
    let (mut text, mut bad) = (String::new(), 0_usize);
    let owners = wallets.owners().await?;
    for owner in &owners {
        // Writing to a string cannot fail.
        let _ = match wallets.find(*owner).await {
            Ok(Some(wallet)) => writeln!(text, "{owner}: ok: {}", wallet.address),
            Ok(None) => {
                bad = bad.saturating_add(1);
                writeln!(text, "{owner}: gone")
            }
            Err(error) => {
                bad = bad.saturating_add(1);
                writeln!(text, "{owner}: {}: {error}", error.code())
            }
        };
    }
    let _ = write!(text, "{} wallets, {bad} cannot be opened", owners.len());
    Ok(Printed {
        text,
        is_good: bad == 0,
    })
}

fn good(text: String) -> Printed {
    Printed {
        text,
        is_good: true,
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

fn new_secret(file: &Path) -> Result<SecretString, WalletsCliError> {
    let text = std::fs::read_to_string(file).map_err(|error| WalletsCliError::Secret {
        file: file.to_owned(),
        kind: error.kind(),
    })?;
    Ok(text.trim().to_owned().into())
}

fn as_json(wallet: &Listed) -> Value {
    json!({
        "owner": wallet.owner.to_string(),
        "address": wallet.address.to_string(),
        "created_at": wallet.created_at,
    })
}

fn as_text(listed: &[Listed]) -> String {
    if listed.is_empty() {
        return "no sub-wallet".to_owned();
    }
    let mut text = String::new();
    for wallet in listed {
        let made = wallet.created_at.and_then(|at| i64::try_from(at).ok());
        let made = made.and_then(|at| Timestamp::from_second(at).ok());
        let made = made.map_or_else(|| "unknown".to_owned(), |at| at.to_string());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}  {}  {made}", wallet.owner, wallet.address);
    }
    text
}
