//! The records of wallets beside the folder: what is missing, unknown or swapped has a name, and a
//! process that ends at any moment leaves a state from which the next one starts.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::Address;
use custody::{
    Bounded, Bounds, Candidate, Custody, CustodyError, CustodyFuture, FileFault, LocalCustody,
    Owner, Purpose, RecordedCustody, Subject, WalletFault, WalletRecord, WalletRecords,
};
use test_support::Dying;
use tx_sender::Fees;

use crate::conformance::{self, ALICE, BOB};
use crate::{SECRET, file, open, put, records, unsigned};

/// A folder and its records.
pub(crate) struct Stage {
    top: tempfile::TempDir,
    pub(crate) records: Arc<dyn WalletRecords>,
}

impl Stage {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let records = records::in_file(top.path());
        Self { top, records }
    }

    /// A folder beside these records.
    pub(crate) fn beside(records: Arc<dyn WalletRecords>) -> Self {
        let top = tempfile::tempdir().unwrap();
        Self { top, records }
    }

    fn path(&self) -> PathBuf {
        self.top.path().join("wallets")
    }

    /// A server after a restart.
    pub(crate) async fn start(&self) -> Result<RecordedCustody, CustodyError> {
        self.start_with(Arc::clone(&self.records)).await
    }

    async fn start_with(
        &self,
        records: Arc<dyn WalletRecords>,
    ) -> Result<RecordedCustody, CustodyError> {
        let open =
            |folder: &std::path::Path| LocalCustody::open_weakly_stretched(folder, SECRET.into());
        RecordedCustody::open(&self.path(), records, open).await
    }

    /// A wallet that is made without a record.
    async fn unrecorded(&self, owner: Owner) -> Address {
        let folder = open(&self.top, SECRET).unwrap();
        folder.get_or_create(owner).await.unwrap().address
    }

    async fn record(&self, owner: Owner) -> Option<WalletRecord> {
        self.records.find(owner).await.unwrap()
    }
}

/// The records of a process that ends at one of its writes.
struct Killed(Dying<dyn WalletRecords, CustodyError>);

impl WalletRecords for Killed {
    fn all(&self) -> CustodyFuture<'_, Vec<(Owner, WalletRecord)>> {
        self.0.read(|records| records.all())
    }
    fn unfinished(&self) -> CustodyFuture<'_, Vec<(Owner, u64)>> {
        self.0.read(|records| records.unfinished())
    }
    fn find(&self, owner: Owner) -> CustodyFuture<'_, Option<WalletRecord>> {
        self.0.read(|records| records.find(owner))
    }
    fn begin(&self, owner: Owner, now: u64) -> CustodyFuture<'_, ()> {
        self.0.write(|records| records.begin(owner, now))
    }
    fn finish(&self, owner: Owner, wallet: Address, now: u64) -> CustodyFuture<'_, Address> {
        self.0.write(|records| records.finish(owner, wallet, now))
    }
    fn forget(&self, owner: Owner, before: u64) -> CustodyFuture<'_, ()> {
        self.0.write(|records| records.forget(owner, before))
    }
}

/// The writes at which a process ends that makes a wallet, and whether the write still happens.
pub(crate) const KILLS: [(usize, bool); 4] = [(1, false), (1, true), (2, false), (2, true)];

pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap().as_secs()
}

/// Ends a process while it makes a wallet, and starts the next one.
pub(crate) async fn killed_while_making(stage: &Stage, left: usize, after: bool) {
    let gone = || CustodyError::Records { code: "killed" };
    let records = Dying::new(Arc::clone(&stage.records), left, after, gone);
    let killed = stage.start_with(Arc::new(Killed(records))).await.unwrap();
    // Nobody is told an address.
    assert_eq!(killed.get_or_create(ALICE).await, Err(gone()));
    drop(killed);
    let path = file(&stage.path(), ALICE);
    let written = fs::read_to_string(&path).ok();
    // No file is written before the record that it is being made.
    assert_eq!(written.is_some(), left == 2);
    assert_eq!(stage.record(ALICE).await.is_some(), left == 2 || after);

    let custody = stage.start().await.unwrap();
    assert_eq!(custody.faults().all(), []);
    let recorded = stage.record(ALICE).await;
    if written.is_some() {
        // It is finished by the start, with the wallet in the file.
        assert!(matches!(recorded, Some(WalletRecord::Made(_))));
    }
    let alice = custody.get_or_create(ALICE).await.unwrap();
    let made = Some(WalletRecord::Made(alice.address));
    assert_eq!(stage.record(ALICE).await, made);
    let now = fs::read_to_string(&path).unwrap();
    assert!(written.is_none_or(|written| written == now));
    drop(custody);
    let custody = stage.start().await.unwrap();
    assert_eq!(custody.get_or_create(ALICE).await, Ok(alice));
}

