//! A key in an encrypted file (Web3 Secret Storage, version 3), as `cast wallet import`, geth and eth-account write it.

use std::fs;
use std::io;
use std::path::Path;

use alloy_primitives::Address;
use alloy_signer_local::PrivateKeySigner;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::IgnoredAny;
use thiserror::Error;

use super::{HashSigner, LocalKey};

/// A key file that cannot be used. Neither path nor content is repeated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeystoreError {
    /// It cannot be read.
    #[error("the key file cannot be read: {kind}")]
    Unreadable {
        /// Why.
        kind: io::ErrorKind,
    },
    /// Others than its owner may read or write it.
    #[error("the key file has mode {observed:o}, expected {expected:o}")]
    Permissions {
        /// What it should be.
        expected: u32,
        /// What it is.
        observed: u32,
    },
    /// It is no key file of version 3, or asks for what is not supported.
    #[error("the key file has an unusable {member}")]
    Format {
        /// The first member that cannot be used.
        member: &'static str,
    },
    /// The password is another one, or the file was changed.
    #[error("the password does not open the key file")]
    Password,
    /// The key is another account's than the file names.
    #[error("the key file names account {expected}, and holds the key of {observed}")]
    OtherAccount {
        /// The file's `address`.
        expected: Address,
        /// The key's account.
        observed: Address,
    },
}

impl KeystoreError {
    /// The stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "keystore_unreadable",
            Self::Permissions { .. } => "keystore_permissions",
            Self::Format { .. } => "keystore_format",
            Self::Password => "keystore_password",
            Self::OtherAccount { .. } => "keystore_other_account",
        }
    }
}

/// Only its owner may read it.
const MODE: u32 = 0o600;

/// The most memory that the derivation of the key may take, in bytes: twice what geth's strongest setting takes.
const MOST_MEMORY: u64 = 512 * 1024 * 1024;

/// The most rounds of PBKDF2: forty times what eth-account takes.
const MOST_ROUNDS: u64 = 40_000_000;

#[derive(Deserialize)]
struct File {
    version: u64,
    #[serde(default)]
    address: Option<String>,
    crypto: Crypto,
}

#[derive(Deserialize)]
struct Crypto {
    cipher: String,
    cipherparams: Parameters,
    kdf: String,
    kdfparams: Derivation,
}

#[derive(Deserialize)]
struct Parameters {
    iv: String,
}

#[derive(Deserialize)]
struct Derivation {
    dklen: u64,
    #[serde(default)]
    n: u64,
    #[serde(default)]
    r: u64,
    #[serde(default)]
    p: u64,
    #[serde(default)]
    c: u64,
    #[serde(default)]
    prf: Option<String>,
    #[serde(rename = "salt")]
    _salt: IgnoredAny,
}

impl LocalKey {
    /// The key of an encrypted file. Takes as long as the file's own parameters ask for, a second or so: call it at the start, and not
    /// on a thread that serves others.
    ///
    /// # Errors
    /// [`KeystoreError`].
    pub fn from_keystore(path: &Path, password: &SecretString) -> Result<Self, KeystoreError> {
        check_mode(path)?;
        let text = fs::read(path).map_err(unreadable)?;
        let file: File = serde_json::from_slice(&text).map_err(|_| format("form"))?;
        let named = file.check()?;
        let key = eth_keystore::decrypt_key(path, password.expose_secret()).map_err(unopened)?;
        let signer = PrivateKeySigner::from_slice(&key).map_err(|_| format("key"))?;
        if let Some(expected) = named.filter(|expected| *expected != signer.address()) {
            let observed = signer.address();
            return Err(KeystoreError::OtherAccount { expected, observed });
        }
        Ok(HashSigner::new(signer))
    }
}

impl File {
    /// The account that the file names, if it does. What it asks for is bounded before anything is derived.
    fn check(&self) -> Result<Option<Address>, KeystoreError> {
        if self.version != 3 {
            return Err(format("version"));
        }
        if self.crypto.cipher != "aes-128-ctr" {
            return Err(format("cipher"));
        }
        let iv = &self.crypto.cipherparams.iv;
        if iv.len() != 32 || !iv.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(format("cipherparams"));
        }
        let asked = &self.crypto.kdfparams;
        let usable = match self.crypto.kdf.as_str() {
            "scrypt" => {
                let memory = asked.n.saturating_mul(asked.r).saturating_mul(128);
                asked.n > 1
                    && asked.n.is_power_of_two()
                    && (1..=16).contains(&asked.p)
                    && (1..=MOST_MEMORY).contains(&memory)
            }
            "pbkdf2" => {
                (1..=MOST_ROUNDS).contains(&asked.c) && asked.prf.as_deref() == Some("hmac-sha256")
            }
            _ => return Err(format("kdf")),
        };
        if !usable || asked.dklen != 32 {
            return Err(format("kdfparams"));
        }
        let address = self.address.as_ref().map(|address| address.parse());
        address.transpose().map_err(|_| format("address"))
    }
}

fn format(member: &'static str) -> KeystoreError {
    KeystoreError::Format { member }
}

fn unreadable(error: io::Error) -> KeystoreError {
    KeystoreError::Unreadable { kind: error.kind() }
}

fn unopened(error: eth_keystore::KeystoreError) -> KeystoreError {
    match error {
        eth_keystore::KeystoreError::MacMismatch => KeystoreError::Password,
        _ => format("crypto"),
    }
}

#[cfg(unix)]
fn check_mode(path: &Path) -> Result<(), KeystoreError> {
    use std::os::unix::fs::PermissionsExt as _;

    let observed = fs::metadata(path).map_err(unreadable)?.permissions().mode() & 0o777;
    if observed & !MODE == 0 {
        return Ok(());
    }
    let expected = MODE;
    Err(KeystoreError::Permissions { expected, observed })
}

#[cfg(not(unix))]
fn check_mode(_: &Path) -> Result<(), KeystoreError> {
    Ok(())
}
