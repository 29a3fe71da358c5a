//! Tests of the records of wallets: an owner has one wallet, a wallet one owner, for ever.

use std::path::Path;
use std::sync::Arc;

use alloy_primitives::Address;
use custody::{
    Custody as _, Owner, PostgresWalletRecords, SqliteWalletRecords, WalletRecord, WalletRecords,
};
use test_support::postgres::Schema;
use tokio::task::JoinSet;

use crate::conformance::{self, ALICE, BOB};
use crate::recorded::{self, Stage};

const NOW: u64 = 1_793_491_200;
const MAKING: Option<WalletRecord> = Some(WalletRecord::Making);

/// The records of a file in this folder.
pub(crate) fn in_file(folder: &Path) -> Arc<dyn WalletRecords> {
    Arc::new(SqliteWalletRecords::open(folder.join("service.custody.db")).unwrap())
}

/// `one` and `two` are two servers on the same records, which are empty.
async fn keeps_its_promises(one: Arc<dyn WalletRecords>, two: Arc<dyn WalletRecords>) {
    assert_eq!(one.all().await.unwrap(), []);
    assert_eq!(one.find(ALICE).await.unwrap(), None);
    one.begin(ALICE, NOW).await.unwrap();
    assert_eq!(two.find(ALICE).await.unwrap(), MAKING);
    // A making that began lately is not forgotten, and a later attempt makes it late again.
    one.forget(ALICE, NOW).await.unwrap();
    assert_eq!(two.find(ALICE).await.unwrap(), MAKING);
    two.begin(ALICE, NOW + 9).await.unwrap();
    one.forget(ALICE, NOW + 9).await.unwrap();
    assert_eq!(two.find(ALICE).await.unwrap(), MAKING);
    one.forget(ALICE, NOW + 10).await.unwrap();
    assert_eq!(two.find(ALICE).await.unwrap(), None);

    // Of many that record a wallet of one owner, one counts, and all are told which.
    one.begin(ALICE, NOW).await.unwrap();
    let mut race = JoinSet::new();
    for number in 1..=8 {
        let records = Arc::clone(if number % 2 == 0 { &one } else { &two });
        let wallet = Address::repeat_byte(number);
        race.spawn(async move { records.finish(ALICE, wallet, NOW).await.unwrap() });
    }
    let told = race.join_all().await;
    let wallet = told[0];
    assert!(told.iter().all(|other| *other == wallet), "{told:?}");
    let other = Address::repeat_byte(9);
    assert_eq!(two.finish(ALICE, other, NOW).await.unwrap(), wallet);
    // A wallet that is made is neither begun anew nor forgotten.
    two.begin(ALICE, NOW).await.unwrap();
    two.forget(ALICE, NOW + 9).await.unwrap();
    let alice = WalletRecord::Made(wallet);
    assert_eq!(one.find(ALICE).await.unwrap(), Some(alice));

    // A wallet has one owner.
    let taken = two.finish(BOB, wallet, NOW).await.unwrap_err();
    assert_eq!(taken.code(), "wallet_records_unavailable");
    assert_eq!(one.find(BOB).await.unwrap(), None);
    assert_eq!(two.finish(BOB, other, NOW).await.unwrap(), other);
    let mut all = one.all().await.unwrap();
    all.sort_unstable_by_key(|(owner, _)| *owner != ALICE);
    assert_eq!(all, [(ALICE, alice), (BOB, WalletRecord::Made(other))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_keeps_the_promises() {
    let folder = tempfile::tempdir().unwrap();
    let open = || in_file(folder.path());
    keeps_its_promises(open(), open()).await;
    // A restart changes nothing.
    assert_eq!(open().all().await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_keeps_the_promises() {
    let Some(schema) = Schema::new() else { return };
    keeps_its_promises(in_database(&schema).await, in_database(&schema).await).await;
}

async fn in_database(schema: &Schema) -> Arc<dyn WalletRecords> {
    Arc::new(PostgresWalletRecords::open(schema.connect()).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn custody_beside_a_database_conforms_and_every_kill_leads_to_a_start() {
    let Some(schema) = Schema::new() else { return };
    let stage = Stage::beside(in_database(&schema).await);
    let handle = tokio::runtime::Handle::current();
    let opened = || tokio::task::block_in_place(|| handle.block_on(stage.start()).unwrap());
    conformance::conforms(opened).await;
    for (left, after) in recorded::KILLS {
        let Some(schema) = Schema::new() else { return };
        let stage = Stage::beside(in_database(&schema).await);
        recorded::killed_while_making(&stage, left, after).await;
    }
    let Some(schema) = Schema::new() else { return };
    let stage = Stage::beside(in_database(&schema).await);
    recorded::unfinished_wallets_count(&stage).await;
}

/// Two servers share the folder and the database, and are asked for the same owners at once.
#[tokio::test(flavor = "multi_thread")]
async fn two_servers_make_one_wallet_for_an_owner() {
    let Some(schema) = Schema::new() else { return };
    let stage = Stage::beside(in_database(&schema).await);
    let (one, two) = (stage.start().await.unwrap(), stage.start().await.unwrap());
    for number in 1..=20 {
        let owner = Owner::new(196, Address::repeat_byte(number));
        let (at_one, at_two) = tokio::join!(one.get_or_create(owner), two.get_or_create(owner));
        let wallet = at_one.unwrap();
        assert_eq!(at_two, Ok(wallet));
        let recorded = stage.records.find(owner).await.unwrap();
        assert_eq!(recorded, Some(WalletRecord::Made(wallet.address)));
        // Each signs with a wallet that the other one has made, and knows whose it is.
        assert_eq!(one.wallet_at(wallet.address).await, Ok(Some(wallet)));
        assert_eq!(two.wallet_at(wallet.address).await, Ok(Some(wallet)));
    }
    // A third one that starts meanwhile removes nothing that the others make.
    stage.records.begin(BOB, recorded::now()).await.unwrap();
    drop(stage.start().await.unwrap());
    assert_eq!(stage.records.find(BOB).await.unwrap(), MAKING);
    assert_eq!(one.faults().all(), []);
}
