//! The local provider through its port. Creating or opening a key takes a second, so the tests use
//! few keys.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "test code"
)]

mod conformance;
mod export;
mod guarded;
mod keep;
#[path = "../../../tx-sender/tests/it/conformance.rs"]
mod signer_conformance;

use std::fs;
use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256};
use custody::{Custody as _, CustodyError, LocalCustody, Owner, Purpose, lend};
use tx_sender::{Fees, Unsigned};

use crate::conformance::{ALICE, BOB};

const SECRET: &str = "correct horse battery staple";

fn open(folder: &tempfile::TempDir, secret: &str) -> Result<LocalCustody, CustodyError> {
    LocalCustody::open(&folder.path().join("wallets"), secret.into())
}

fn unsigned(fees: Fees) -> Unsigned {
    Unsigned {
        chain_id: 8453,
        nonce: 7,
        to: Address::repeat_byte(9),
        value: U256::from(5),
        input: Bytes::from_static(&[1, 2, 3]),
        gas_limit: 90_000,
        fees,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_conforms() {
    let folder = tempfile::tempdir().unwrap();
    conformance::conforms(|| open(&folder, SECRET).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_local_attestation_of_a_key_has_no_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let custody = open(&folder, SECRET).unwrap();
    custody.get_or_create(ALICE).await.unwrap();
    let attested = custody.attest(ALICE).await.unwrap().unwrap();
    let statement = &attested.statement;
    assert!(
        statement.ends_with("not in a trusted execution environment"),
        "{statement}"
    );
    assert!(!attested.wallet.provider.is_trusted_environment());
    assert_eq!(attested.evidence, None);
    let unknown = lend(Arc::new(custody), Address::ZERO, Purpose::FencedPlan);
    let refused = unknown.sign(&unsigned(Fees::Legacy { price: 9 })).await;
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the signer refuses: custody_unknown_wallet"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_secret_or_a_damaged_file_never_leads_to_a_new_address() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wallets");
    assert_eq!(
        open(&folder, "").unwrap_err().code(),
        "custody_empty_secret"
    );
    let custody = open(&folder, SECRET).unwrap();
    let alice = custody.get_or_create(ALICE).await.unwrap();
    drop(custody);

    assert_eq!(
        open(&folder, "another").unwrap_err(),
        CustodyError::WrongSecret
    );
    // This also holds where the check is lost: a wallet serves as the check.
    fs::remove_file(path.join("operator-check.json")).unwrap();
    assert_eq!(
        open(&folder, "another").unwrap_err(),
        CustodyError::WrongSecret
    );
    let custody = open(&folder, SECRET).unwrap();

    let file = path.join(format!("eip155-196-{:#x}.json", ALICE.address()));
    let whole = fs::read_to_string(&file).unwrap();
    assert!(whole.contains("\"owner\":\"eip155:196:0x70997970C51812dc3A010C7d01b50e0d17dc79C8\""));
    let damaged = whole.replace("\"ciphertext\"", "\"cipher\"");
    fs::write(&file, damaged).unwrap();
    let refused = custody.get_or_create(ALICE).await.unwrap_err();
    assert_eq!(refused.code(), "custody_damaged");
    // One owner's file takes another one's place.
    fs::write(&file, &whole).unwrap();
    let place = path.join(format!("eip155-196-{:#x}.json", BOB.address()));
    fs::copy(&file, &place).unwrap();
    let refused = custody.get_or_create(BOB).await.unwrap_err();
    assert_eq!(refused.code(), "custody_other_owner");
    assert_eq!(custody.get_or_create(ALICE).await, Ok(alice));
}

/// Anyone may ask for the owner of an address. Questions about a wallet or about an unknown address
/// read no file twice and open no key: the files here are unreadable and open under no secret.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_an_address_costs_neither_files_nor_keys() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wallets");
    let alice = {
        let custody = open(&folder, SECRET).unwrap();
        custody.get_or_create(ALICE).await.unwrap()
    };
    let name = |owner: Owner| path.join(format!("eip155-196-{:#x}.json", owner.address()));
    let whole = fs::read_to_string(name(ALICE)).unwrap();
    let address = |number: u64| Address::from_word(U256::from(number + 1).into());
    let wallet = |number: u64| address(number + 10_000);
    // A file like Alice's, with its own address and a key that does not belong to that address.
    let put = |number: u64| {
        let mut file: serde_json::Value = serde_json::from_str(&whole).unwrap();
        let owner = Owner::new(196, address(number));
        file["owner"] = owner.to_string().into();
        file["address"] = alloy_primitives::hex::encode(wallet(number)).into();
        file["crypto"]["mac"] = "00".repeat(32).into();
        fs::write(name(owner), file.to_string()).unwrap();
        fs::set_permissions(name(owner), fs::Permissions::from_mode(0o600)).unwrap();
        owner
    };
    for number in 0..200 {
        put(number);
    }
    let custody = open(&folder, SECRET).unwrap();
    for number in 0..200 {
        // Every later read of the file fails.
        let owner = Owner::new(196, address(number));
        fs::set_permissions(name(owner), fs::Permissions::from_mode(0o644)).unwrap();
    }
    for number in 0..100 {
        assert_eq!(custody.wallet_at(address(number + 50_000)).await, Ok(None));
        let found = custody.wallet_at(wallet(number)).await.unwrap().unwrap();
        assert_eq!(found.owner, Owner::new(196, address(number)));
    }
    // A wallet that another process has made since is found, and the custody reads only its file.
    let owner = put(777);
    let found = custody.wallet_at(wallet(777)).await.unwrap().unwrap();
    assert_eq!(found.owner, owner);
    assert_eq!(custody.wallet_at(alice.address).await, Ok(Some(alice)));
}
