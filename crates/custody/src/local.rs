//! Wallets in encrypted files of this machine.
//!
//! Each owner has one file, which is created once and never changed. Its key is sealed under the
//! operator's secret, together with the owner, the address and the file's name. The secret is
//! stretched once, when the folder is opened; a file is opened for each use of its key, which takes
//! less than a millisecond, and no opened key is kept. This module does not decide what a key may
//! sign: [`Guarded`](crate::Guarded) does. The operator protects the folder and the secret, and
//! makes the backups.

mod adopt;
mod export;
mod files;
mod keep;
mod lock;
mod old_form;
mod sealed;
mod secret;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::{Address, B256, Signature};
use keystore::{Key, KeystoreError};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::Semaphore;

pub use self::adopt::{Adoption, Candidate};
pub use self::keep::{Listed, Rotated};
use self::lock::Lock;
use self::sealed::Unsealed;
use self::secret::{Sealer, Work};
use crate::{
    Attestation, Counted, Custody, CustodyError, CustodyFuture, FileFault, Owner, Owners, Provider,
    Purpose, Subject, Wallet,
};

/// How many works with files run at once. A work goes on when its caller has gone, so this bounds
/// the threads that callers can occupy. A work that has not begun ends with its caller.
const MOST_AT_ONCE: usize = 16;

/// The provider `local`: a folder of key files under the operator's secret. Several processes of
/// one machine may share the folder. Cheap to clone.
#[derive(Clone)]
pub struct LocalCustody(Arc<Inner>);

struct Inner {
    folder: PathBuf,
    /// Held while this is open: shared with other processes, or exclusively.
    lock: Lock,
    sealer: Sealer,
    /// The facts beside the keys, as far as the folder was read.
    known: Mutex<Known>,
    /// The places of works that run.
    places: Arc<Semaphore>,
}

/// The known wallets of the folder. Nothing in it is secret.
#[derive(Default)]
struct Known {
    /// The wallets whose files opened, by their addresses.
    wallets: HashMap<Address, Beside>,
    /// The names of the files that were read, whatever their content, and their owners.
    names: HashMap<String, Owner>,
    /// The owners whose wallets are known to be exported.
    exported: HashSet<Owner>,
}

/// The facts beside a wallet's key. They were sealed with it.
#[derive(Clone, Copy)]
struct Beside {
    owner: Owner,
    created_at: Option<u64>,
}

/// A wallet whose key is out of its file, for one use. The key is wiped when this is dropped.
struct Opened {
    key: Key,
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
        Self::open_locked(folder, secret, Lock::shared, Work::Full)
    }

    /// Like [`Self::open`], but a new folder's secret is hardly stretched: guessing it is hundreds
    /// of times cheaper than it should be. For tests and demos, whose
    /// wallets hold nothing.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_weakly_stretched(
        folder: &Path,
        secret: SecretString,
    ) -> Result<Self, CustodyError> {
        Self::open_locked(folder, secret, Lock::shared, Work::Weak)
    }

    /// Opens the folder for this process only, as [`Self::rotate`] requires: no other process has
    /// it open, or can open it meanwhile.
    ///
    /// # Errors
    /// As [`Self::open`]; [`CustodyError::FolderInUse`] while another process has it open.
    pub fn open_alone(folder: &Path, secret: SecretString) -> Result<Self, CustodyError> {
        Self::open_locked(folder, secret, Lock::alone, Work::Full)
    }

    fn open_locked(
        folder: &Path,
        secret: SecretString,
        lock: fn(&Path) -> Result<Lock, CustodyError>,
        work: Work,
    ) -> Result<Self, CustodyError> {
        if secret.expose_secret().is_empty() {
            return Err(CustodyError::EmptySecret);
        }
        files::folder(folder)?;
        let custody = Self(Arc::new(Inner {
            folder: folder.to_owned(),
            lock: lock(folder)?,
            sealer: Sealer::of_folder(folder, &secret, work)?,
            known: Mutex::default(),
            places: Arc::new(Semaphore::new(MOST_AT_ONCE)),
        }));
        files::sweep(folder, SystemTime::now())
            .map_err(CustodyError::io("clean the folder of the wallets"))?;
        custody.0.read_owners()?;
        Ok(custody)
    }

    /// The wallets whose files have opened since this was opened.
    pub(crate) fn known(&self) -> Vec<(Owner, Address)> {
        let known = lock(&self.0.known);
        let wallets = known.wallets.iter();
        wallets
            .map(|(address, beside)| (beside.owner, *address))
            .collect()
    }

    /// Whether the folder has files of wallets, whatever their content. A missing folder has none.
    /// Writes nothing.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn has_wallets(folder: &Path) -> Result<bool, CustodyError> {
        match files::names(folder) {
            Ok(names) => Ok(names.iter().any(|name| owner_of_name(name).is_some())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(CustodyError::io("read the folder of the wallets")(error)),
        }
    }

    /// Runs work that reads files on a blocking thread. Work that has begun continues when its
    /// caller has gone.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, CustodyError> + Send + 'static,
    ) -> CustodyFuture<'_, T> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let place = Arc::clone(&inner.places).acquire_owned().await;
            let place = place.map_err(|_| CustodyError::Interrupted)?;
            let done = tokio::task::spawn_blocking(move || {
                let _place = place;
                work(&inner)
            })
            .await;
            done.map_err(|_| CustodyError::Interrupted)?
        })
    }
}

