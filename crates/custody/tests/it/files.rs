//! Attacks on wallets' files: whoever can write to the folder gets no other wallet, no other
//! address and no signature out of it.

use std::fs;
use std::path::Path;

use alloy_primitives::hex;
use custody::{Custody as _, CustodyError, FileFault, LocalCustody, Owner, Purpose, Subject};
use proptest::prelude::*;
use serde_json::Value;
use tx_sender::Fees;

use crate::conformance::{ALICE, BOB};
use crate::{SECRET, file, open, put, unsigned};

/// A folder with the wallets of two owners, closed.
struct Folder {
    top: tempfile::TempDir,
    alice: custody::Wallet,
    bob: custody::Wallet,
}

impl Folder {
    async fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let custody = open(&top, SECRET).unwrap();
        let alice = custody.get_or_create(ALICE).await.unwrap();
        let bob = custody.get_or_create(BOB).await.unwrap();
        Self { top, alice, bob }
    }

    fn path(&self) -> std::path::PathBuf {
        self.top.path().join("wallets")
    }

    fn text(&self, owner: Owner) -> String {
        fs::read_to_string(file(&self.path(), owner)).unwrap()
    }

    /// The server after a restart.
    fn open(&self) -> LocalCustody {
        open(&self.top, SECRET).unwrap()
    }
}

