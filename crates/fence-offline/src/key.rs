//! `key new`, `import`, `list` and `address`: key files (Web3 Secret Storage, version 3), as `cast
//! wallet` uses them. No command prints a private key.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::json;
use zeroize::Zeroizing;

use crate::{CommandOutcome, Exit, Failure, Printable, key_files, output, source, terminal};
use keystore::{Key, KeystoreError};

/// `key new`.
#[derive(Debug, Args)]
pub struct New {
    /// The key file to write (mode 0600)
    #[arg(long, value_name = "FILE")]
    pub keystore: PathBuf,
    /// A file with the new password (`-`: standard input, /dev/fd/N: a descriptor) [default: ask]
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Makes a key from the machine's randomness and writes it encrypted.
///
/// # Errors
/// When the file already exists or cannot be written, and for an empty password.
pub fn new(arguments: &New) -> Result<CommandOutcome, Failure> {
    let password = arguments.password_file.as_deref();
    store(&arguments.keystore, password, arguments.json, Key::generate)
}

/// `key import`.
#[derive(Debug, Args)]
pub struct Import {
    /// The key file to write (mode 0600)
    #[arg(long, value_name = "FILE")]
    pub keystore: PathBuf,
    /// A file with the private key, 64 hexadecimal digits (`-`: standard input) [default: ask]
    #[arg(long, value_name = "FILE")]
    pub private_key_file: Option<PathBuf>,
    /// A file with the new password (/dev/fd/N: a descriptor) [default: ask]
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Encrypts a private key that is typed or in a file.
///
/// # Errors
/// As [`new`]; a text that is no private key.
pub fn import(arguments: &Import) -> Result<CommandOutcome, Failure> {
    let both = [&arguments.private_key_file, &arguments.password_file];
    if both
        .into_iter()
        .flatten()
        .filter(|path| source::is_stdin(path))
        .count()
        > 1
    {
        return Err(Failure::usage(
            "only one of --private-key-file and --password-file can be standard input",
        ));
    }
    store(
        &arguments.keystore,
        arguments.password_file.as_deref(),
        arguments.json,
        || {
            let text = match arguments.private_key_file.as_deref() {
                Some(path) => Zeroizing::new(
                    source::read(path)
                        .map_err(|error| KeystoreError::Malformed(error.to_string()))?,
                ),
                None => terminal::password(None, "Private key: ")
                    .map_err(|error| KeystoreError::Malformed(error.to_string()))?,
            };
            Key::from_text(&text)
        },
    )
}

fn store(
    path: &Path,
    password_file: Option<&Path>,
    as_json: bool,
    key: impl FnOnce() -> Result<Key, KeystoreError>,
) -> Result<CommandOutcome, Failure> {
    // An existing file ends the command before any question.
    if path.symlink_metadata().is_ok() {
        return Err(Failure::file(format!(
            "{}: exists already; a key file is never replaced",
            path.display()
        )));
    }
    let key = key()?;
    let password = terminal::new_password(password_file)?;
    let text = keystore::encrypt(&key, password.as_bytes())?;
    output::write(path, text.as_bytes(), false)?;
    Ok(report_written(
        path,
        Some(&key.address().to_string()),
        as_json,
    ))
}

/// `key address`.
#[derive(Debug, Args)]
pub struct Address {
    /// The key file, or the name of one in ~/.foundry/keystores
    #[arg(long, value_name = "FILE", env = "SVC_FENCE_KEYSTORE")]
    pub keystore: PathBuf,
    /// A file with the password, for key files that do not say their address [default: ask]
    #[arg(long, value_name = "FILE", env = "SVC_FENCE_PASSWORD_FILE")]
    pub password_file: Option<PathBuf>,
    /// Decrypt the key even where the file says an address, and compare
    #[arg(long)]
    pub check: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints the address of a key file.
///
/// # Errors
/// A key file or password that cannot be used.
pub fn address(arguments: &Address) -> Result<CommandOutcome, Failure> {
    let path = key_files::locate(&arguments.keystore);
    let text = source::read(&path)?;
    let in_file = |error: KeystoreError| Failure::file(format!("{}: {error}", path.display()));
    let address = match keystore::address_beside(&text).map_err(in_file)? {
        Some(address) if !arguments.check => address,
        _ => {
            let password = terminal::password(
                arguments.password_file.as_deref(),
                "Password of the key file: ",
            )?;
            keystore::decrypt(&text, password.as_bytes())
                .map_err(in_file)?
                .address()
        }
    };
    Ok(if arguments.json {
        CommandOutcome::json(&json!({"address": address.to_string()}), Exit::Ok)
    } else {
        CommandOutcome::ok(format!("{address}\n"))
    })
}

/// `key list`.
#[derive(Debug, Args)]
pub struct List {
    /// The folder [default: ~/.foundry/keystores]
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Lists the key files of a folder with their stated addresses.
///
/// # Errors
/// A folder that cannot be read.
pub fn list(arguments: &List) -> Result<CommandOutcome, Failure> {
    let folder = arguments
        .folder
        .clone()
        .or_else(key_files::default_folder)
        .ok_or_else(|| Failure::usage("no HOME: name a folder with --folder"))?;
    let unreadable = |error| Failure::file(format!("{}: {error}", folder.display()));
    let mut paths = fs::read_dir(&folder)
        .map_err(unreadable)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(unreadable)?;
    paths.sort();
    let keys = paths
        .iter()
        .filter(|path| path.is_file())
        .filter_map(|path| {
            let text = source::read(path).ok()?;
            Some((path, keystore::address_beside(&text).ok()?))
        });
    if arguments.json {
        let keys: Vec<_> = keys
            .map(|(path, address)| json!({"keystore": path.display().to_string(), "address": address.map(|address| address.to_string())}))
            .collect();
        return Ok(CommandOutcome::json(&json!({"keys": keys}), Exit::Ok));
    }
    let mut text = String::new();
    for (path, address) in keys {
        let address = address.map_or_else(
            || "not said in the file".to_owned(),
            |address| address.to_string(),
        );
        text.push_str(&format!(
            "{address:42}  {}\n",
            Printable(&path.display().to_string())
        ));
    }
    Ok(CommandOutcome::ok(text))
}

/// Reports the address and the place of a new key file.
fn report_written(path: &Path, address: Option<&str>, as_json: bool) -> CommandOutcome {
    let file = path.display().to_string();
    if as_json {
        return CommandOutcome::json(&json!({"address": address, "keystore": file}), Exit::Ok);
    }
    let note = format!(
        "written to {}; keep a copy and the password\n",
        Printable(&file)
    );
    CommandOutcome::ok(format!("{}\n", address.unwrap_or_default())).with_note(&note)
}
