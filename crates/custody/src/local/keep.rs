//! The operator's work on all wallets at once: list them, check that each opens, write them under
//! another secret.

use std::path::Path;

use alloy_primitives::Address;
use secrecy::SecretString;

use super::{Inner, LocalCustody, files, lock, owner_of_name, sealed};
use crate::{CustodyError, Owner};

/// A wallet according to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Its owner.
    pub owner: Owner,
    /// Its address.
    pub address: Address,
    /// When it was created, in Unix seconds, if that is known.
    pub created_at: Option<u64>,
    /// When it was exported to its owner, in Unix seconds, if it was.
    pub exported_at: Option<u64>,
}

/// The result of writing the wallets under another secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rotated {
    /// How many were written.
    pub written: usize,
    /// How many an earlier run had already written under the new secret.
    pub there: usize,
}

impl LocalCustody {
    /// All wallets whose files open, by owner.
    ///
    /// # Errors
    /// A folder, or the mark of an exported wallet, that cannot be read.
    pub async fn list(&self) -> Result<Vec<Listed>, CustodyError> {
        self.run(Inner::list).await
    }

    /// The owners with a file, whatever its content.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub async fn owners(&self) -> Result<Vec<Owner>, CustodyError> {
        self.run(Inner::owners).await
    }

    /// Writes every wallet into another folder, encrypted under another secret, and opens each
    /// again there. This folder does not change: it remains usable, as a backup under the old
    /// secret. Wallets that an earlier run has written are opened and left unchanged, so an
    /// interrupted run can be repeated.
    ///
    /// A wallet that is created meanwhile could be missed, so this folder must be
    /// [open exclusively](Self::open_alone): the server is stopped. The mark of an exported wallet
    /// is copied before its key.
    ///
    /// # Errors
    /// [`CustodyError::FolderInUse`]; a wallet that cannot be opened, here or there;
    /// [`CustodyError::AnotherWallet`] where the other folder holds another wallet of an owner.
    /// Wallets that were written before it stay.
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
            let opened = self.opened(owner)?.ok_or_else(missing)?;
            self.hand_mark_to(other, owner)?;
            if files::read(&other.folder, &name)?.is_some() {
                rotated.there = rotated.there.saturating_add(1);
            } else {
                let text = sealed::seal(&other.sealer, &opened.key, owner, opened.created_at)?;
                files::publish(&other.folder, &name, &text, |_| Ok(()))
                    .map_err(CustodyError::io("write a wallet"))?;
                rotated.written = rotated.written.saturating_add(1);
            }
            // The existing file counts, whichever process wrote it.
            let stored = other.opened(owner)?.ok_or_else(missing)?;
            let (expected, observed) = (opened.key.address(), stored.key.address());
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
