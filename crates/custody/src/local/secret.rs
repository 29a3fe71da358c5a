//! The operator's secret, stretched once when the folder is opened.
//!
//! The folder's file `operator-secret.json` says how the secret is stretched, and shows whether a
//! secret is the right one. Each wallet's file repeats the numbers, so that one file and the secret
//! are enough to recover a wallet.

use std::path::Path;

use alloy_primitives::B256;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use hkdf::Hkdf;
use keystore::KeystoreError;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{files, old_form, sealed};
use crate::CustodyError;

/// The file that says how the secret is stretched.
const NAME: &str = "operator-secret.json";

/// The name of that file's form, which is also what its seal covers.
const FORMAT: &str = "wallet-secret-1";

/// What the key of one seal is derived for (HKDF's `info`).
const SEAL: &[u8] = b"wallet-seal-1";

/// How many ways to stretch the secret are tried when the folder's file is missing and wallets'
/// files state different ones. Each takes a second.
const MOST_TRIES: usize = 4;

/// How a secret is stretched: scrypt's numbers and salt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stretching {
    n: u64,
    r: u64,
    p: u64,
    salt: B256,
}

/// How much work stretching is in a folder that is new.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// A second, and 256 MiB.
    Full,
    /// A few milliseconds.
    Weak,
}

/// The stretched secret. It seals and opens, and is wiped when it is dropped.
pub(super) struct Sealer {
    stretching: Stretching,
    key: Zeroizing<[u8; 32]>,
}

/// The content of the folder's file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: String,
    stretching: Stretching,
    salt: B256,
    /// The seal of nothing: it opens under the right secret only.
    sealed: alloy_primitives::Bytes,
}

impl Stretching {
    fn new(work: Work) -> Result<Self, CustodyError> {
        let n = match work {
            Work::Full => 1 << 18,
            Work::Weak => 1 << 10,
        };
        let salt = random()?;
        Ok(Self {
            n,
            r: 8,
            p: 1,
            salt,
        })
    }
}

impl Sealer {
    /// Stretches the secret of a folder, which is confirmed. A new folder gets its file.
    ///
    /// # Errors
    /// [`CustodyError::WrongSecret`], and files that cannot be read or written.
    pub(super) fn of_folder(
        folder: &Path,
        secret: &SecretString,
        work: Work,
    ) -> Result<Self, CustodyError> {
        if let Some(text) = files::read(folder, NAME)? {
            return Self::confirmed(&text, secret);
        }
        let sealer = match Self::of_wallets(folder, secret)? {
            Some(sealer) => sealer,
            None => {
                old_form::confirm(folder, secret)?;
                Self::stretch(secret, Stretching::new(work)?)?
            }
        };
        let text = sealer.written()?;
        files::publish(folder, NAME, &text, |_| Ok(())).map_err(CustodyError::io(
            "write how the operator's secret is stretched",
        ))?;
        match files::read(folder, NAME)? {
            Some(stored) if stored == text => Ok(sealer),
            // Another process was first, and its file counts.
            Some(stored) => Self::confirmed(&stored, secret),
            None => Err(unreadable(std::io::ErrorKind::NotFound)),
        }
    }

    /// Stretches a secret.
    pub(super) fn stretch(
        secret: &SecretString,
        stretching: Stretching,
    ) -> Result<Self, CustodyError> {
        let Stretching { n, r, p, salt } = stretching;
        let secret = secret.expose_secret().as_bytes();
        let key = keystore::stretch(secret, salt.as_slice(), (n, r, p));
        Ok(Self {
            stretching,
            key: key.map_err(CustodyError::Key)?,
        })
    }

    /// How the secret was stretched.
    pub(super) const fn stretching(&self) -> Stretching {
        self.stretching
    }

    /// Seals bytes. `about` is sealed with them without being written. The key belongs to the salt,
    /// which has to be new for every seal.
    pub(super) fn seal(
        &self,
        salt: B256,
        about: &str,
        bytes: &[u8],
    ) -> Result<Vec<u8>, CustodyError> {
        let (cipher, nonce) = self.cipher(salt).ok_or_else(unusable)?;
        let payload = Payload {
            msg: bytes,
            aad: about.as_bytes(),
        };
        cipher.encrypt(&nonce, payload).map_err(|_| unusable())
    }