impl Inner {
    fn names(&self) -> Result<Vec<String>, CustodyError> {
        files::names(&self.folder).map_err(CustodyError::io("read the folder of the wallets"))
    }

    /// Reads the files that were not read yet. A file that does not open is the trouble of its
    /// owner alone.
    fn read_owners(&self) -> Result<(), CustodyError> {
        let names = self.names()?;
        let new: Vec<(String, Owner)> = {
            let known = lock(&self.known);
            let new = names.into_iter().filter(|it| !known.names.contains_key(it));
            new.filter_map(|name| owner_of_name(&name).map(|owner| (name, owner)))
                .collect()
        };
        if new.is_empty() {
            return Ok(());
        }
        // The processes that linked them may not have reached this step.
        files::settle(&self.folder)?;
        for (name, owner) in new {
            lock(&self.known).names.insert(name.clone(), owner);
            match self.unsealed(owner) {
                Ok(Some(unsealed)) => self.learn(&unsealed),
                Ok(None) => {}
                Err(error) => {
                    let code = error.code();
                    tracing::debug!(file = name, code, %error, "a wallet's file does not open");
                }
            }
        }
        Ok(())
    }

    fn learn(&self, unsealed: &Unsealed) {
        let beside = Beside {
            owner: unsealed.owner,
            created_at: unsealed.created_at,
        };
        lock(&self.known).wallets.insert(unsealed.address, beside);
    }

    fn get_or_create(&self, owner: Owner) -> Result<Wallet, CustodyError> {
        if let Some(wallet) = self.find(owner)? {
            return Ok(wallet);
        }
        self.create(owner)?;
        self.find(owner)?
            .ok_or_else(|| CustodyError::io("read a wallet")(io::ErrorKind::NotFound.into()))
    }

    /// Creates a wallet, unless another task or process is first: its file then counts.
    fn create(&self, owner: Owner) -> Result<(), CustodyError> {
        let key = Key::generate().map_err(CustodyError::Key)?;
        let text = sealed::seal(&self.sealer, &key, owner, Some(now()))?;
        files::publish(&self.folder, &owner.file_name(), &text, |_| Ok(()))
            .map_err(CustodyError::io("write a wallet"))?;
        Ok(())
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

    /// The owner's key, out of its file.
    fn opened(&self, owner: Owner) -> Result<Option<Opened>, CustodyError> {
        let Some(unsealed) = self.unsealed(owner)? else {
            return Ok(None);
        };
        let key = unsealed.key();
        let key = key.map_err(|fault| fault.of(&owner.file_name()))?;
        self.learn(&unsealed);
        Ok(Some(Opened {
            key,
            created_at: unsealed.created_at,
        }))
    }

    /// The content of the owner's file.
    fn unsealed(&self, owner: Owner) -> Result<Option<Unsealed>, CustodyError> {
        let name = owner.file_name();
        let is_settled = lock(&self.known).names.contains_key(&name);
        let text = match is_settled {
            true => files::read_settled(&self.folder, &name),
            false => files::read(&self.folder, &name),
        };
        let altered = FileFault::Altered {
            how: "is not text of a wallet's length",
        };
        let text = match text {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(None),
            Err(CustodyError::Io {
                kind: io::ErrorKind::InvalidData,
                ..
            }) => return Err(altered.of(&name)),
            Err(error) => return Err(error),
        };
        match sealed::open(&self.sealer, &name, &text) {
            Ok(unsealed) => Ok(Some(unsealed)),
            Err(fault) => Err(fault.of(&name)),
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
        let opened = self.opened(owner)?.ok_or_else(unknown)?;
        let observed = opened.key.address();
        if observed != wallet {
            let expected = wallet;
            let differs = FileFault::AddressDiffers { expected, observed };
            return Err(differs.of(&owner.file_name()));
        }
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

impl Counted for LocalCustody {
    fn counted(&self) -> CustodyFuture<'_, Owners> {
        self.run(|inner| {
            inner.read_owners()?;
            let known = lock(&inner.known);
            let files = known.names.values();
            let mut owners: Owners = files.map(|owner| (*owner, None)).collect();
            let opened = known.wallets.values();
            owners.extend(opened.map(|wallet| (wallet.owner, wallet.created_at)));
            Ok(owners)
        })
    }
}

impl std::fmt::Debug for LocalCustody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalCustody").finish_non_exhaustive()
    }
}

/// The owner by a file's name.
fn owner_of_name(name: &str) -> Option<Owner> {
    let rest = name.strip_prefix("eip155-")?.strip_suffix(".json")?;
    let (chain_id, address) = rest.split_once('-')?;
    let owner = Owner::new(chain_id.parse().ok()?, address.parse().ok()?);
    (owner.file_name() == name).then_some(owner)
}

/// The time, in Unix seconds.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
