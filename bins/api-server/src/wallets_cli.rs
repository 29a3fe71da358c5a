//! `api-server wallets`: manages the keys of sub-wallets that this machine holds. The keys of an
//! external provider are managed there.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use custody::{Custody as _, CustodyError, ExportRefusal, ExportRequest, Listed, LocalCustody};
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::{Value, json};
use thiserror::Error;

use crate::config::{Config, CustodyProvider};

#[derive(Debug, Subcommand)]
pub(crate) enum WalletsCommand {
    /// List every sub-wallet: its owner, its address, when it was made, and when it was exported.
    /// Opens no key.
    List {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Print JSON, one object in a list for each wallet.
        #[arg(long)]
        json: bool,
    },
    /// Open every sub-wallet with the operator's secret, for example after restoring a backup.
    /// Takes about a second for each. Exits with 1 if one cannot be opened.
    Check {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Write every sub-wallet to another folder under another secret, and open each of them there.
    /// The configured folder does not change. The server must be stopped. An interrupted run can be
    /// repeated. Takes about three seconds for each wallet.
    Rotate {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// The other folder: a new one, or that of an interrupted run.
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
        /// The file with the new secret.
        #[arg(long, value_name = "FILE")]
        secret_file: PathBuf,
    },
    /// Hand a sub-wallet's key to its owner, encrypted to the key in the owner's signed request.
    /// From then on this service never signs with the wallet again. The server may run, and the
    /// same request can be repeated.
    Export {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// The owner's signed request, as JSON.
        #[arg(long, value_name = "FILE")]
        request: PathBuf,
        /// The file for the encrypted key. A file with other content is not overwritten.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}

/// An error of a command on the wallets.
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
    #[error(
        "custody.provider: the keys are in Turnkey's enclaves, and {verb} works on keys of this machine: {instead}"
    )]
    NotHere {
        verb: &'static str,
        instead: &'static str,
    },
    #[error("--request: cannot read {}: {kind}", .file.display())]
    Request { file: PathBuf, kind: io::ErrorKind },
    #[error("--out: cannot write {}: {kind}", .file.display())]
    Out { file: PathBuf, kind: io::ErrorKind },
    #[error("--out: {} exists and has other content", .0.display())]
    OutTaken(PathBuf),
    #[error("custody: {0} ({code})", code = .0.code())]
    Custody(#[from] CustodyError),
}

/// The text to print, and whether every wallet is in order.
pub(crate) struct Printed {
    pub(crate) text: String,
    pub(crate) is_good: bool,
}

impl WalletsCommand {
    /// The path of the configuration file.
    pub(crate) fn config(&self) -> &Path {
        match self {
            Self::List { config, .. }
            | Self::Check { config }
            | Self::Rotate { config, .. }
            | Self::Export { config, .. } => config,
        }
    }

