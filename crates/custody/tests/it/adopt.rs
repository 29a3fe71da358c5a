//! Files that a folder did not write are taken over on purpose, and never by themselves.

use std::fs;

use alloy_primitives::{Address, address};
use custody::{Candidate, Custody as _, CustodyError, FileFault, LocalCustody, Owner};
use serde_json::Value;

use crate::conformance::{ALICE, BOB};
use crate::{SECRET, file, open, put};

/// A key file that `cast` wrote, and its password. It holds the key of this address.
const OLD: &str = include_str!("../../../../fixtures/keystores/cast.json");
const OLD_SECRET: &str = "correct horse";
const OLD_ADDRESS: Address = address!("70997970C51812dc3A010C7d01b50e0d17dc79C8");

fn alone(folder: &tempfile::TempDir, secret: &str) -> LocalCustody {
    drop(open(folder, secret).unwrap());
    LocalCustody::open_alone(&folder.path().join("wallets"), secret.into()).unwrap()
}

/// A file of the old form.
fn old(owner: Owner) -> String {
    let mut file: Value = serde_json::from_str(OLD).unwrap();
    file["owner"] = owner.to_string().into();
    file["created_at"] = 1_790_000_000.into();
    format!("{file}\n")
}

fn candidate(name: &str, text: &str) -> Candidate {
    Candidate {
        name: name.to_owned(),
        text: text.to_owned(),
    }
}