/// The owner is refused by name, everywhere, and its file stays as it is.
async fn refused(custody: &LocalCustody, path: &Path, owner: Owner, code: &str) -> CustodyError {
    let before = fs::read(file(path, owner)).unwrap();
    let error = custody.get_or_create(owner).await.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    let name = file(path, owner);
    let name = name.file_name().unwrap().to_str().unwrap();
    assert!(error.to_string().contains(name), "{error}");
    assert_eq!(custody.find(owner).await.unwrap_err().code(), code);
    assert_eq!(custody.attest(owner).await.unwrap_err().code(), code);
    let listed = custody.list().await.unwrap();
    assert!(listed.iter().all(|wallet| wallet.owner != owner));
    assert_eq!(fs::read(file(path, owner)).unwrap(), before);
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn a_victims_file_in_another_owners_place_opens_nothing() {
    let folder = Folder::new().await;
    let path = folder.path();
    let victim = folder.text(ALICE);
    let own: Value = serde_json::from_str(&folder.text(BOB)).unwrap();
    let stolen: Value = serde_json::from_str(&victim).unwrap();
    // The thief copies the whole file, or only what is sealed, with every choice of the rest.
    let mut forged = vec![victim.clone()];
    for kept in [
        &["owner"][..],
        &["owner", "address"],
        &["owner", "address", "created_at"],
        &["owner", "address", "created_at", "salt"],
    ] {
        let mut file = stolen.clone();
        for member in kept {
            file[*member] = own[*member].clone();
        }
        forged.push(canonical(&file));
    }
    for text in forged {
        put(&file(&path, BOB), &text);
        let custody = folder.open();
        refused(&custody, &path, BOB, "wallet_file_altered").await;
        // The victim has its wallet, and nobody else's name leads to it.
        assert_eq!(custody.find(ALICE).await, Ok(Some(folder.alice)));
        let at = custody.wallet_at(folder.alice.address).await;
        assert_eq!(at, Ok(Some(folder.alice)));
        assert_eq!(custody.wallet_at(folder.bob.address).await, Ok(None));
        let asked = unsigned(Fees::Legacy { price: 9 });
        let subject = Subject::Transaction(&asked);
        let signed = custody.sign(folder.alice.address, subject, Purpose::WalletAction);
        assert!(signed.await.is_ok());
        let unsigned = custody.sign(folder.bob.address, subject, Purpose::WalletAction);
        assert_eq!(
            unsigned.await,
            Err(CustodyError::UnknownWallet(folder.bob.address))
        );
    }
}

/// Members in the order of the file.
fn canonical(file: &Value) -> String {
    let members = [
        "format",
        "owner",
        "address",
        "created_at",
        "stretching",
        "salt",
        "sealed",
    ];
    let written = members.map(|member| match member {
        "stretching" => {
            let numbers =
                ["n", "r", "p", "salt"].map(|it| format!("\"{it}\":{}", file[member][it]));
            format!("\"{member}\":{{{}}}", numbers.join(","))
        }
        _ => format!("\"{member}\":{}", file[member]),
    });
    format!("{{{}}}\n", written.join(","))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_refuses_what_is_swapped_under_it() {
    let folder = Folder::new().await;
    let path = folder.path();
    let custody = folder.open();
    let asked = unsigned(Fees::Legacy { price: 9 });
    let subject = Subject::Transaction(&asked);
    assert_eq!(custody.find(BOB).await, Ok(Some(folder.bob)));
    put(&file(&path, BOB), &folder.text(ALICE));
    let signed = custody.sign(folder.bob.address, subject, Purpose::WalletAction);
    assert_eq!(signed.await.unwrap_err().code(), "wallet_file_altered");

    // A good file of the same owner with another wallet, as from an earlier folder, signs nothing
    // for the wallet that was asked for.
    fs::remove_file(file(&path, BOB)).unwrap();
    let another = folder.open().get_or_create(BOB).await.unwrap();
    let (expected, observed) = (folder.bob.address, another.address);
    let signed = custody.sign(expected, subject, Purpose::WalletAction).await;
    assert!(
        matches!(
            signed,
            Err(CustodyError::File { fault: FileFault::AddressDiffers { expected: e, observed: o }, .. })
                if (e, o) == (expected, observed)
        ),
        "{signed:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_secret_ends_the_start() {
    let folder = Folder::new().await;
    let path = folder.path();
    assert_eq!(
        open(&folder.top, "").unwrap_err().code(),
        "custody_empty_secret"
    );
    let wrong = || open(&folder.top, "another").unwrap_err();
    assert_eq!(wrong(), CustodyError::WrongSecret);
    // This also holds where the folder's own file is lost: a wallet serves as the check, and tells
    // how the secret is stretched.
    let own = path.join("operator-secret.json");
    fs::remove_file(&own).unwrap();
    assert_eq!(wrong(), CustodyError::WrongSecret);
    assert!(!own.exists());
    let custody = folder.open();
    assert_eq!(custody.find(ALICE).await, Ok(Some(folder.alice)));
    assert!(own.exists());
    // A folder's file that cannot be read is no folder without a secret.
    put(&own, "{}");
    assert_eq!(open(&folder.top, SECRET).unwrap_err().code(), "custody_io");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_another_folder_or_secret_is_named() {
    let folder = Folder::new().await;
    for secret in [SECRET, "another"] {
        let other = tempfile::tempdir().unwrap();
        let custody = open(&other, secret).unwrap();
        custody.get_or_create(BOB).await.unwrap();
        let text = fs::read_to_string(file(&other.path().join("wallets"), BOB)).unwrap();
        put(&file(&folder.path(), BOB), &text);
        let custody = folder.open();
        let path = folder.path();
        refused(&custody, &path, BOB, "wallet_file_of_another_secret").await;
        assert_eq!(custody.find(ALICE).await, Ok(Some(folder.alice)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_faulty_file_is_the_trouble_of_its_owner_alone() {
    let folder = Folder::new().await;
    let path = folder.path();
    let large = " ".repeat(2 << 20);
    let good = folder.text(BOB);
    let spaced = good.replacen("{\"", "{ \"", 1);
    for text in ["", "{}", "null", "\u{0}", &large, &spaced, good.trim_end()] {
        put(&file(&path, BOB), text);
        let custody = folder.open();
        refused(&custody, &path, BOB, "wallet_file_altered").await;
        assert_eq!(custody.find(ALICE).await, Ok(Some(folder.alice)));
    }
    fs::write(file(&path, BOB), [0xff, 0xfe]).unwrap();
    let custody = folder.open();
    refused(&custody, &path, BOB, "wallet_file_altered").await;
    // The right file is back: its owner is served without a restart.
    put(&file(&path, BOB), &good);
    assert_eq!(custody.get_or_create(BOB).await, Ok(folder.bob));
    let at = custody.wallet_at(folder.bob.address).await;
    assert_eq!(at, Ok(Some(folder.bob)));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_byte_of_a_file_can_be_changed() {
    let folder = Folder::new().await;
    let path = file(&folder.path(), BOB);
    let good = fs::read(&path).unwrap();
    let custody = folder.open();
    for at in 0..good.len() {
        for bit in [0, 3, 5] {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << bit;
            fs::write(&path, &bytes).unwrap();
            let fault = match custody.find(BOB).await {
                Err(CustodyError::File { fault, .. }) => fault.code(),
                other => panic!("byte {at}, bit {bit}: {other:?}"),
            };
            let named = ["wallet_file_altered", "wallet_file_of_another_secret"];
            assert!(named.contains(&fault), "byte {at}, bit {bit}: {fault}");
        }
    }
    fs::write(&path, good).unwrap();
    assert_eq!(custody.find(BOB).await, Ok(Some(folder.bob)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Any text in a wallet's place is a named fault.
    #[test]
    fn any_text_is_a_named_fault(text in ".{0,300}") {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let top = tempfile::tempdir().unwrap();
            let custody = open(&top, SECRET).unwrap();
            put(&file(&top.path().join("wallets"), ALICE), &text);
            let fault = custody.get_or_create(ALICE).await.unwrap_err();
            assert_eq!(fault.code(), "wallet_file_altered");
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_key_nor_secret_is_in_the_folder() {
    let folder = Folder::new().await;
    for entry in fs::read_dir(folder.path()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains(SECRET) && !text.contains(&hex::encode(SECRET)));
    }
    // Two files of one wallet share no sealed byte: each has a salt of its own.
    let other = tempfile::tempdir().unwrap();
    drop(open(&other, SECRET).unwrap());
    let alone = LocalCustody::open_alone(&folder.path(), SECRET.into()).unwrap();
    let to = other.path().join("wallets");
    alone.rotate(&to, SECRET.into()).await.unwrap();
    let sealed = |text: &str| serde_json::from_str::<Value>(text).unwrap()["sealed"].clone();
    let rewritten = fs::read_to_string(file(&to, ALICE)).unwrap();
    assert_ne!(sealed(&rewritten), sealed(&folder.text(ALICE)));
}

/// `docs/wallet_key.py` opens the same file with nothing of this program; a test of the foreign
/// clients runs it.
#[tokio::test(flavor = "multi_thread")]
async fn the_documented_file_opens() {
    const FILE: &str = include_str!(
        "../../../../fixtures/wallets/eip155-196-0x70997970c51812dc3a010c7d01b50e0d17dc79c8.json"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wallets");
    drop(open(&folder, "another").unwrap());
    fs::remove_file(path.join("operator-secret.json")).unwrap();
    put(&file(&path, ALICE), FILE);
    // The folder takes the way to stretch the secret from the file.
    let custody = open(&folder, SECRET).unwrap();
    let wallet = custody.find(ALICE).await.unwrap().unwrap();
    let key = keystore::Key::from_bytes(&[0x42; 32]).unwrap();
    assert_eq!(wallet.address, key.address());
    assert_eq!(wallet.created_at, Some(1_795_600_000));
    let documented = include_str!("../../../../docs/WALLETS.md");
    assert!(
        documented.contains(FILE.trim_end()),
        "docs/WALLETS.md lacks the file"
    );
}