    /// Runs the command on the wallets of a configuration.
    pub(crate) async fn run(self, config: &Config) -> Result<Printed, WalletsCliError> {
        let section = config.custody.as_ref().ok_or(WalletsCliError::NoCustody)?;
        if section.provider == CustodyProvider::Turnkey {
            return Err(self.elsewhere());
        }
        let (Some(folder), Some(secret)) = (&section.directory, &section.secret) else {
            return Err(WalletsCliError::NoCustody);
        };
        // Opening would create a missing folder.
        if !folder.exists() {
            return Err(WalletsCliError::NoFolder(folder.clone()));
        }
        let open = || LocalCustody::open(folder, secret.clone());
        match self {
            Self::List { json, .. } => {
                let listed = open()?.list().await?;
                let text = match json {
                    true => Value::from_iter(listed.iter().map(as_json)).to_string(),
                    false => as_text(&listed),
                };
                Ok(good(text))
            }
            Self::Check { .. } => check(&open()?).await,
            Self::Rotate {
                to, secret_file, ..
            } => rotate(folder, secret, &to, &secret_file).await,
            Self::Export { request, out, .. } => {
                let brand = config.server.brand.clone();
                export(&open()?, &request, &out, brand).await
            }
        }
    }
}

impl WalletsCommand {
    /// The error of this command when a provider holds the keys. It names what the operator can do
    /// there instead.
    const fn elsewhere(&self) -> WalletsCliError {
        let (verb, instead) = match self {
            Self::List { .. } => (
                "list",
                "Turnkey's dashboard lists them, by names `wallet-eip155-…`",
            ),
            Self::Check { .. } => ("check", "`check-config --online` asks Turnkey"),
            Self::Rotate { .. } => (
                "rotate",
                "there is no secret; API keys are exchanged at Turnkey",
            ),
            Self::Export { .. } => (
                "export",
                "an administrator submits EXPORT_PRIVATE_KEY to the owner's target key at Turnkey, and the wallet signs nothing from then on",
            ),
        };
        WalletsCliError::NotHere { verb, instead }
    }
}

/// Writes all wallets to the new folder. The old folder is open exclusively: no server runs, and
/// none can start meanwhile.
async fn rotate(
    folder: &Path,
    secret: &SecretString,
    to: &Path,
    secret_file: &Path,
) -> Result<Printed, WalletsCliError> {
    if is_same(to, folder) {
        return Err(WalletsCliError::SameFolder);
    }
    let new = new_secret(secret_file)?;
    let wallets = LocalCustody::open_alone(folder, secret.clone())?;
    let rotated = wallets.rotate(to, new).await?;
    Ok(good(format!(
        "{} written to {}, {} there before; all open under the new secret\n\
         now set custody.directory and custody.secret_file to the new ones, and keep the old folder until the \
         server has served a wallet",
        count(rotated.written),
        to.display(),
        rotated.there
    )))
}

/// Exports a wallet on the owner's request. The mark of the export is on disk before any byte of
/// the key is in `out`.
async fn export(
    wallets: &LocalCustody,
    request: &Path,
    out: &Path,
    brand: String,
) -> Result<Printed, WalletsCliError> {
    let text = std::fs::read_to_string(request).map_err(|error| WalletsCliError::Request {
        file: request.to_owned(),
        kind: error.kind(),
    })?;
    let request: ExportRequest = text
        .parse()
        .map_err(|refusal: ExportRefusal| CustodyError::Export(refusal))?;
    // An unwritable file is reported before anything changes.
    let cannot = |error: io::Error| WalletsCliError::Out {
        file: out.to_owned(),
        kind: error.kind(),
    };
    let before = match std::fs::read_to_string(out) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(cannot(error)),
    };
    let digest = json!(request.digest(&brand));
    if before
        .as_ref()
        .is_some_and(|text| request_of(text) != Some(digest))
    {
        return Err(WalletsCliError::OutTaken(out.to_owned()));
    }
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let mut partial = tempfile::NamedTempFile::new_in(folder).map_err(cannot)?;

    let owner = request.owner;
    let document = format!("{}\n", wallets.export(request, brand).await?);
    partial.write_all(document.as_bytes()).map_err(cannot)?;
    partial.as_file().sync_all().map_err(cannot)?;
    partial.persist(out).map_err(|error| cannot(error.error))?;
    Ok(good(format!(
        "the wallet of {owner} is exported: give {} to its owner; this service never signs with the wallet again",
        out.display()
    )))
}

/// The digest of the request that an exported wallet's document answers.
fn request_of(document: &str) -> Option<Value> {
    let document: Value = serde_json::from_str(document).ok()?;
    document.get("request").cloned()
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
    let _ = write!(text, "{}, {bad} cannot be opened", count(owners.len()));
    Ok(Printed {
        text,
        is_good: bad == 0,
    })
}

/// A number of wallets, in words.
fn count(wallets: usize) -> String {
    match wallets {
        1 => "1 wallet".to_owned(),
        _ => format!("{wallets} wallets"),
    }
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
        "exported_at": wallet.exported_at,
    })
}

fn as_text(listed: &[Listed]) -> String {
    if listed.is_empty() {
        return "no sub-wallet".to_owned();
    }
    let mut text = String::new();
    for wallet in listed {
        let made = wallet.created_at.map_or_else(unknown, time);
        let left = wallet
            .exported_at
            .map_or_else(String::new, |at| format!("  exported {}", time(at)));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}  {}  {made}{left}", wallet.owner, wallet.address);
    }
    text
}

/// Renders Unix seconds as a time.
fn time(at: u64) -> String {
    let at = i64::try_from(at).ok();
    let at = at.and_then(|at| Timestamp::from_second(at).ok());
    at.map_or_else(unknown, |at| at.to_string())
}

fn unknown() -> String {
    "unknown".to_owned()
}
