//! A key in an encrypted file (Web3 Secret Storage, version 3), as `cast wallet import`, geth and
//! eth-account write it.

use std::fs;
use std::io;
use std::path::Path;

use alloy_signer_local::PrivateKeySigner;
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use super::{HashSigner, LocalKey};

/// The key file cannot be used. Neither path nor content is repeated.
#[derive(Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// The file cannot be read.
    #[error("the key file cannot be read: {kind}")]
    Unreadable {
        /// The reason.
        kind: io::ErrorKind,
    },
    /// Other users than its owner may read or write it.
    #[error("the key file has mode {observed:o}, expected {expected:o}")]
    Permissions {
        /// The required mode.
        expected: u32,
        /// The file's mode.
        observed: u32,
    },
    /// The content is no key, or the password does not open it.
    #[error(transparent)]
    Content(#[from] keystore::KeystoreError),
}

impl KeyFileError {
    /// The stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "keystore_unreadable",
            Self::Permissions { .. } => "keystore_permissions",
            Self::Content(error) => error.code(),
        }
    }
}

/// The required mode: only its owner may read and write it.
const MODE: u32 = 0o600;

impl LocalKey {
    /// The key of an encrypted file. It takes as long as the file's own parameters require, about a
    /// second: call it at the start, and not on a thread that serves requests.
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
