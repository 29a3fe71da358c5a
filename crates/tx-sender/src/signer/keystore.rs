//! Opens a key in an encrypted file (Web3 Secret Storage, version 3), as `cast wallet import`, geth
//! and eth-account write it.

use std::fs;
use std::io;
use std::path::Path;

use alloy_signer_local::PrivateKeySigner;
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use super::{HashSigner, LocalKey};

/// Why a key file cannot be used. Neither its path nor its content is repeated.
#[derive(Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// The file cannot be read.
    #[error("the key file cannot be read: {kind}")]
    Unreadable {
        /// The kind of the operating system's error.
        kind: io::ErrorKind,
    },
    /// Other users than the owner may read or write the file.
    #[error("the key file has mode {observed:o}, expected {expected:o}")]
    Permissions {
        /// The mode that the file must have.
        expected: u32,
        /// The mode that the file has.
        observed: u32,
    },
    /// The content is no key, or the password does not open it.
    #[error(transparent)]
    Content(#[from] keystore::KeystoreError),
}

impl KeyFileError {
    /// Returns the stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "keystore_unreadable",
            Self::Permissions { .. } => "keystore_permissions",
            Self::Content(error) => error.code(),
        }
    }
}

/// The mode that a key file must have: only its owner may read and write it.
const MODE: u32 = 0o600;

impl LocalKey {
    /// Opens the key of an encrypted file. That takes as long as the parameters of the file
    /// require, about a second. Call it at the start, and not on a thread that serves requests.
    ///
    /// # Errors
    /// [`KeyFileError`].
    pub fn from_keystore(path: &Path, password: &SecretString) -> Result<Self, KeyFileError> {
        check_mode(path)?;
        let text = fs::read_to_string(path).map_err(unreadable)?;
        let key = keystore::decrypt(&text, password.expose_secret().as_bytes())?;
        let signer = PrivateKeySigner::from_slice(key.to_bytes().as_slice());
        let signer = signer.map_err(|_| keystore::KeystoreError::NotAKey)?;
        Ok(HashSigner::new(signer))
    }
}

fn unreadable(error: io::Error) -> KeyFileError {
    KeyFileError::Unreadable { kind: error.kind() }
}

#[cfg(unix)]
fn check_mode(path: &Path) -> Result<(), KeyFileError> {
    use std::os::unix::fs::PermissionsExt as _;

    let observed = fs::metadata(path).map_err(unreadable)?.permissions().mode() & 0o777;
    if observed & !MODE == 0 {
        return Ok(());
    }
    let expected = MODE;
    Err(KeyFileError::Permissions { expected, observed })
}

#[cfg(not(unix))]
fn check_mode(_: &Path) -> Result<(), KeyFileError> {
    Ok(())
}