    /// Opens a seal. `None` when it is not the one that was made about this, under this secret.
    pub(super) fn open(
        &self,
        salt: B256,
        about: &str,
        sealed: &[u8],
    ) -> Option<Zeroizing<Vec<u8>>> {
        let (cipher, nonce) = self.cipher(salt)?;
        let payload = Payload {
            msg: sealed,
            aad: about.as_bytes(),
        };
        cipher.decrypt(&nonce, payload).ok().map(Zeroizing::new)
    }

    /// The cipher of one seal, and its nonce.
    fn cipher(&self, salt: B256) -> Option<(ChaCha20Poly1305, Nonce)> {
        let mut derived = Zeroizing::new([0_u8; 44]);
        Hkdf::<Sha256>::new(Some(salt.as_slice()), self.key.as_slice())
            .expand(SEAL, derived.as_mut_slice())
            .ok()?;
        let (key, nonce) = derived.split_at_checked(32)?;
        let cipher = ChaCha20Poly1305::new_from_slice(key).ok()?;
        Some((cipher, Nonce::try_from(nonce).ok()?))
    }

    /// Stretches the secret as the folder's file says.
    fn confirmed(text: &str, secret: &SecretString) -> Result<Self, CustodyError> {
        let invalid = || unreadable(std::io::ErrorKind::InvalidData);
        let written: Written = serde_json::from_str(text).map_err(|_| invalid())?;
        if written.format != FORMAT {
            return Err(invalid());
        }
        let sealer = Self::stretch(secret, written.stretching)?;
        let opened = sealer.open(written.salt, FORMAT, &written.sealed);
        opened.map(|_| sealer).ok_or(CustodyError::WrongSecret)
    }

    /// Stretches the secret as a wallet's file says, where the folder's own file is missing. The
    /// wallet has to open. `None` without a wallet of this form.
    fn of_wallets(folder: &Path, secret: &SecretString) -> Result<Option<Self>, CustodyError> {
        let mut tried: Vec<Stretching> = Vec::new();
        let names = files::names(folder).map_err(CustodyError::io(READING))?;
        for name in names {
            let Ok(Some(text)) = files::read(folder, &name) else {
                continue;
            };
            let Some(stretching) = sealed::stretching(&text) else {
                continue;
            };
            if tried.contains(&stretching) {
                continue;
            }
            if tried.len() == MOST_TRIES {
                break;
            }
            tried.push(stretching);
            let sealer = match Self::stretch(secret, stretching) {
                Ok(sealer) => sealer,
                Err(error) => {
                    tracing::warn!(file = name, %error, "a wallet's file is of no use");
                    continue;
                }
            };
            if sealed::open(&sealer, &name, &text).is_ok() {
                return Ok(Some(sealer));
            }
        }
        match tried.is_empty() {
            true => Ok(None),
            false => Err(CustodyError::WrongSecret),
        }
    }

    fn written(&self) -> Result<String, CustodyError> {
        let salt = random()?;
        let written = Written {
            format: FORMAT.to_owned(),
            stretching: self.stretching,
            salt,
            sealed: self.seal(salt, FORMAT, &[])?.into(),
        };
        let text = serde_json::to_string(&written);
        Ok(format!("{}\n", text.map_err(|_| unusable())?))
    }
}

/// Random bytes of the operating system.
pub(super) fn random() -> Result<B256, CustodyError> {
    let mut bytes = B256::ZERO;
    let filled = getrandom::fill(bytes.as_mut_slice());
    filled.map_err(|error| CustodyError::Key(KeystoreError::Randomness(error.to_string())))?;
    Ok(bytes)
}

const READING: &str = "read how the operator's secret is stretched";

fn unreadable(kind: std::io::ErrorKind) -> CustodyError {
    CustodyError::io(READING)(kind.into())
}

/// The ciphers take every key and nonce that is made here.
pub(super) fn unusable() -> CustodyError {
    CustodyError::Key(KeystoreError::Unsupported(
        "this length of the cipher's key".to_owned(),
    ))
}