fn name(owner: Owner) -> String {
    format!("eip155-196-{:#x}.json", owner.address())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_the_old_form_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wallets");
    fs::create_dir(&path).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    }
    put(&file(&path, ALICE), &old(ALICE));
    put(&path.join("operator-check.json"), OLD);
    // A wrong secret ends the start, as it did.
    assert_eq!(
        open(&folder, "another").unwrap_err(),
        CustodyError::WrongSecret
    );
    fs::remove_file(path.join("operator-check.json")).unwrap();
    assert_eq!(
        open(&folder, "another").unwrap_err(),
        CustodyError::WrongSecret
    );

    // The start is possible; the owner is refused by name and gets no other wallet.
    let server = open(&folder, OLD_SECRET).unwrap();
    let refused = server.get_or_create(ALICE).await.unwrap_err();
    let expected = CustodyError::File {
        file: name(ALICE),
        fault: FileFault::OldForm,
    };
    assert_eq!(
        (refused.code(), &refused),
        ("wallet_file_old_form", &expected)
    );
    let bob = server.get_or_create(BOB).await.unwrap();

    let files = vec![candidate(&name(ALICE), &old(ALICE))];
    let judged = server.adoptions(files.clone(), OLD_SECRET.into()).await;
    let adoption = judged.unwrap().pop().unwrap();
    assert_eq!(
        (adoption.owner, adoption.address, adoption.is_there),
        (ALICE, OLD_ADDRESS, false)
    );
    assert!(adoption.is_old_form);
    assert_eq!(adoption.replaces, Some(FileFault::OldForm));
    // Judging changes nothing, and nothing is taken over under a running server.
    assert_eq!(fs::read_to_string(file(&path, ALICE)).unwrap(), old(ALICE));
    let refused = server.adopt(adoption).await.unwrap_err();
    assert_eq!(refused.code(), "custody_folder_in_use");
    drop(server);

    let custody = alone(&folder, OLD_SECRET);
    let judged = custody.adoptions(files, OLD_SECRET.into()).await.unwrap();
    for adoption in judged {
        let wallet = custody.adopt(adoption).await.unwrap();
        assert_eq!(wallet.address, OLD_ADDRESS);
        assert_eq!(wallet.created_at, Some(1_790_000_000));
    }
    drop(custody);
    let server = open(&folder, OLD_SECRET).unwrap();
    let wallet = server.get_or_create(ALICE).await.unwrap();
    assert_eq!((wallet.owner, wallet.address), (ALICE, OLD_ADDRESS));
    assert_eq!(server.find(BOB).await, Ok(Some(bob)));
    // The old file stays under another name.
    let kept = fs::read_dir(&path).unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        let is_kept = path.file_name()?.to_str()?.starts_with("replaced-");
        is_kept.then(|| fs::read_to_string(path).unwrap())
    });
    assert_eq!(kept.collect::<Vec<_>>(), [old(ALICE)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_file_is_taken_over_whatever_its_name_folder_and_secret() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let other = open(&from, "another").unwrap();
    let alice = other.get_or_create(ALICE).await.unwrap();
    let bob = other.get_or_create(BOB).await.unwrap();
    let text = |owner| fs::read_to_string(file(&from.path().join("wallets"), owner)).unwrap();
    let custody = alone(&to, SECRET);
    // What is there is altered: the backup replaces it.
    put(&file(&to.path().join("wallets"), BOB), "{}");
    let files = vec![
        candidate("alice.json.bak", &text(ALICE)),
        candidate(&name(BOB), &text(BOB)),
    ];
    let wrong = custody.adoptions(files.clone(), SECRET.into()).await;
    let wrong = wrong.unwrap_err();
    assert_eq!(wrong.code(), "wallet_file_altered");
    assert!(wrong.to_string().contains("alice.json.bak"), "{wrong}");
    let right = custody.adoptions(files.clone(), "another".into()).await;
    let mut replaced = Vec::new();
    for adoption in right.unwrap() {
        assert!(!adoption.is_old_form);
        replaced.push(adoption.replaces.as_ref().map(FileFault::code));
        custody.adopt(adoption).await.unwrap();
    }
    assert_eq!(replaced, [None, Some("wallet_file_altered")]);
    assert_eq!(custody.find(ALICE).await, Ok(Some(alice)));
    assert_eq!(custody.find(BOB).await, Ok(Some(bob)));
    // Again: nothing is left to do.
    let again = custody.adoptions(files, "another".into()).await.unwrap();
    let before = fs::read_to_string(file(&to.path().join("wallets"), ALICE)).unwrap();
    for adoption in again {
        assert!(adoption.is_there && adoption.replaces.is_none());
        custody.adopt(adoption).await.unwrap();
    }
    let after = fs::read_to_string(file(&to.path().join("wallets"), ALICE)).unwrap();
    assert_eq!(after, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_wallet_gets_a_second_owner_and_no_owner_another_wallet() {
    let folder = tempfile::tempdir().unwrap();
    let custody = alone(&folder, SECRET);
    // The thief's copy of the victim's old file, in one run and in two.
    let (victim, thief) = (
        candidate(&name(ALICE), &old(ALICE)),
        candidate(&name(BOB), &old(BOB)),
    );
    let both = vec![victim.clone(), thief.clone()];
    let taken = custody.adoptions(both, OLD_SECRET.into()).await;
    let expected = CustodyError::AddressTaken {
        file: name(BOB),
        address: OLD_ADDRESS,
        owner: ALICE,
    };
    let taken = taken.unwrap_err();
    assert_eq!((taken.code(), &taken), ("wallet_address_taken", &expected));
    let first = custody.adoptions(vec![victim], OLD_SECRET.into()).await;
    for adoption in first.unwrap() {
        custody.adopt(adoption).await.unwrap();
    }
    let taken = custody.adoptions(vec![thief], OLD_SECRET.into()).await;
    assert_eq!(taken.unwrap_err(), expected);

    // An owner's good file is never replaced.
    let other = tempfile::tempdir().unwrap();
    let theirs = open(&other, SECRET).unwrap().get_or_create(ALICE).await;
    let text = fs::read_to_string(file(&other.path().join("wallets"), ALICE)).unwrap();
    let files = vec![candidate(&name(ALICE), &text)];
    let refused = custody.adoptions(files, SECRET.into()).await.unwrap_err();
    assert_eq!(
        refused,
        CustodyError::AnotherWallet {
            owner: ALICE,
            expected: theirs.unwrap().address,
            observed: OLD_ADDRESS,
        }
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_names_no_single_owner_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let custody = alone(&folder, SECRET);
    for (name, text) in [
        (name(BOB), old(ALICE)),
        ("key.json".to_owned(), OLD.to_owned()),
        ("key.json".to_owned(), "{}".to_owned()),
        (name(ALICE), String::new()),
    ] {
        let files = vec![candidate(&name, &text)];
        let refused = custody.adoptions(files, OLD_SECRET.into()).await;
        assert_eq!(refused.unwrap_err().code(), "wallet_file_altered", "{name}");
    }
    // The name alone is enough, as for files that never stated their owner.
    let files = vec![candidate(&name(ALICE), OLD)];
    let judged = custody.adoptions(files, OLD_SECRET.into()).await.unwrap();
    assert_eq!((judged[0].owner, judged[0].address), (ALICE, OLD_ADDRESS));
}
