//! Files of the old form: Web3 Secret Storage, version 3, with the owner as one more member.
//!
//! Nothing binds such a key to the owner beside it. So these files open no wallet: an operator
//! takes them [over](super::adopt) after seeing whose they claim to be.

use std::path::Path;

use keystore::{Key, KeystoreError};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::{files, owner_of_name};
use crate::{CustodyError, Owner};

/// The file that showed whether a secret was the one of the old wallets.
const CHECK: &str = "operator-check.json";

/// A file of the old form, opened.
pub(super) struct OldWallet {
    pub(super) key: Key,
    /// The owner beside the key. Anybody who can write the file can change it.
    pub(super) owner: Option<Owner>,
    pub(super) created_at: Option<u64>,
}

/// Whether the text is of the old form.
pub(super) fn is_one(text: &str) -> bool {
    keystore::address_beside(text).is_ok()
}

/// Opens a file of the old form.
///
/// # Errors
/// [`KeystoreError`]. Another secret and a damaged file cannot be told apart.
pub(super) fn open(text: &str, secret: &SecretString) -> Result<OldWallet, KeystoreError> {
    let key = keystore::decrypt(text, secret.expose_secret().as_bytes())?;
    let file: Value = serde_json::from_str(text).unwrap_or_default();
    let owner = file.get("owner").and_then(Value::as_str);
    Ok(OldWallet {
        key,
        owner: owner.and_then(|owner| owner.parse().ok()),
        created_at: file.get("created_at").and_then(Value::as_u64),
    })
}

/// Confirms that the secret is the one of the old wallets, if the folder has any. So a folder of
/// the old form does not get another secret by mistake.
///
/// # Errors
/// [`CustodyError::WrongSecret`], and files that cannot be read.
pub(super) fn confirm(folder: &Path, secret: &SecretString) -> Result<(), CustodyError> {
    let names = files::names(folder).map_err(CustodyError::io("read the folder of the wallets"))?;
    let mut candidates = names.into_iter().filter_map(|name| {
        let is_candidate = name == CHECK || owner_of_name(&name).is_some();
        let text = is_candidate.then(|| files::read(folder, &name).ok().flatten());
        text.flatten().filter(|text| is_one(text))
    });
    let Some(text) = candidates.next_back() else {
        return Ok(());
    };
    match open(&text, secret) {
        Ok(_) => Ok(()),
        Err(KeystoreError::Mac) => Err(CustodyError::WrongSecret),
        Err(error) => Err(CustodyError::Key(error)),
    }
}
