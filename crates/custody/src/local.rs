//! Wallets in encrypted files of this machine.
//!
//! Each owner has one file, which is created once and never overwritten. The keys are encrypted
//! under the operator's secret. This module does not decide what a key may sign:
//! [`Guarded`](crate::Guarded) does. The operator protects the folder and the secret, and makes the
//! backups.

mod document;
mod export;
mod files;
mod keep;
mod lock;
mod open_keys;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use alloy_primitives::{Address, B256, Signature};
use keystore::{Key, KeystoreError};
use secrecy::{ExposeSecret as _, SecretString};

use self::document::{created_at, named, owner_of_name, stated_owner};
pub use self::keep::{Listed, Rotated};
use self::lock::Lock;
use self::open_keys::{OpenKeys, Opened};
use crate::{
    Attestation, Custody, CustodyError, CustodyFuture, Owner, Provider, Purpose, Subject, Wallet,
};

/// A file that shows whether a secret is the one of the wallets: a random key that belongs to no
/// owner, encrypted like theirs.
const CHECK: &str = "operator-check.json";

/// How many opened keys are kept. Opening one takes a second of work and 256 MiB.
const MOST_OPEN: usize = 4096;

/// The provider `local`: a folder of key files under the operator's secret. Several processes of
/// one machine may share the folder. Cheap to clone.
#[derive(Clone)]
pub struct LocalCustody(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    /// Held while this is open: shared with other processes, or exclusively.
    lock: Lock,
    secret: SecretString,
    open: Mutex<OpenKeys>,
    /// The facts beside the keys, as far as the folder was read.
    known: Mutex<Known>,
    /// Keys are derived one at a time: each takes 256 MiB.
    deriving: Mutex<()>,
}

/// The known wallets of the folder. A file is read once, because it never changes.
#[derive(Default)]
struct Known {
    /// The wallets that were read, by their addresses.
    wallets: HashMap<Address, Beside>,
    /// The names of the files that were read, whatever their content.
    names: HashSet<String>,
    /// The owners whose wallets are known to be exported.
    exported: HashSet<Owner>,
}

/// The facts in a wallet's file that need no key. Opening the key confirms them.
#[derive(Clone, Copy)]
struct Beside {
    owner: Owner,
    created_at: Option<u64>,
}

impl LocalCustody {
    /// Opens the folder, and creates it if it is missing. It takes about a second.
    ///
    /// # Errors
    /// [`CustodyError::WrongSecret`] when the existing wallets were made under another secret;
    /// [`CustodyError::FolderInUse`] while another process has it [exclusively](Self::open_alone);
    /// a folder that other users may access, or that cannot be written.
    pub fn open(folder: &Path, secret: SecretString) -> Result<Self, CustodyError> {
        Self::open_locked(folder, secret, Lock::shared)
    }

    /// Opens the folder for this process only, as [`Self::rotate`] requires: no other process has
    /// it open, or can open it meanwhile.
    ///
    /// # Errors
    /// As [`Self::open`]; [`CustodyError::FolderInUse`] while another process has it open.
    pub fn open_alone(folder: &Path, secret: SecretString) -> Result<Self, CustodyError> {
        Self::open_locked(folder, secret, Lock::alone)
    }

    fn open_locked(
        folder: &Path,
        secret: SecretString,
        lock: fn(&Path) -> Result<Lock, CustodyError>,
    ) -> Result<Self, CustodyError> {
        if secret.expose_secret().is_empty() {
            return Err(CustodyError::EmptySecret);
        }
        files::folder(folder)?;
        let custody = Self(Arc::new(Inner {
            folder: folder.to_owned(),
            lock: lock(folder)?,
            secret,
            open: Mutex::default(),
            known: Mutex::default(),
            deriving: Mutex::default(),
        }));
        custody.0.confirm_secret()?;
        files::sweep(folder, SystemTime::now())
            .map_err(CustodyError::io("clean the folder of the wallets"))?;
        custody.0.read_owners()?;
        Ok(custody)
    }

    /// Runs work that reads files and derives keys on a blocking thread. The work continues when
    /// its caller has gone.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, CustodyError> + Send + 'static,
    ) -> CustodyFuture<'_, T> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || work(&inner)).await;
            done.map_err(|_| CustodyError::Interrupted)?
        })
    }
}

