//! `api-server wallets`: manages the keys of sub-wallets that this machine holds. The keys of an
//! external provider are managed there.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use custody::{
    Adoption, Candidate, CustodyError, ExportRefusal, ExportRequest, Listed, LocalCustody,
    RecordedCustody,
};
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::{Value, json};
use thiserror::Error;

use crate::config::{Config, CustodyProvider};
use crate::error::ServeError;
use crate::serve::Stores;

#[derive(Debug, Subcommand)]
pub(crate) enum WalletsCommand {
    /// List every recorded sub-wallet whose file opens: its owner, its address, when it was made,
    /// and when it was exported.
    List {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Print JSON, one object in a list for each wallet.
        #[arg(long)]
        json: bool,
    },
    /// Open every sub-wallet with the operator's secret, and compare it with the records beside the
    /// ledger, for example after restoring a backup. Exits with 1 if one cannot be opened, is
    /// missing or is not recorded.
    Check {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Write every sub-wallet to another folder under another secret, and open each of them there.
    /// The configured folder does not change. The server must be stopped. An interrupted run can be
    /// repeated.
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
    /// Take over wallets' files that this folder did not write: from a backup, from another folder
    /// or secret, or of the old form. Shows what it will do, and asks. The server must be stopped.
    /// Without an answer it changes nothing and exits with 1.
    Adopt {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// The files. Take over all that belong together in one run: a wallet that two owners claim
        /// is then found.
        #[arg(required = true, value_name = "WALLET")]
        files: Vec<PathBuf>,
        /// The file with the secret that they were written under, if it is not the configured one.
        #[arg(long, value_name = "FILE")]
        secret_file: Option<PathBuf>,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
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
    #[error("cannot read the wallet {}: {kind}", .file.display())]
    Wallet { file: PathBuf, kind: io::ErrorKind },
    #[error("cannot ask for a confirmation: {0}")]
    Confirmation(io::ErrorKind),
    #[error("--request: cannot read {}: {kind}", .file.display())]
    Request { file: PathBuf, kind: io::ErrorKind },
    #[error("--out: cannot write {}: {kind}", .file.display())]
    Out { file: PathBuf, kind: io::ErrorKind },
    #[error("--out: {} exists and has other content", .0.display())]
    OutTaken(PathBuf),
    #[error(transparent)]
    Records(#[from] ServeError),
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
            | Self::Adopt { config, .. }
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
        let records = Stores::at(config)?.wallets().await?;
        let theirs = secret.clone();
        let open = move |folder: &Path| LocalCustody::open(folder, theirs);
        let theirs = secret.clone();
        let open_alone = move |folder: &Path| LocalCustody::open_alone(folder, theirs);
        match self {
            Self::List { json, .. } => {
                let wallets = RecordedCustody::open(folder, records, open).await?;
                let listed = wallets.list().await?;
                let text = match json {
                    true => Value::from_iter(listed.iter().map(as_json)).to_string(),
                    false => as_text(&listed),
                };
                Ok(good(text))
            }
            Self::Check { .. } => {
                let wallets = RecordedCustody::open(folder, records, open).await?;
                check(&wallets).await
            }
            Self::Rotate {
                to, secret_file, ..
            } => {
                if is_same(&to, folder) {
                    return Err(WalletsCliError::SameFolder);
                }
                let new = secret_of(&secret_file)?;
                let wallets = RecordedCustody::open(folder, records, open_alone).await?;
                rotate(&wallets, new, &to).await
            }
            Self::Adopt {
                files,
                secret_file,
                yes,
                ..
            } => {
                let theirs = match secret_file {
                    Some(file) => secret_of(&file)?,
                    None => secret.clone(),
                };
                let wallets = RecordedCustody::restoring(open_alone(folder)?, records);
                adopt(&wallets, &files, theirs, yes).await
            }
            Self::Export { request, out, .. } => {
                let brand = config.server.brand.clone();
                let wallets = RecordedCustody::open(folder, records, open).await?;
                export(&wallets, &request, &out, brand).await
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
            Self::Adopt { .. } => ("adopt", "Turnkey has them, and no file does"),
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
    wallets: &RecordedCustody,
    new: SecretString,
    to: &Path,
) -> Result<Printed, WalletsCliError> {
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

/// Takes files over, after showing what that will do.
async fn adopt(
    wallets: &RecordedCustody,
    files: &[PathBuf],
    secret: SecretString,
    is_confirmed: bool,
) -> Result<Printed, WalletsCliError> {
    let candidates = files.iter().map(|file| candidate(file));
    let candidates = candidates.collect::<Result<Vec<Candidate>, _>>()?;
    let adoptions = wallets.adoptions(candidates, secret).await?;
    let plan: Vec<String> = adoptions.iter().map(announced).collect();
    let plan = plan.join("\n");
    if !is_confirmed && !confirm(&plan)? {
        return Ok(Printed {
            text: "not confirmed: nothing was changed".to_owned(),
            is_good: false,
        });
    }
    let count = count(adoptions.len());
    for adoption in adoptions {
        wallets.adopt(adoption).await?;
    }
    let done = format!("{count} taken over");
    Ok(good(match is_confirmed {
        true => format!("{plan}\n{done}"),
        false => done,
    }))
}

fn candidate(file: &Path) -> Result<Candidate, WalletsCliError> {
    let text = std::fs::read_to_string(file).map_err(|error| WalletsCliError::Wallet {
        file: file.to_owned(),
        kind: error.kind(),
    })?;
    let name = file.file_name().unwrap_or_default();
    Ok(Candidate {
        name: name.to_string_lossy().into_owned(),
        text,
    })
}

/// Says what taking a file over will do.
fn announced(adoption: &Adoption) -> String {
    let Adoption {
        file,
        owner,
        address,
        ..
    } = adoption;
    let proof = match adoption.is_old_form {
        true => "the old form proves no owner: compare it with your records",
        false => "the file proves its owner",
    };
    let place = match (&adoption.replaces, adoption.is_there) {
        (Some(fault), _) => {
            let code = fault.code();
            format!("replaces an unusable file ({code}), which stays as replaced-…")
        }
        (None, true) => "is there already, and stays".to_owned(),
        (None, false) => "has no file yet".to_owned(),
    };
    let recorded = match adoption.is_recorded {
        true => "its owner's recorded wallet",
        false => "no wallet of its owner is recorded yet",
    };
    format!("{file}: wallet {address} of {owner}: {place}; {proof}; {recorded}")
}

/// Shows the text and asks. Only `y` and `yes` confirm.
fn confirm(text: &str) -> Result<bool, WalletsCliError> {
    let cannot = |error: io::Error| WalletsCliError::Confirmation(error.kind());
    let mut out = io::stdout().lock();
    write!(out, "{text}\ntake over? [y/N] ").map_err(cannot)?;
    out.flush().map_err(cannot)?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(cannot)?;
    writeln!(out).map_err(cannot)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Exports a wallet on the owner's request. The mark of the export is on disk before any byte of
/// the key is in `out`.
async fn export(
    wallets: &RecordedCustody,
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

async fn check(wallets: &RecordedCustody) -> Result<Printed, WalletsCliError> {
    let (mut text, mut all, mut bad) = (String::new(), 0_usize, 0_usize);
    for (owner, checked) in wallets.check().await? {
        // Writing to a string cannot fail.
        let _ = match checked {
            Ok(Some(wallet)) => writeln!(text, "{owner}: ok: {}", wallet.address),
            // A server is making it, or was ended when it began to.
            Ok(None) => continue,
            Err(error) => {
                bad = bad.saturating_add(1);
                writeln!(text, "{owner}: {}: {error}", error.code())
            }
        };
        all = all.saturating_add(1);
    }
    let _ = write!(text, "{}, {bad} cannot be opened", count(all));
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

fn secret_of(file: &Path) -> Result<SecretString, WalletsCliError> {
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
