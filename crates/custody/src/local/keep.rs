//! What an operator does with all wallets at once: list them, see that each opens, write them under
//! another secret.

use std::path::Path;

use alloy_primitives::Address;
use secrecy::SecretString;

use super::document::{created_at, owner_of_name, with_members};
use super::{Inner, LocalCustody, files, lock};
use crate::{CustodyError, Owner};

/// A wallet by its file. Its key was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Whose it is.
    pub owner: Owner,
    /// Its address, as the file says.
    pub address: Address,
    /// When it was made, in Unix seconds, as far as that is known.
    pub created_at: Option<u64>,
    /// When it was exported to its owner, in Unix seconds, if it was.
    pub exported_at: Option<u64>,
}

/// What became of the wallets that were to be written under another secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rotated {
    /// How many were written.
    pub written: usize,
    /// How many were there already, under the new secret, by an earlier run.
    pub there: usize,
}

impl LocalCustody {
    /// All wallets, by owner. No key is opened.
    ///
    /// # Errors
    /// A folder or file that cannot be read.
    pub async fn list(&self) -> Result<Vec<Listed>, CustodyError> {
        self.run(Inner::list).await
    }

    /// The owners that have a file, whatever is in it.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub async fn owners(&self) -> Result<Vec<Owner>, CustodyError> {
        self.run(Inner::owners).await
    }

    /// Writes every wallet into another folder, encrypted under another secret, and opens each
    /// again there. Nothing in this folder changes: it goes on serving, and stays as a backup under
    /// the old secret. What an earlier run has written is opened and left as it is, so that a run
    /// that was cut off can be repeated. Takes about three seconds for each wallet.
    ///
    /// A wallet that is made meanwhile could be missed, so this folder must be [open
    /// alone](Self::open_alone): the server is stopped. That a wallet was exported is known there,
    /// too, before its key is there.
    ///
    /// # Errors
    /// [`CustodyError::FolderInUse`]; a wallet that cannot be opened, here or there;
    /// [`CustodyError::AnotherWallet`] where the other folder holds another wallet of an owner.
    /// What was written before it stays.
    pub async fn rotate(
        &self,
        folder: &Path,
        secret: SecretString,
    ) -> Result<Rotated, CustodyError> {
        let folder = folder.to_owned();
        self.run(move |inner| {
            if !inner.lock.is_alone() {
                return Err(CustodyError::FolderInUse {
                    by: "it is not open alone",
                });
            }
            let other = Self::open(&folder, secret)?;
            inner.rotate(&other.0)
        })
        .await
    }
}

impl Inner {
    fn list(&self) -> Result<Vec<Listed>, CustodyError> {
        self.read_owners()?;
        let known = lock(&self.known).wallets.clone();
        let listed = known.into_iter().map(|(address, beside)| {
            Ok(Listed {
                owner: beside.owner,
                address,
                created_at: beside.created_at,
                exported_at: self.mark(beside.owner)?.map(|mark| mark.exported_at),
            })
        });
        let mut listed = listed.collect::<Result<Vec<Listed>, CustodyError>>()?;
        listed.sort_unstable_by_key(|wallet| wallet.owner);
        Ok(listed)
    }

    fn owners(&self) -> Result<Vec<Owner>, CustodyError> {
        let names = self.names()?;
        Ok(names
            .iter()
            .filter_map(|name| owner_of_name(name))
            .collect())
    }

    fn rotate(&self, other: &Self) -> Result<Rotated, CustodyError> {
        let mut rotated = Rotated::default();
        for owner in self.owners()? {
            let name = owner.file_name();
            let missing = || CustodyError::io("read a wallet")(std::io::ErrorKind::NotFound.into());
            let text = files::read(&self.folder, &name)?.ok_or_else(missing)?;
            let key = self.decrypt(owner, &text)?;
            self.hand_mark_to(other, owner)?;
            match files::read(&other.folder, &name)? {
                Some(_) => rotated.there = rotated.there.saturating_add(1),
                None => {
                    let created_at = created_at(&text);
                    let text = with_members(&other.encrypt(&key)?, owner, created_at)?;
                    files::publish(&other.folder, &name, &text, |_| Ok(()))
                        .map_err(CustodyError::io("write a wallet"))?;
                    rotated.written = rotated.written.saturating_add(1);
                }
            }
            // What stands is what counts, whoever wrote it.
            let stands = files::read(&other.folder, &name)?.ok_or_else(missing)?;
            let (expected, observed) = (key.address(), other.decrypt(owner, &stands)?.address());
            if expected != observed {
                return Err(CustodyError::AnotherWallet {
                    owner,
                    expected,
                    observed,
                });
            }
        }
        Ok(rotated)
    }
}