impl Inner {
    fn confirm_secret(&self) -> Result<(), CustodyError> {
        if files::read(&self.folder, CHECK)?.is_none() {
            // The check file is missing: it was lost, or the folder is new. An existing wallet has
            // to open first, so that a wrong secret makes no check file.
            if let Some((owner, text)) = self.any_wallet()? {
                self.decrypt(owner, &text)?;
            }
            let key = Key::generate().map_err(CustodyError::Key)?;
            let text = self.encrypt(&key)?;
            files::publish(&self.folder, CHECK, &text, |_| Ok(()))
                .map_err(CustodyError::io("write the check of the operator's secret"))?;
            // Another process may have published its own check first.
            if files::read(&self.folder, CHECK)?.as_deref() == Some(text.as_str()) {
                return Ok(());
            }
        }
        let text = files::read(&self.folder, CHECK)?.ok_or(CustodyError::Io {
            doing: "read the check of the operator's secret",
            kind: std::io::ErrorKind::NotFound,
        })?;
        match keystore::decrypt(&text, self.secret.expose_secret().as_bytes()) {
            Ok(_) => Ok(()),
            Err(KeystoreError::Mac) => Err(CustodyError::WrongSecret),
            Err(error) => Err(CustodyError::Key(error)),
        }
    }

    fn names(&self) -> Result<Vec<String>, CustodyError> {
        files::names(&self.folder).map_err(CustodyError::io("read the folder of the wallets"))
    }

    /// One wallet's file, if there is any.
    fn any_wallet(&self) -> Result<Option<(Owner, String)>, CustodyError> {
        for name in self.names()? {
            let Some(owner) = owner_of_name(&name) else {
                continue;
            };
            if let Some(text) = files::read(&self.folder, &name)? {
                return Ok(Some((owner, text)));
            }
        }
        Ok(None)
    }

    /// Reads the owners of the addresses beside the keys. Opening the keys confirms them.
    fn read_owners(&self) -> Result<(), CustodyError> {
        let names = self.names()?;
        let new: Vec<String> = {
            let known = lock(&self.known);
            let is_new = |name: &String| !known.names.contains(name);
            names.into_iter().filter(is_new).collect()
        };
        for name in new {
            let Some(owner) = owner_of_name(&name) else {
                continue;
            };
            let Some(text) = files::read(&self.folder, &name)? else {
                continue;
            };
            lock(&self.known).names.insert(name);
            // A file of another owner under this one's name says nothing about either.
            if stated_owner(&text).is_some_and(|stated| stated != owner.to_string()) {
                tracing::warn!(%owner, "a wallet's file is in another owner's place");
                continue;
            }
            match keystore::address_beside(&text) {
                Ok(Some(address)) => {
                    let beside = Beside {
                        owner,
                        created_at: created_at(&text),
                    };
                    lock(&self.known).wallets.insert(address, beside);
                }
                Ok(None) => {}
                Err(cause) => {
                    tracing::warn!(%owner, %cause, "a wallet's file cannot be read");
                }
            }
        }
        Ok(())
    }

    fn get_or_create(&self, owner: Owner) -> Result<Wallet, CustodyError> {
        if let Some(wallet) = self.find(owner)? {
            return Ok(wallet);
        }
        let created = {
            let _one = lock(&self.deriving);
            // Another task may have created it meanwhile.
            match files::read(&self.folder, &owner.file_name())? {
                Some(_) => None,
                None => Some(self.create(owner)?),
            }
        };
        if let Some((key, text)) = created {
            tracing::info!(%owner, wallet = %key.address(), "wallet created");
            self.keep(owner, key, &text);
        }
        self.find(owner)?
            .ok_or_else(|| CustodyError::io("read a wallet")(std::io::ErrorKind::NotFound.into()))
    }

    /// Creates a wallet. Returns its key and its file. When another process was first, they are
    /// that process's.
    fn create(&self, owner: Owner) -> Result<(Key, String), CustodyError> {
        let key = Key::generate().map_err(CustodyError::Key)?;
        let text = named(&self.encrypt(&key)?, owner)?;
        let name = owner.file_name();
        files::publish(&self.folder, &name, &text, |_| Ok(()))
            .map_err(CustodyError::io("write a wallet"))?;
        match files::read(&self.folder, &name)? {
            Some(stored) if stored == text => Ok((key, stored)),
            Some(stored) => Ok((self.decrypt(owner, &stored)?, stored)),
            None => Err(CustodyError::io("read a wallet")(
                std::io::ErrorKind::NotFound.into(),
            )),
        }
    }

    fn find(&self, owner: Owner) -> Result<Option<Wallet>, CustodyError> {
        let exported = self.is_exported(owner)?;
        Ok(self.opened(owner)?.map(|opened| Wallet {
            owner,
            address: opened.key.address(),
            created_at: opened.created_at,
            provider: Provider::Local,
            exported,
        }))
    }

