//! Taking over wallets' files that this folder did not write: files of the old form, from a backup,
//! or of another folder or secret.
//!
//! Judging and writing are two steps, so that an operator sees what will happen before it does. An
//! owner's good file is never replaced, and no wallet gets a second owner.

use std::collections::HashMap;

use alloy_primitives::{Address, hex};
use keystore::Key;
use secrecy::SecretString;

use super::secret::{Sealer, random};
use super::{Inner, LocalCustody, Opened, files, lock, old_form, owner_of_name, sealed};
use crate::{CustodyError, FileFault, Owner, Wallet};

/// A file that is to be taken over.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its name, without its folder.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// What taking a file over will do. It holds the wallet's key, which is wiped when it is dropped.
#[derive(Debug)]
#[non_exhaustive]
pub struct Adoption {
    /// The name of the file.
    pub file: String,
    /// The owner that the wallet will have. A file of the current form proves it, one of the old
    /// form only claims it.
    pub owner: Owner,
    /// The wallet.
    pub address: Address,
    /// Whether the file has the old form.
    pub is_old_form: bool,
    /// What is wrong with the file in the owner's place, if there is an unusable one. It stays
    /// under another name.
    pub replaces: Option<FileFault>,
    /// Whether the owner has this wallet already: nothing will be written.
    pub is_there: bool,
    /// Whether this is the owner's recorded wallet. `false` where nothing was compared with
    /// records.
    pub is_recorded: bool,
    key: Key,
    created_at: Option<u64>,
}

impl LocalCustody {
    /// Judges files that are to be taken over, and says what that will do. Changes nothing.
    /// `secret` is the one that the files were written under; stretching it takes about a second
    /// for each file of the old form, and for each folder that the others come from.
    ///
    /// # Errors
    /// [`CustodyError::File`] for a file that does not open or names no owner;
    /// [`CustodyError::AnotherWallet`] where its owner has another wallet here, or in an earlier
    /// one of the files; [`CustodyError::AddressTaken`] where its wallet has another owner.
    pub async fn adoptions(
        &self,
        candidates: Vec<Candidate>,
        secret: SecretString,
    ) -> Result<Vec<Adoption>, CustodyError> {
        self.run(move |inner| inner.adoptions(&candidates, &secret))
            .await
    }

    /// Takes a file over: seals its wallet under this folder's secret, in its owner's place. The
    /// file itself does not change. The folder must be [open exclusively](Self::open_alone). An
    /// interrupted run can be repeated.
    ///
    /// # Errors
    /// [`CustodyError::FolderInUse`]; [`CustodyError::AnotherWallet`] where the owner has got
    /// another wallet meanwhile; a file that cannot be written.
    pub async fn adopt(&self, adoption: Adoption) -> Result<Wallet, CustodyError> {
        self.run(move |inner| inner.adopt(&adoption)).await
    }
}

/// The place of an owner's file.
enum Place {
    Free,
    Taken,
    Faulty(FileFault),
}

impl Inner {
    fn adoptions(
        &self,
        candidates: &[Candidate],
        secret: &SecretString,
    ) -> Result<Vec<Adoption>, CustodyError> {
        self.read_owners()?;
        let mut sealers: Vec<Sealer> = Vec::new();
        let mut addresses: HashMap<Owner, Address> = HashMap::new();
        let mut owners: HashMap<Address, Owner> = HashMap::new();
        for (address, beside) in &lock(&self.known).wallets {
            owners.insert(*address, beside.owner);
        }
        let mut adoptions = Vec::new();
        for candidate in candidates {
            let adoption = self.judge(candidate, secret, &mut sealers)?;
            let (owner, address) = (adoption.owner, adoption.address);
            let observed = *addresses.entry(owner).or_insert(address);
            if observed != address {
                return Err(CustodyError::AnotherWallet {
                    owner,
                    expected: address,
                    observed,
                });
            }
            let known = *owners.entry(address).or_insert(owner);
            if known != owner {
                return Err(CustodyError::AddressTaken {
                    file: adoption.file,
                    address,
                    owner: known,
                });
            }
            adoptions.push(adoption);
        }
        Ok(adoptions)
    }

    fn judge(
        &self,
        candidate: &Candidate,
        secret: &SecretString,
        sealers: &mut Vec<Sealer>,
    ) -> Result<Adoption, CustodyError> {
        let faulty = |fault: FileFault| fault.of(&candidate.name);
        let is_old_form = old_form::is_one(&candidate.text);
        let (owner, opened) = match is_old_form {
            true => open_old(candidate, secret).map_err(faulty)?,
            false => open_current(candidate, secret, sealers)?,
        };
        let address = opened.key.address();
        let (replaces, is_there) = match self.place(owner, address)? {
            Place::Free => (None, false),
            Place::Taken => (None, true),
            Place::Faulty(fault) => (Some(fault), false),
        };
        Ok(Adoption {
            file: candidate.name.clone(),
            owner,
            address,
            is_old_form,
            replaces,
            is_there,
            is_recorded: false,
            key: opened.key,
            created_at: opened.created_at,
        })
    }

