//! The data beside the key in a wallet's file, and in the file's name.

use std::time::{SystemTime, UNIX_EPOCH};

use keystore::KeystoreError;
use serde_json::Value;

use crate::{CustodyError, Owner};

/// The member of a wallet's file that states its owner.
const OWNER: &str = "owner";

/// The member that states when it was created, in Unix seconds.
const CREATED_AT: &str = "created_at";

/// A new key file that states its owner and its creation time.
pub(super) fn named(text: &str, owner: Owner) -> Result<String, CustodyError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs());
    with_members(text, owner, Some(now))
}

/// A key file with the members beside the key.
pub(super) fn with_members(
    text: &str,
    owner: Owner,
    created_at: Option<u64>,
) -> Result<String, CustodyError> {
    let mut file: Value = serde_json::from_str(text)
        .map_err(|error| CustodyError::Key(KeystoreError::Malformed(error.to_string())))?;
    if let Some(members) = file.as_object_mut() {
        members.insert(OWNER.to_owned(), owner.to_string().into());
        if let Some(at) = created_at {
            members.insert(CREATED_AT.to_owned(), at.into());
        }
    }
    Ok(format!("{file}\n"))
}

/// The owner that a file states.
pub(super) fn stated_owner(text: &str) -> Option<String> {
    Some(member(text, OWNER)?.as_str()?.to_owned())
}

pub(super) fn created_at(text: &str) -> Option<u64> {
    member(text, CREATED_AT)?.as_u64()
}

/// A member of a file.
fn member(text: &str, name: &str) -> Option<Value> {
    let file = serde_json::from_str::<Value>(text).ok()?;
    file.get(name).cloned()
}

/// The owner by a file's name.
pub(super) fn owner_of_name(name: &str) -> Option<Owner> {
    let rest = name.strip_prefix("eip155-")?.strip_suffix(".json")?;
    let (chain_id, address) = rest.split_once('-')?;
    let owner = Owner::new(chain_id.parse().ok()?, address.parse().ok()?);
    (owner.file_name() == name).then_some(owner)
}
