//! The operator's work on all wallets: list them, open them, write them under another secret.

use std::fs;

use custody::{Custody as _, CustodyError, LocalCustody, Rotated};

use crate::conformance::{ALICE, BOB};
use crate::{SECRET, file, open};

const NEW: &str = "another secret of the operator";

#[tokio::test(flavor = "multi_thread")]
async fn wallets_under_another_secret_are_the_same_wallets() {
    let folder = tempfile::tempdir().unwrap();
    let custody = open(&folder, SECRET).unwrap();
    assert_eq!(custody.list().await.unwrap(), []);
    let alice = custody.get_or_create(ALICE).await.unwrap();
    let bob = custody.get_or_create(BOB).await.unwrap();
    let listed = custody.list().await.unwrap();
    let mut expected = vec![
        (ALICE, alice.address, alice.created_at),
        (BOB, bob.address, bob.created_at),
    ];
    expected.sort_unstable();
    let observed: Vec<_> = listed
        .iter()
        .map(|wallet| (wallet.owner, wallet.address, wallet.created_at))
        .collect();
    assert_eq!(observed, expected);

    // While another process has the folder open, rotation refuses; and the other way round.
    let to = folder.path().join("rotated");
    let refused = custody.rotate(&to, NEW.into()).await.unwrap_err();
    assert_eq!(refused.code(), "custody_folder_in_use");
    assert!(!to.exists());
    let refused = alone(&folder).unwrap_err();
    assert_eq!(refused.code(), "custody_folder_in_use");
    drop(custody);
    let custody = alone(&folder).unwrap();
    let refused = open(&folder, SECRET).unwrap_err();
    assert_eq!(refused.code(), "custody_folder_in_use");

    // The new folder's secret is stretched as the folder's own file says.
    drop(LocalCustody::open_weakly_stretched(&to, NEW.into()).unwrap());
    let before = files(&folder.path().join("wallets"));
    let rotated = custody.rotate(&to, NEW.into()).await.unwrap();
    assert_eq!(
        rotated,
        Rotated {
            written: 2,
            there: 0
        }
    );
    // The old folder still works as before.
    assert_eq!(files(&folder.path().join("wallets")), before);

    let after = LocalCustody::open(&to, NEW.into()).unwrap();
    assert_eq!(after.find(ALICE).await.unwrap(), Some(alice));
    assert_eq!(after.find(BOB).await.unwrap(), Some(bob));
    assert_eq!(after.list().await.unwrap(), listed);
    let old = LocalCustody::open(&to, SECRET.into());
    assert_eq!(old.unwrap_err(), CustodyError::WrongSecret);

    // A repeated run after an interruption keeps the existing files.
    fs::remove_file(file(&to, BOB)).unwrap();
    let kept = fs::read_to_string(file(&to, ALICE)).unwrap();
    let again = custody.rotate(&to, NEW.into()).await.unwrap();
    assert_eq!(
        again,
        Rotated {
            written: 1,
            there: 1
        }
    );
    assert_eq!(fs::read_to_string(file(&to, ALICE)).unwrap(), kept);
    assert_eq!(after.find(BOB).await.unwrap(), Some(bob));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_with_other_wallets_is_refused_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let custody = open(&folder, SECRET).unwrap();
    let alice = custody.get_or_create(ALICE).await.unwrap();
    drop(custody);
    let custody = alone(&folder).unwrap();
    let to = folder.path().join("other");
    let other = LocalCustody::open_weakly_stretched(&to, NEW.into()).unwrap();
    let theirs = other.get_or_create(ALICE).await.unwrap();
    assert_eq!(
        custody.rotate(&to, NEW.into()).await,
        Err(CustodyError::AnotherWallet {
            owner: ALICE,
            expected: alice.address,
            observed: theirs.address,
        })
    );
    assert_eq!(other.find(ALICE).await.unwrap(), Some(theirs));
    // A run with a third secret does not even look at them.
    let wrong = custody.rotate(&to, "a third".into()).await;
    assert_eq!(wrong, Err(CustodyError::WrongSecret));
    let empty = custody.rotate(&to, "".into()).await;
    assert_eq!(empty, Err(CustodyError::EmptySecret));

    // Rotation never leaves a damaged wallet out silently.
    let path = file(&folder.path().join("wallets"), ALICE);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("wallet-1", "wallet-2", 1)).unwrap();
    drop(custody);
    let fresh = alone(&folder).unwrap();
    assert_eq!(fresh.owners().await.unwrap(), [ALICE]);
    let third = folder.path().join("third");
    drop(LocalCustody::open_weakly_stretched(&third, NEW.into()).unwrap());
    let altered = fresh.rotate(&third, NEW.into()).await;
    assert_eq!(altered.unwrap_err().code(), "wallet_file_altered");
}

fn alone(folder: &tempfile::TempDir) -> Result<LocalCustody, CustodyError> {
    LocalCustody::open_alone(&folder.path().join("wallets"), SECRET.into())
}

/// Names and texts.
fn files(folder: &std::path::Path) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort_unstable();
    files
}