    /// What is in the place of the owner's file. Another wallet of the owner is an error.
    fn place(&self, owner: Owner, expected: Address) -> Result<Place, CustodyError> {
        match self.opened(owner) {
            Ok(None) => Ok(Place::Free),
            Ok(Some(opened)) if opened.key.address() == expected => Ok(Place::Taken),
            Ok(Some(opened)) => Err(CustodyError::AnotherWallet {
                owner,
                expected,
                observed: opened.key.address(),
            }),
            Err(CustodyError::File { fault, .. }) => Ok(Place::Faulty(fault)),
            Err(error) => Err(error),
        }
    }

    fn adopt(&self, adoption: &Adoption) -> Result<Wallet, CustodyError> {
        if !self.lock.is_alone() {
            return Err(CustodyError::FolderInUse {
                by: "it is not open alone",
            });
        }
        let (owner, expected) = (adoption.owner, adoption.address);
        let name = owner.file_name();
        let write = || sealed::seal(&self.sealer, &adoption.key, owner, adoption.created_at);
        let written = match self.place(owner, expected)? {
            Place::Taken => Ok(()),
            Place::Free => files::publish(&self.folder, &name, &write()?, |_| Ok(())),
            Place::Faulty(fault) => {
                let random = random()?;
                let mark = random.get(..8).map(hex::encode).unwrap_or_default();
                let kept = format!("replaced-{mark}-{name}");
                tracing::warn!(
                    file = name,
                    kept,
                    code = fault.code(),
                    "an unusable file is replaced"
                );
                files::replace(&self.folder, &name, &write()?, &kept, |_| Ok(()))
            }
        };
        written.map_err(CustodyError::io("write a wallet"))?;
        match self.find(owner)? {
            Some(wallet) if wallet.address == expected => {
                tracing::info!(%owner, wallet = %expected, file = adoption.file, "a wallet's file is taken over");
                Ok(wallet)
            }
            _ => Err(CustodyError::io("read a wallet")(
                std::io::ErrorKind::NotFound.into(),
            )),
        }
    }
}

/// Opens a file of the current form, under the name that its owner's file has. A backup may have
/// another name.
fn open_current(
    candidate: &Candidate,
    secret: &SecretString,
    sealers: &mut Vec<Sealer>,
) -> Result<(Owner, Opened), CustodyError> {
    let faulty = |fault: FileFault| fault.of(&candidate.name);
    let no_form = FileFault::Altered {
        how: "has another form",
    };
    let stated = sealed::stated(&candidate.text);
    let (stretching, owner) = stated.ok_or_else(|| faulty(no_form))?;
    if !sealers
        .iter()
        .any(|sealer| sealer.stretching() == stretching)
    {
        sealers.push(Sealer::stretch(secret, stretching)?);
    }
    let mut sealers = sealers.iter();
    let sealer = sealers.find(|sealer| sealer.stretching() == stretching);
    let sealer = sealer.ok_or_else(|| faulty(FileFault::OfAnotherSecret))?;
    let unsealed = sealed::open(sealer, &owner.file_name(), &candidate.text).map_err(faulty)?;
    let opened = Opened {
        key: unsealed.key().map_err(faulty)?,
        created_at: unsealed.created_at,
    };
    Ok((owner, opened))
}

/// Opens a file of the old form. Its owner is the one that it claims, in its name or beside its
/// key.
fn open_old(candidate: &Candidate, secret: &SecretString) -> Result<(Owner, Opened), FileFault> {
    let opened = old_form::open(&candidate.text, secret).map_err(|cause| {
        tracing::warn!(file = candidate.name, %cause, "a file of the old form does not open");
        FileFault::Altered {
            how: "does not open under the secret",
        }
    })?;
    let named = owner_of_name(&candidate.name);
    let owner = match (named, opened.owner) {
        (Some(named), Some(stated)) if named != stated => {
            return Err(FileFault::Altered {
                how: "states another owner than its name does",
            });
        }
        (named, stated) => named.or(stated),
    };
    let owner = owner.ok_or(FileFault::Altered {
        how: "names no owner",
    })?;
    let opened = Opened {
        key: opened.key,
        created_at: opened.created_at,
    };
    Ok((owner, opened))
}
