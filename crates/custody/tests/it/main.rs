//! The local provider through its port. Each key that is made or opened takes a second: few are.
#![allow(clippy::unwrap_used, missing_docs, reason = "test code")]

mod guarded;
mod keep;

use std::fs;
use std::sync::Arc;

use alloy_dyn_abi::TypedData;
use alloy_primitives::{Address, Bytes, U256, address};
use custody::{Custody, CustodyError, LocalCustody, Owner, Purpose, Subject, lend};
use serde_json::json;
use tx_sender::{Fees, TransactionSigner, Unsigned, check};

const ALICE: Owner = Owner::new(196, address!("70997970C51812dc3A010C7d01b50e0d17dc79C8"));
const BOB: Owner = Owner::new(196, address!("3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"));
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

/// What the sender asks of every signer: both kinds of transactions come back as they were asked for, and pass its check.
async fn conforms(signer: &dyn TransactionSigner) {
    for fees in [Fees::Dynamic { max: 30, tip: 2 }, Fees::Legacy { price: 9 }] {
        let asked = unsigned(fees);
        let raw = signer.sign(&asked).await.unwrap();
        assert_eq!(check(&raw, &asked, signer.account()).unwrap().raw, raw);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_has_one_wallet_and_nobody_elses() {
    let folder = tempfile::tempdir().unwrap();
    let custody = open(&folder, SECRET).unwrap();
    // Another process on the same folder.
    let beside = open(&folder, SECRET).unwrap();
    assert_eq!(custody.find(ALICE).await, Ok(None));

    let asked = [&custody, &beside, &custody, &beside].map(|custody| {
        let custody = custody.clone();
        tokio::spawn(async move { custody.get_or_create(ALICE).await.unwrap() })
    });
    let mut wallets = Vec::new();
    for task in asked {
        wallets.push(task.await.unwrap());
    }
    let alice = wallets[0];
    assert!(wallets.iter().all(|wallet| *wallet == alice), "{wallets:?}");
    assert_eq!(alice.owner, ALICE);

    let bob = custody.get_or_create(BOB).await.unwrap();
    assert_ne!(alice.address, bob.address);
    // One process made it, the other one finds it by its address.
    assert_eq!(beside.wallet_at(bob.address).await, Ok(Some(bob)));
    assert_eq!(beside.wallet_at(Address::ZERO).await, Ok(None));

    // After a restart as before.
    let again = open(&folder, SECRET).unwrap();
    assert_eq!(again.wallet_at(alice.address).await, Ok(Some(alice)));
    assert_eq!(again.get_or_create(ALICE).await, Ok(alice));

    let attested = again.attest(ALICE).await.unwrap().unwrap();
    assert!(
        attested
            .statement
            .ends_with("not in a trusted execution environment")
    );
    assert!(!attested.wallet.provider.is_trusted_environment());
    assert_eq!(attested.evidence, None);

    conforms(&*lend(
        Arc::new(again.clone()),
        alice.address,
        Purpose::FencedPlan,
    ))
    .await;
    let unknown = lend(Arc::new(again), Address::ZERO, Purpose::FencedPlan);
    let fees = Fees::Legacy { price: 9 };
    let refused = unknown.sign(&unsigned(fees)).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
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
    // Also where the check is lost: a wallet is the check.
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
    // One owner's file in another one's place.
    fs::write(&file, &whole).unwrap();
    let place = path.join(format!("eip155-196-{:#x}.json", BOB.address()));
    fs::copy(&file, &place).unwrap();
    let refused = custody.get_or_create(BOB).await.unwrap_err();
    assert_eq!(refused.code(), "custody_other_owner");
    assert_eq!(custody.get_or_create(ALICE).await, Ok(alice));
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_data_is_signed_as_its_standard_says_and_not_by_a_bare_hash() {
    let folder = tempfile::tempdir().unwrap();
    let custody = open(&folder, SECRET).unwrap();
    let wallet = custody.get_or_create(ALICE).await.unwrap();
    let typed_data: TypedData = serde_json::from_value(json!({
        "types": {
            "EIP712Domain": [{"name": "name", "type": "string"}, {"name": "chainId", "type": "uint256"}],
            "Note": [{"name": "text", "type": "string"}],
        },
        "primaryType": "Note",
        "domain": {"name": "test", "chainId": 8453},
        "message": {"text": "hello"},
    }))
    .unwrap();
    let subject = Subject::TypedData(&typed_data);
    let signature = custody
        .sign(wallet.address, subject, Purpose::FencedPlan)
        .await
        .unwrap();
    let digest = typed_data.eip712_signing_hash().unwrap();
    assert_eq!(
        signature.recover_address_from_prehash(&digest).unwrap(),
        wallet.address
    );
}

/// Anybody may ask whose an address is. Neither the question about a wallet nor the one about an address of nobody's reads a file that was read before,
/// and neither opens a key: the files here are unreadable, and open under no secret.
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
    // A file like hers, with an address of its own and a key that its address is not of.
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
        // Whoever reads it from now on is refused.
        let owner = Owner::new(196, address(number));
        fs::set_permissions(name(owner), fs::Permissions::from_mode(0o644)).unwrap();
    }
    for number in 0..100 {
        assert_eq!(custody.wallet_at(address(number + 50_000)).await, Ok(None));
        let found = custody.wallet_at(wallet(number)).await.unwrap().unwrap();
        assert_eq!(found.owner, Owner::new(196, address(number)));
    }
    // A wallet that another process made since is found, and only its file is read.
    let owner = put(777);
    let found = custody.wallet_at(wallet(777)).await.unwrap().unwrap();
    assert_eq!(found.owner, owner);
    assert_eq!(custody.wallet_at(alice.address).await, Ok(Some(alice)));
}