    /// The owner's key, opened.
    fn opened(&self, owner: Owner) -> Result<Option<Opened>, CustodyError> {
        if let Some(opened) = lock(&self.open).get(owner) {
            return Ok(Some(opened));
        }
        let Some(text) = files::read(&self.folder, &owner.file_name())? else {
            return Ok(None);
        };
        let key = {
            let _one = lock(&self.deriving);
            if let Some(opened) = lock(&self.open).get(owner) {
                return Ok(Some(opened));
            }
            self.decrypt(owner, &text)?
        };
        Ok(Some(self.keep(owner, key, &text)))
    }

    fn keep(&self, owner: Owner, key: Key, text: &str) -> Opened {
        let created_at = created_at(text);
        let beside = Beside { owner, created_at };
        lock(&self.known).wallets.insert(key.address(), beside);
        let opened = Opened {
            key: Arc::new(key),
            created_at,
        };
        lock(&self.open).put(owner, opened.clone(), MOST_OPEN);
        opened
    }

    fn encrypt(&self, key: &Key) -> Result<String, CustodyError> {
        keystore::encrypt(key, self.secret.expose_secret().as_bytes()).map_err(CustodyError::Key)
    }

    fn decrypt(&self, owner: Owner, text: &str) -> Result<Key, CustodyError> {
        let stated = stated_owner(text).filter(|stated| *stated != owner.to_string());
        if let Some(observed) = stated {
            return Err(CustodyError::OtherOwner {
                expected: owner,
                observed,
            });
        }
        match keystore::decrypt(text, self.secret.expose_secret().as_bytes()) {
            Ok(key) => Ok(key),
            Err(KeystoreError::Mac) => Err(CustodyError::WrongSecret),
            Err(cause) => Err(CustodyError::Damaged { owner, cause }),
        }
    }

    /// The facts beside the key of the wallet with this address. Any caller may ask about any
    /// address: a known one costs no file, and an unknown one costs a list of file names.
    fn beside(&self, address: Address) -> Result<Option<Beside>, CustodyError> {
        let known = || lock(&self.known).wallets.get(&address).copied();
        if let Some(beside) = known() {
            return Ok(Some(beside));
        }
        // Another process may have created it.
        self.read_owners()?;
        Ok(known())
    }

    /// Signs with a wallet's key. No other code uses a key to sign. This method refuses an exported
    /// wallet and judges nothing else.
    fn sign(
        &self,
        wallet: Address,
        hash: B256,
        purpose: Purpose,
    ) -> Result<Signature, CustodyError> {
        let unknown = || CustodyError::UnknownWallet(wallet);
        let owner = self.beside(wallet)?.ok_or_else(unknown)?.owner;
        let opened = self.opened(owner)?;
        let opened = opened.filter(|opened| opened.key.address() == wallet);
        let opened = opened.ok_or_else(unknown)?;
        // Held from the check for an export until the signature: no export can happen in between.
        let _signing = Lock::while_signing(&self.folder)?;
        if self.is_exported(owner)? {
            return Err(CustodyError::Exported(wallet));
        }
        let bytes = opened.key.sign(hash);
        let bytes = bytes.ok_or(CustodyError::Key(KeystoreError::NotAKey))?;
        tracing::debug!(%wallet, purpose = purpose.as_str(), "signed");
        Signature::from_raw_array(&bytes).map_err(|_| CustodyError::Key(KeystoreError::NotAKey))
    }
}

impl Custody for LocalCustody {
    fn get_or_create(&self, owner: Owner) -> CustodyFuture<'_, Wallet> {
        self.run(move |inner| inner.get_or_create(owner))
    }

    fn find(&self, owner: Owner) -> CustodyFuture<'_, Option<Wallet>> {
        self.run(move |inner| inner.find(owner))
    }

    fn wallet_at(&self, address: Address) -> CustodyFuture<'_, Option<Wallet>> {
        self.run(move |inner| {
            let Some(beside) = inner.beside(address)? else {
                return Ok(None);
            };
            Ok(Some(Wallet {
                owner: beside.owner,
                address,
                created_at: beside.created_at,
                provider: Provider::Local,
                exported: inner.is_exported(beside.owner)?,
            }))
        })
    }

    fn sign<'a>(
        &'a self,
        wallet: Address,
        subject: Subject<'a>,
        purpose: Purpose,
    ) -> CustodyFuture<'a, Signature> {
        let hash = subject.hash();
        self.run(move |inner| inner.sign(wallet, hash?, purpose))
    }

    fn attest(&self, owner: Owner) -> CustodyFuture<'_, Option<Attestation>> {
        self.run(move |inner| {
            let wallet = inner.find(owner)?;
            Ok(wallet.map(|wallet| Attestation {
                wallet,
                statement: format!(
                    "the key of {} is held {}",
                    wallet.address,
                    wallet.provider.holds()
                ),
                evidence: None,
            }))
        })
    }
}

impl std::fmt::Debug for LocalCustody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalCustody").finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