/// Checks that wallets whose files could not be made are within the bounds of wallets.
pub(crate) async fn unfinished_wallets_count(stage: &Stage) {
    let bounds = |most, new_per_hour| Bounds { most, new_per_hour };
    let start = async |bounds| Bounded::new(stage.start().await.unwrap(), bounds);
    let custody = start(bounds(2, 100)).await;
    let begun = now() - 60;
    stage.records.begin(BOB, begun).await.unwrap();
    assert_eq!(stage.records.unfinished().await, Ok(vec![(BOB, begun)]));
    let alice = custody.get_or_create(ALICE).await.unwrap();
    let carol = Owner::new(196, Address::repeat_byte(0xca));
    let full = Err(CustodyError::WalletsFull { most: 2 });
    assert_eq!(custody.get_or_create(carol).await, full);
    let custody = start(bounds(100, 2)).await;
    let refused = custody.get_or_create(carol).await.unwrap_err();
    assert_eq!(refused.code(), "too_many_new_wallets");
    assert_eq!(custody.get_or_create(ALICE).await, Ok(alice));
    // A start deletes the record when nobody makes the wallet any more.
    stage.records.begin(BOB, now() - 3_000).await.unwrap();
    let custody = start(bounds(2, 100)).await;
    custody.get_or_create(carol).await.unwrap();
    // An owner counts once, also when its wallet was begun before.
    stage.records.begin(BOB, begun).await.unwrap();
    for bounds in [bounds(2, 100), bounds(100, 2)] {
        let refused = start(bounds).await.get_or_create(BOB).await;
        assert!(refused.is_err(), "{refused:?}");
    }
    start(bounds(3, 3)).await.get_or_create(BOB).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn wallets_whose_files_could_not_be_made_are_bounded() {
    unfinished_wallets_count(&Stage::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_conforms() {
    let stage = Stage::new();
    let handle = tokio::runtime::Handle::current();
    let opened = || tokio::task::block_in_place(|| handle.block_on(stage.start()).unwrap());
    conformance::conforms(opened).await;
}

/// Checks that the owner is refused with this code everywhere, and that the fault is shown.
async fn refused(custody: &RecordedCustody, owner: Owner, wallet: Address, code: &'static str) {
    assert_eq!(custody.get_or_create(owner).await.unwrap_err().code(), code);
    assert_eq!(custody.find(owner).await.unwrap_err().code(), code);
    assert_eq!(custody.attest(owner).await.unwrap_err().code(), code);
    let asked = unsigned(Fees::Legacy { price: 9 });
    let subject = Subject::Transaction(&asked);
    let signed = custody.sign(wallet, subject, Purpose::WalletAction).await;
    assert_eq!(signed.unwrap_err().code(), code);
    let file = format!("eip155-196-{:#x}.json", owner.address());
    let fault = WalletFault { owner, file, code };
    assert_eq!(custody.faults().all(), [fault]);
    let checked = custody.check().await.unwrap();
    let faulty = checked.iter().filter(|(_, checked)| checked.is_err());
    let faulty: Vec<Owner> = faulty.map(|(owner, _)| *owner).collect();
    assert_eq!(faulty, [owner]);
    let listed = custody.list().await.unwrap();
    assert!(listed.iter().all(|listed| listed.owner != owner));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_a_foreign_and_an_altered_file_have_names_and_refuse_their_owner_alone() {
    let stage = Stage::new();
    let custody = stage.start().await.unwrap();
    let alice = custody.get_or_create(ALICE).await.unwrap();
    let bob = custody.get_or_create(BOB).await.unwrap();
    let made = Some(WalletRecord::Made(bob.address));
    assert_eq!(stage.record(BOB).await, made);
    let path = file(&stage.path(), BOB);
    let good = fs::read_to_string(&path).unwrap();

    // Missing: no new wallet is made in its place, in the running server and after a restart.
    fs::remove_file(&path).unwrap();
    refused(&custody, BOB, bob.address, "wallet_file_missing").await;
    let mut restarted = stage.start().await.unwrap();
    refused(&restarted, BOB, bob.address, "wallet_file_missing").await;
    assert!(!path.exists());

    // Another wallet of the same owner, made under the same secret.
    assert_ne!(stage.unrecorded(BOB).await, bob.address);
    restarted = stage.start().await.unwrap();
    refused(&restarted, BOB, bob.address, "wallet_address_differs").await;
    assert_eq!(restarted.get_or_create(ALICE).await, Ok(alice));

    // It is altered.
    put(&path, "{}");
    restarted = stage.start().await.unwrap();
    refused(&restarted, BOB, bob.address, "wallet_file_altered").await;
    // Nothing is written under another secret while a wallet is not in order.
    drop((custody, restarted));
    let open = |folder: &std::path::Path| LocalCustody::open_alone(folder, SECRET.into());
    let alone = RecordedCustody::open(&stage.path(), Arc::clone(&stage.records), open).await;
    let (alone, to) = (alone.unwrap(), stage.top.path().join("rotated"));
    let rotated = alone.rotate(&to, "another secret".into()).await;
    assert_eq!(rotated.unwrap_err().code(), "wallet_file_altered");
    assert!(!to.exists());
    drop(alone);

    // The right file is back: its owner is served at once, and the fault is gone.
    restarted = stage.start().await.unwrap();
    put(&path, &good);
    assert_eq!(restarted.get_or_create(BOB).await, Ok(bob));
    assert_eq!(restarted.wallet_at(bob.address).await, Ok(Some(bob)));
    assert_eq!(restarted.faults().all(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_recorded_is_no_wallet() {
    let stage = Stage::new();
    let planted = stage.unrecorded(BOB).await;
    let custody = stage.start().await.unwrap();
    refused(&custody, BOB, planted, "wallet_file_unknown").await;
    let alice = custody.get_or_create(ALICE).await.unwrap();
    assert_eq!(custody.find(ALICE).await, Ok(Some(alice)));
}

/// A file that other users may read is its owner's trouble, too.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_another_mode_is_named_at_the_start() {
    use std::os::unix::fs::PermissionsExt as _;

    let stage = Stage::new();
    let custody = stage.start().await.unwrap();
    let bob = custody.get_or_create(BOB).await.unwrap();
    custody.get_or_create(ALICE).await.unwrap();
    let readable = fs::Permissions::from_mode(0o644);
    fs::set_permissions(file(&stage.path(), BOB), readable).unwrap();
    let restarted = stage.start().await.unwrap();
    refused(&restarted, BOB, bob.address, "custody_permissions").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_folder_beside_recorded_wallets_refuses_the_start_and_stays_empty() {
    let stage = Stage::new();
    // Nothing is recorded yet: the folder is a new one.
    drop(stage.start().await.unwrap());
    let custody = stage.start().await.unwrap();
    let alice = custody.get_or_create(ALICE).await.unwrap();
    custody.get_or_create(BOB).await.unwrap();
    drop(custody);
    let away = stage.top.path().join("away");
    fs::rename(stage.path(), &away).unwrap();
    // The volume is not mounted, with and without its mount point.
    for _ in 0..2 {
        let refused = stage.start().await.unwrap_err();
        assert_eq!(refused, CustodyError::FolderEmpty { recorded: 2 });
        assert_eq!(refused.code(), "wallet_folder_empty");
        let files = fs::read_dir(stage.path());
        assert_eq!(files.map_or(0, Iterator::count), 0);
        if !stage.path().exists() {
            fs::create_dir(stage.path()).unwrap();
        }
    }
    fs::remove_dir(stage.path()).unwrap();
    fs::rename(away, stage.path()).unwrap();
    let custody = stage.start().await.unwrap();
    assert_eq!(custody.get_or_create(ALICE).await, Ok(alice));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kill_while_a_wallet_is_made_leads_to_a_start() {
    for (left, after) in KILLS {
        killed_while_making(&Stage::new(), left, after).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_removes_only_what_nobody_makes_any_more() {
    let stage = Stage::new();
    let custody = stage.start().await.unwrap();
    // Somebody makes it, or was killed a minute ago.
    stage.records.begin(ALICE, now() - 60).await.unwrap();
    drop(stage.start().await.unwrap());
    assert_eq!(stage.record(ALICE).await, Some(WalletRecord::Making));
    stage.records.begin(ALICE, now() - 700).await.unwrap();
    // Its file exists: it is finished, however long ago it began.
    stage.records.begin(BOB, now() - 700).await.unwrap();
    let bob = stage.unrecorded(BOB).await;
    drop(stage.start().await.unwrap());
    assert_eq!(stage.record(ALICE).await, None);
    assert_eq!(stage.record(BOB).await, Some(WalletRecord::Made(bob)));
    // The server that runs learns it, too.
    let found = custody.find(BOB).await.unwrap().unwrap();
    assert_eq!(found.address, bob);
}

/// Without its records a server makes no wallet and tells no address that it has not compared.
#[tokio::test(flavor = "multi_thread")]
async fn records_that_cannot_be_used_are_nobodys_fault_and_make_no_file() {
    let stage = Stage::new();
    drop(stage.start().await.unwrap());
    let gone = || CustodyError::Records { code: "killed" };
    let records = Dying::new(Arc::clone(&stage.records), 3, true, gone);
    let custody = stage.start_with(Arc::new(Killed(records))).await.unwrap();
    let alice = custody.get_or_create(ALICE).await.unwrap();
    // The third write ends the records.
    assert_eq!(custody.get_or_create(BOB).await, Err(gone()));
    assert_eq!(custody.get_or_create(BOB).await, Err(gone()));
    assert_eq!(gone().code(), "wallet_records_unavailable");
    assert!(!file(&stage.path(), BOB).exists());
    assert_eq!(custody.faults().all(), []);
    // A wallet that was compared needs no records to sign.
    let asked = unsigned(Fees::Legacy { price: 9 });
    let subject = Subject::Transaction(&asked);
    let signed = custody.sign(alice.address, subject, Purpose::WalletAction);
    assert!(signed.await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_over_is_recorded_and_never_against_the_records() {
    let stage = Stage::new();
    let custody = stage.start().await.unwrap();
    let alice = custody.get_or_create(ALICE).await.unwrap();
    drop(custody);
    let path = file(&stage.path(), ALICE);
    let backup = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let restoring = |records: &Arc<dyn WalletRecords>| {
        let alone = LocalCustody::open_alone(&stage.path(), SECRET.into()).unwrap();
        RecordedCustody::restoring(alone, Arc::clone(records))
    };
    let candidate = |text: &str| {
        let name = "backup.json".to_owned();
        let text = text.to_owned();
        vec![Candidate { name, text }]
    };
    // Another wallet of the owner is refused, whatever the file proves.
    let other = tempfile::tempdir().unwrap();
    let theirs = open(&other, SECRET).unwrap().get_or_create(ALICE).await;
    let observed = theirs.unwrap().address;
    let text = fs::read_to_string(file(&other.path().join("wallets"), ALICE)).unwrap();
    // The folder is empty, and its only wallet is to be restored.
    let alone = restoring(&stage.records);
    let judged = alone.adoptions(candidate(&text), SECRET.into()).await;
    let differs = FileFault::AddressDiffers {
        expected: alice.address,
        observed,
    };
    assert_eq!(
        judged.unwrap_err(),
        CustodyError::File {
            file: "backup.json".to_owned(),
            fault: differs,
        }
    );
    drop(alone);
    // The wallet of a recorded owner is not another one's.
    let elsewhere = records::in_file(other.path());
    elsewhere.finish(BOB, observed, now()).await.unwrap();
    let alone = restoring(&elsewhere);
    let judged = alone.adoptions(candidate(&text), SECRET.into()).await;
    assert_eq!(judged.unwrap_err().code(), "wallet_address_taken");
    drop(alone);

    let alone = restoring(&stage.records);
    let judged = alone.adoptions(candidate(&backup), SECRET.into()).await;
    for adoption in judged.unwrap() {
        assert!(adoption.is_recorded && !adoption.is_there);
        assert_eq!(alone.adopt(adoption).await, Ok(alice));
    }
    drop(alone);
    let custody = stage.start().await.unwrap();
    assert_eq!(custody.get_or_create(ALICE).await, Ok(alice));
    drop(custody);

    // The records are lost: a good file in its place is unknown until it is taken over.
    let fresh = tempfile::tempdir().unwrap();
    let stage = Stage {
        records: records::in_file(fresh.path()),
        ..stage
    };
    let custody = stage.start().await.unwrap();
    refused(&custody, ALICE, alice.address, "wallet_file_unknown").await;
    drop(custody);
    let alone = LocalCustody::open_alone(&stage.path(), SECRET.into()).unwrap();
    let alone = RecordedCustody::restoring(alone, Arc::clone(&stage.records));
    let text = fs::read_to_string(&path).unwrap();
    let judged = alone.adoptions(candidate(&text), SECRET.into()).await;
    for adoption in judged.unwrap() {
        assert!(!adoption.is_recorded && adoption.is_there);
        assert_eq!(alone.adopt(adoption).await, Ok(alice));
    }
    drop(alone);
    let custody = stage.start().await.unwrap();
    assert_eq!(custody.get_or_create(ALICE).await, Ok(alice));
}
