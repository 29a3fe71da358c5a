//! The local provider through its port.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "test code"
)]

mod adopt;
mod bounded;
mod conformance;
mod export;
mod files;
mod guarded;
mod keep;
mod recorded;
mod records;
#[path = "../../../tx-sender/tests/it/conformance.rs"]
mod signer_conformance;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256};
use custody::{Custody as _, CustodyError, LocalCustody, Owner, Purpose, lend};
use tx_sender::{Fees, Unsigned};

use crate::conformance::{ALICE, BOB};

const SECRET: &str = "correct horse battery staple";

fn open(folder: &tempfile::TempDir, secret: &str) -> Result<LocalCustody, CustodyError> {
    LocalCustody::open_weakly_stretched(&folder.path().join("wallets"), secret.into())
}

/// The file of an owner in this folder.
fn file(folder: &Path, owner: Owner) -> PathBuf {
    let (chain_id, address) = (owner.chain_id(), owner.address());
    folder.join(format!("eip155-{chain_id}-{address:#x}.json"))
}

/// Writes a file that only its owner may read.
fn put(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
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

/// Anyone may ask for the owner of an address. Questions about a wallet or about an unknown address
/// read no file twice: the files here have become unreadable since.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_an_address_costs_no_file() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wallets");
    let address = |number: u64| Address::from_word(U256::from(number + 1).into());
    let owner = |number: u64| Owner::new(196, address(number));
    let other = open(&folder, SECRET).unwrap();
    let mut wallets = Vec::new();
    for number in 0..50 {
        wallets.push(other.get_or_create(owner(number)).await.unwrap());
    }
    let custody = open(&folder, SECRET).unwrap();
    let unreadable = fs::Permissions::from_mode(0o644);
    for number in 0..50 {
        // Every later read of the file fails.
        fs::set_permissions(file(&path, owner(number)), unreadable.clone()).unwrap();
    }
    for wallet in &wallets {
        assert_eq!(custody.wallet_at(wallet.owner.address()).await, Ok(None));
        assert_eq!(custody.wallet_at(wallet.address).await, Ok(Some(*wallet)));
    }
    let refused = custody.find(owner(7)).await.unwrap_err();
    assert_eq!(refused.code(), "custody_permissions");
    // A wallet that another process has made since is found, and the custody reads only its file.
    let late = other.get_or_create(BOB).await.unwrap();
    assert_eq!(custody.wallet_at(late.address).await, Ok(Some(late)));
    assert_eq!(
        custody.wallet_at(wallets[3].address).await,
        Ok(Some(wallets[3]))
    );
}
