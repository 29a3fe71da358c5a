//! Local wallets, compared with the records of which owner has which wallet.
//!
//! The folder proves that a file is what it was; it cannot prove that a file is missing. The
//! records can, and they are kept apart from the folder. An owner's wallet is recorded before its
//! address is told to anybody: the record that it is being made, then the file, then the address. A
//! process that ends in between leaves a state from which the next one continues.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex};

use alloy_primitives::{Address, Signature};
use secrecy::SecretString;

use crate::local::{lock, now};
use crate::{
    Adoption, Attestation, Candidate, Counted, Custody, CustodyError, CustodyFuture, Export,
    ExportRequest, FileFault, Listed, LocalCustody, Owner, Owners, Purpose, Rotated, Subject,
    Wallet, WalletRecord, WalletRecords,
};

/// After how many seconds nobody makes a wallet any more whose making was recorded and whose file
/// is still not there. Making one takes milliseconds.
const MAKING_SECONDS: u64 = 600;

/// A file of a wallet that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletFault {
    /// The owner, who is refused.
    pub owner: Owner,
    /// The name of the file.
    pub file: String,
    /// The code of the fault.
    pub code: &'static str,
}

/// The files that cannot be used at present, as far as they were opened. Cheap to clone: the clones
/// show the same.
#[derive(Debug, Clone, Default)]
pub struct WalletFaults(Arc<Mutex<BTreeMap<Owner, &'static str>>>);

/// The provider `local` beside the records of its wallets. Cheap to clone.
#[derive(Clone)]
pub struct RecordedCustody {
    custody: LocalCustody,
    records: Arc<dyn WalletRecords>,
    made: Arc<Mutex<Made>>,
    faults: WalletFaults,
}

/// The wallets that are made, as far as their records were read. These records never change.
#[derive(Default)]
struct Made {
    wallets: HashMap<Owner, Address>,
    owners: HashMap<Address, Owner>,
}

/// An owner, and its wallet if there is one and nothing is wrong with it.
pub type Checked = (Owner, Result<Option<Wallet>, CustodyError>);

impl WalletFaults {
    /// The faults, by owner.
    #[must_use]
    pub fn all(&self) -> Vec<WalletFault> {
        let faults = lock(&self.0);
        let faults = faults.iter().map(|(&owner, &code)| WalletFault {
            owner,
            file: owner.file_name(),
            code,
        });
        faults.collect()
    }

    /// Notes that the owner's file cannot be used. A new fault is logged.
    fn note(&self, owner: Owner, error: &CustodyError) {
        let code = error.code();
        if lock(&self.0).insert(owner, code) != Some(code) {
            let file = owner.file_name();
            tracing::error!(%owner, file, code, %error, "a wallet's file cannot be used, and its owner is refused");
        }
    }

    /// Notes that the owner's file can be used.
    fn clear(&self, owner: Owner) {
        if lock(&self.0).remove(&owner).is_some() {
            tracing::info!(%owner, file = owner.file_name(), "a wallet's file can be used again");
        }
    }
}

impl RecordedCustody {
    /// Opens a folder with `open`, such as [`LocalCustody::open`], and compares its files with the
    /// records. A wallet whose making was interrupted is finished where its file exists; its record
    /// is removed where no file exists and no server makes it any more.
    ///
    /// # Errors
    /// [`CustodyError::FolderEmpty`] for a folder without wallets beside records of some: nothing
    /// was written into it; the errors of `open`; [`CustodyError::Records`]. A file that is missing
    /// or cannot be used is its owner's trouble alone: the log and [`Self::faults`] name it.
    pub async fn open(
        folder: &Path,
        records: Arc<dyn WalletRecords>,
        open: impl FnOnce(&Path) -> Result<LocalCustody, CustodyError> + Send + 'static,
    ) -> Result<Self, CustodyError> {
        let made = records.all().await?;
        let made = made.iter().filter(|(_, it)| *it != WalletRecord::Making);
        let (folder, recorded) = (folder.to_owned(), made.count());
        let opened = tokio::task::spawn_blocking(move || {
            if recorded > 0 && !LocalCustody::has_wallets(&folder)? {
                return Err(CustodyError::FolderEmpty { recorded });
            }
            open(&folder)
        });
        let opened = opened.await.map_err(|_| CustodyError::Interrupted)??;
        let opened = Self::restoring(opened, records);
        opened.compare_all().await?;
        Ok(opened)
    }

    /// Puts a folder beside its records without comparing them, for a command that restores files.
    #[must_use]
    pub fn restoring(custody: LocalCustody, records: Arc<dyn WalletRecords>) -> Self {
        Self {
            custody,
            records,
            made: Arc::default(),
            faults: WalletFaults::default(),
        }
    }

    /// The faults that are known at present.
    #[must_use]
    pub fn faults(&self) -> WalletFaults {
        self.faults.clone()
    }

    /// The wallets whose files are recorded and have no fault that is known, by owner.
    ///
    /// # Errors
    /// As [`LocalCustody::list`].
    pub async fn list(&self) -> Result<Vec<Listed>, CustodyError> {
        let mut listed = self.custody.list().await?;
        let (made, faults) = (lock(&self.made), lock(&self.faults.0));
        listed.retain(|it| {
            made.wallets.get(&it.owner) == Some(&it.address) && !faults.contains_key(&it.owner)
        });
        drop((made, faults));
        Ok(listed)
    }

    /// Opens every wallet that has a file or a record, by owner.
    ///
    /// # Errors
    /// A folder or records that cannot be read.
    pub async fn check(&self) -> Result<Vec<Checked>, CustodyError> {
        let mut checked = Vec::new();
        for owner in self.owners().await? {
            checked.push((owner, self.compared(owner).await));
        }
        Ok(checked)
    }

    /// Writes every wallet into another folder under another secret, as [`LocalCustody::rotate`]
    /// does, if all files and records agree.
    ///
    /// # Errors
    /// As [`LocalCustody::rotate`]; the first fault of a file.
    pub async fn rotate(
        &self,
        folder: &Path,
        secret: SecretString,
    ) -> Result<Rotated, CustodyError> {
        for (_, checked) in self.check().await? {
            checked?;
        }
        self.custody.rotate(folder, secret).await
    }

    /// Judges files that are to be taken over, as [`LocalCustody::adoptions`] does, and compares
    /// them with the records.
    ///
    /// # Errors
    /// As [`LocalCustody::adoptions`]; [`CustodyError::File`] when another wallet of the owner is
    /// recorded, [`CustodyError::AddressTaken`] when the wallet is recorded as another owner's.
    pub async fn adoptions(
        &self,
        candidates: Vec<Candidate>,
        secret: SecretString,
    ) -> Result<Vec<Adoption>, CustodyError> {
        let mut adoptions = self.custody.adoptions(candidates, secret).await?;
        // Reads all records, so that a wallet of another owner is found.
        self.recorded().await?;
        for adoption in &mut adoptions {
            adoption.is_recorded = self.accept(adoption).await?;
        }
        Ok(adoptions)
    }

    /// Takes a file over, as [`LocalCustody::adopt`] does, and records its wallet.
    ///
    /// # Errors
    /// As [`LocalCustody::adopt`] and [`Self::adoptions`].
    pub async fn adopt(&self, adoption: Adoption) -> Result<Wallet, CustodyError> {
        self.accept(&adoption).await?;
        let owner = adoption.owner;
        self.records.begin(owner, now()).await?;
        let wallet = self.custody.adopt(adoption).await?;
        self.finish(wallet).await
    }

    /// Gives a wallet's key to its owner, as [`LocalCustody::export`] does, if file and record
    /// agree.
    ///
    /// # Errors
    /// As [`LocalCustody::export`] and [`Custody::find`].
    pub async fn export(
        &self,
        request: ExportRequest,
        brand: String,
    ) -> Result<Export, CustodyError> {
        self.compared(request.owner).await?;
        self.custody.export(request, brand).await
    }

    /// Compares all files with all records. Those that agree at first sight were opened with the
    /// folder.
    async fn compare_all(&self) -> Result<(), CustodyError> {
        let owners = self.owners().await?;
        let opened: HashMap<Owner, Address> = self.custody.known().into_iter().collect();
        for owner in owners {
            let recorded = lock(&self.made).wallets.get(&owner).copied();
            if recorded.is_some() && recorded == opened.get(&owner).copied() {
                continue;
            }
            match self.compared(owner).await {
                Ok(Some(_)) => {}
                Ok(None) => {
                    let abandoned = now().saturating_sub(MAKING_SECONDS);
                    self.records.forget(owner, abandoned).await?;
                }
                // The trouble is not this file's.
                Err(error @ (CustodyError::Records { .. } | CustodyError::Interrupted)) => {
                    return Err(error);
                }
                Err(error) => self.faults.note(owner, &error),
            }
        }
        Ok(())
    }

    /// The owners with a file or a record.
    async fn owners(&self) -> Result<BTreeSet<Owner>, CustodyError> {
        // The files first: a file that appears in between has a record by then.
        let files = self.custody.owners().await?;
        let recorded = self.recorded().await?;
        let recorded = recorded.into_iter().map(|(owner, _)| owner);
        Ok(recorded.chain(files).collect())
    }

    /// Reads all records.
    async fn recorded(&self) -> Result<Vec<(Owner, WalletRecord)>, CustodyError> {
        let recorded = self.records.all().await?;
        for (owner, record) in &recorded {
            if let WalletRecord::Made(wallet) = record {
                self.remember(*owner, *wallet);
            }
        }
        Ok(recorded)
    }

    /// Checks that the records do not contradict a file that is to be taken over. Returns whether
    /// they have its wallet.
    async fn accept(&self, adoption: &Adoption) -> Result<bool, CustodyError> {
        let observed = adoption.address;
        if let Some(WalletRecord::Made(expected)) = self.record(adoption.owner).await? {
            return match expected == observed {
                true => Ok(true),
                false => {
                    let differs = FileFault::AddressDiffers { expected, observed };
                    Err(differs.of(&adoption.file))
                }
            };
        }
        match lock(&self.made).owners.get(&observed).copied() {
            None => Ok(false),
            Some(owner) => Err(CustodyError::AddressTaken {
                file: adoption.file.clone(),
                address: observed,
                owner,
            }),
        }
    }

    /// The owner's wallet, if file and record agree. Notes a fault of the file.
    async fn compared(&self, owner: Owner) -> Result<Option<Wallet>, CustodyError> {
        let compared = self.compare(owner).await;
        self.note(owner, compared.as_ref().err());
        compared
    }

    fn note(&self, owner: Owner, error: Option<&CustodyError>) {
        match error {
            None => self.faults.clear(owner),
            Some(error @ (CustodyError::File { .. } | CustodyError::Permissions { .. })) => {
                self.faults.note(owner, error);
            }
            // It says nothing about the file.
            Some(_) => {}
        }
    }

    async fn compare(&self, owner: Owner) -> Result<Option<Wallet>, CustodyError> {
        // The file first: a wallet that another process makes has a record by then.
        let found = self.custody.find(owner).await?;
        match (self.record(owner).await?, found) {
            (None | Some(WalletRecord::Making), None) => Ok(None),
            (None, Some(_)) => Err(FileFault::Unknown.of(&owner.file_name())),
            (Some(WalletRecord::Making), Some(wallet)) => self.finish(wallet).await.map(Some),
            (Some(WalletRecord::Made(expected)), Some(wallet)) => same(expected, wallet).map(Some),
            // Another process may have made it since the file was looked for.
            (Some(WalletRecord::Made(expected)), None) => match self.custody.find(owner).await? {
                Some(wallet) => same(expected, wallet).map(Some),
                None => Err(FileFault::Missing { expected }.of(&owner.file_name())),
            },
        }
    }

    /// Records the wallet that is in its file. Returns it if it is the recorded one.
    async fn finish(&self, wallet: Wallet) -> Result<Wallet, CustodyError> {
        let Wallet { owner, address, .. } = wallet;
        let recorded = self.records.finish(owner, address, now()).await?;
        self.remember(owner, recorded);
        let finished = same(recorded, wallet);
        self.note(owner, finished.as_ref().err());
        finished
    }

    async fn record(&self, owner: Owner) -> Result<Option<WalletRecord>, CustodyError> {
        if let Some(wallet) = lock(&self.made).wallets.get(&owner) {
            return Ok(Some(WalletRecord::Made(*wallet)));
        }
        let record = self.records.find(owner).await?;
        if let Some(WalletRecord::Made(wallet)) = record {
            self.remember(owner, wallet);
        }
        Ok(record)
    }

    fn remember(&self, owner: Owner, wallet: Address) {
        let mut made = lock(&self.made);
        made.wallets.insert(owner, wallet);
        made.owners.insert(wallet, owner);
    }

    async fn get_or_make(&self, owner: Owner) -> Result<Wallet, CustodyError> {
        if let Some(wallet) = self.compared(owner).await? {
            return Ok(wallet);
        }
        self.records.begin(owner, now()).await?;
        let wallet = self.custody.get_or_create(owner).await?;
        self.finish(wallet).await
    }

    /// The wallet with this address, if file and record agree about it. A wallet that was opened
    /// once costs no file.
    async fn at(&self, address: Address) -> Result<Option<Wallet>, CustodyError> {
        let recorded = lock(&self.made).owners.get(&address).copied();
        let found = self.custody.wallet_at(address).await?;
        match (recorded, found) {
            (Some(owner), Some(wallet)) if wallet.owner == owner => Ok(Some(wallet)),
            (None, None) => Ok(None),
            (Some(owner), None) | (_, Some(Wallet { owner, .. })) => {
                let compared = self.compared(owner).await?;
                Ok(compared.filter(|wallet| wallet.address == address))
            }
        }
    }

    async fn signed(
        &self,
        wallet: Address,
        subject: Subject<'_>,
        purpose: Purpose,
    ) -> Result<Signature, CustodyError> {
        let known = self.at(wallet).await?;
        let owner = known.ok_or(CustodyError::UnknownWallet(wallet))?.owner;
        let signed = match self.custody.sign(wallet, subject, purpose).await {
            Err(CustodyError::UnknownWallet(expected)) => {
                Err(FileFault::Missing { expected }.of(&owner.file_name()))
            }
            signed => signed,
        };
        self.note(owner, signed.as_ref().err());
        signed
    }
}

/// The wallet, if it is the recorded one.
fn same(expected: Address, wallet: Wallet) -> Result<Wallet, CustodyError> {
    let observed = wallet.address;
    match expected == observed {
        true => Ok(wallet),
        false => {
            let differs = FileFault::AddressDiffers { expected, observed };
            Err(differs.of(&wallet.owner.file_name()))
        }
    }
}

impl Custody for RecordedCustody {
    fn get_or_create(&self, owner: Owner) -> CustodyFuture<'_, Wallet> {
        Box::pin(self.get_or_make(owner))
    }

    fn find(&self, owner: Owner) -> CustodyFuture<'_, Option<Wallet>> {
        Box::pin(self.compared(owner))
    }

    fn wallet_at(&self, address: Address) -> CustodyFuture<'_, Option<Wallet>> {
        Box::pin(self.at(address))
    }

    fn sign<'a>(
        &'a self,
        wallet: Address,
        subject: Subject<'a>,
        purpose: Purpose,
    ) -> CustodyFuture<'a, Signature> {
        Box::pin(self.signed(wallet, subject, purpose))
    }

    fn attest(&self, owner: Owner) -> CustodyFuture<'_, Option<Attestation>> {
        Box::pin(async move {
            match self.compared(owner).await? {
                Some(_) => self.custody.attest(owner).await,
                None => Ok(None),
            }
        })
    }
}

impl Counted for RecordedCustody {
    fn counted(&self) -> CustodyFuture<'_, Owners> {
        Box::pin(async move {
            let unfinished = self.records.unfinished().await?;
            let mut owners: Owners = unfinished
                .into_iter()
                .map(|(owner, begun_at)| (owner, Some(begun_at)))
                .collect();
            // The files after the records: a wallet that is finished in between has its file.
            owners.extend(self.custody.counted().await?);
            Ok(owners)
        })
    }
}

impl std::fmt::Debug for RecordedCustody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordedCustody").finish_non_exhaustive()
    }
}
