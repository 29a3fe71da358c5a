//! An owner takes a wallet out: its key signs nothing any more, here and under every other secret.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use alloy_primitives::{Address, B256, Bytes, address, hex};
use custody::{
    Custody, CustodyError, Export, ExportRefusal, ExportRequest, LocalCustody, Owner, Purpose,
    Subject, lend,
};
use hpke::aead::ChaCha20Poly1305;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::{Deserializable as _, Kem, OpModeR, Serializable as _, single_shot_open};
use keystore::Key;
use tx_sender::{Fees, SignError};

use crate::conformance::{ALICE, BOB};
use crate::{SECRET, open, unsigned};

const BRAND: &str = "example";

/// The account of the development phrase with the number 1: the key of ALICE.
const OWNER_KEY: &str = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_secs()
}

type Keys = (
    <X25519HkdfSha256 as Kem>::PrivateKey,
    <X25519HkdfSha256 as Kem>::PublicKey,
);

/// The owner's pair for this export.
fn pair(number: u8) -> Keys {
    let (secret, public) = X25519HkdfSha256::derive_keypair(&[number; 32]);
    (secret, public)
}

fn request(wallet: Address, keys: &Keys, issued_at: u64) -> ExportRequest {
    let mut request = ExportRequest {
        owner: ALICE,
        wallet,
        public_key: B256::from_slice(&keys.1.to_bytes()),
        issued_at,
        signature: Bytes::new(),
    };
    let key = Key::from_text(OWNER_KEY).unwrap();
    request.signature = key.sign(request.digest(BRAND)).unwrap().to_vec().into();
    request
}

/// The owner's decryption.
fn opened(export: &Export, keys: &Keys) -> Key {
    decrypted(export, keys).unwrap()
}

/// The key in a document, if the document is as it was written.
fn decrypted(export: &Export, keys: &Keys) -> Option<Key> {
    let lines = [
        export.format.to_owned(),
        export.owner.clone(),
        format!("{:#x}", export.wallet),
        format!("{:#x}", export.request),
    ];
    let about = lines.map(|line| line + "\n").concat();
    let enc = <X25519HkdfSha256 as Kem>::EncappedKey::from_bytes(&export.enc).unwrap();
    let bytes = single_shot_open::<ChaCha20Poly1305, HkdfSha256, X25519HkdfSha256>(
        &OpModeR::Base,
        &keys.0,
        &enc,
        export.format.as_bytes(),
        &export.ciphertext,
        about.as_bytes(),
    );
    Key::from_bytes(&bytes.ok()?).ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exported_wallet_is_its_owners_and_signs_nothing_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let custody = open(&folder, SECRET).unwrap();
    let alice = custody.get_or_create(ALICE).await.unwrap();
    // A running server has the key opened.
    let server = Arc::new(open(&folder, SECRET).unwrap());
    let signer = lend(server.clone(), alice.address, Purpose::FencedPlan);
    let asked = unsigned(Fees::Legacy { price: 9 });
    assert!(signer.sign(&asked).await.is_ok());

    let keys = pair(1);
    let granted = request(alice.address, &keys, now());
    let export = custody
        .export(granted.clone(), BRAND.to_owned())
        .await
        .unwrap();
    assert_eq!(opened(&export, &keys).address(), alice.address);
    // What is sealed for one owner and wallet opens as no other's.
    let (owner, wallet) = (
        "eip155:1:0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        BOB.address(),
    );
    for changed in [
        Export {
            owner: owner.to_owned(),
            ..export.clone()
        },
        Export {
            wallet,
            ..export.clone()
        },
        Export {
            request: B256::ZERO,
            ..export.clone()
        },
        Export {
            format: "wallet-export-1",
            ..export.clone()
        },
    ] {
        assert!(decrypted(&changed, &keys).is_none(), "{changed:?}");
    }

    // The server that had the key opened also refuses from now on, and says why.
    let message = "custody_wallet_exported".to_owned();
    assert_eq!(
        signer.sign(&asked).await,
        Err(SignError::Refused { message })
    );
    let refused = custody.sign(
        alice.address,
        Subject::Transaction(&asked),
        Purpose::FencedPlan,
    );
    assert_eq!(refused.await, Err(CustodyError::Exported(alice.address)));
    let exported = custody::Wallet {
        exported: true,
        ..alice
    };
    for process in [&custody, &*server, &open(&folder, SECRET).unwrap()] {
        assert_eq!(process.get_or_create(ALICE).await, Ok(exported));
        assert_eq!(process.find(ALICE).await, Ok(Some(exported)));
        assert_eq!(process.wallet_at(alice.address).await, Ok(Some(exported)));
    }
    let listed = custody.list().await.unwrap();
    assert!(listed[0].exported_at.unwrap() >= granted.issued_at);

    // The same request gets the same answer, however old it is by then; another key of the owner
    // gets another answer.
    let again = custody.export(granted, BRAND.to_owned()).await.unwrap();
    assert_eq!(again, export);
    let keys = pair(2);
    let other = request(alice.address, &keys, now());
    let other = custody.export(other, BRAND.to_owned()).await.unwrap();
    assert_ne!(other.ciphertext, export.ciphertext);
    assert_eq!(opened(&other, &keys).address(), alice.address);
    assert_eq!(custody.list().await.unwrap(), listed);

    // A rotation to another secret keeps the mark.
    drop((custody, server, signer));
    let alone = LocalCustody::open_alone(&folder.path().join("wallets"), SECRET.into()).unwrap();
    let to = folder.path().join("rotated");
    drop(LocalCustody::open_weakly_stretched(&to, "another".into()).unwrap());
    alone.rotate(&to, "another".into()).await.unwrap();
    let rotated = LocalCustody::open(&to, "another".into()).unwrap();
    assert_eq!(rotated.find(ALICE).await, Ok(Some(exported)));
    assert_eq!(rotated.list().await.unwrap(), listed);
    let refused = rotated.sign(
        alice.address,
        Subject::Transaction(&asked),
        Purpose::FencedPlan,
    );
    assert_eq!(refused.await, Err(CustodyError::Exported(alice.address)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_export_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let custody = open(&folder, SECRET).unwrap();
    let alice = custody.get_or_create(ALICE).await.unwrap();
    let keys = pair(1);
    let good = request(alice.address, &keys, now());
    let elsewhere = Address::repeat_byte(7);
    let bob = address!("3C44CdDdB6a900fa2b585dd299e03d12FA4293BC");
    let mut high = good.signature.to_vec();
    // The other form of the same signature: `n - s`, and the other parity.
    let order = alloy_primitives::U256::from_be_slice(&hex!(
        "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
    ));
    let s = alloy_primitives::U256::from_be_slice(&high[32..64]);
    high[32..64].copy_from_slice(&(order - s).to_be_bytes::<32>());
    high[64] = 55 - high[64];
    let zero = (pair(1).0, pair(1).1);
    let mut low_order = request(alice.address, &zero, now());
    low_order.public_key = B256::ZERO;
    let key = Key::from_text(OWNER_KEY).unwrap();
    low_order.signature = key.sign(low_order.digest(BRAND)).unwrap().to_vec().into();
    let cases = [
        (
            ExportRequest {
                wallet: elsewhere,
                ..good.clone()
            },
            "wallet_export_other_signer",
        ),
        (
            ExportRequest {
                public_key: B256::repeat_byte(1),
                ..good.clone()
            },
            "wallet_export_other_signer",
        ),
        (
            ExportRequest {
                owner: Owner::new(196, bob),
                ..good.clone()
            },
            "wallet_export_other_signer",
        ),
        (
            ExportRequest {
                owner: Owner::new(1, ALICE.address()),
                ..good.clone()
            },
            "wallet_export_other_signer",
        ),
        (
            ExportRequest {
                signature: Bytes::new(),
                ..good.clone()
            },
            "wallet_export_contract_owner",
        ),
        (
            ExportRequest {
                signature: vec![1; 130].into(),
                ..good.clone()
            },
            "wallet_export_contract_owner",
        ),
        (
            ExportRequest {
                signature: vec![0xff; 65].into(),
                ..good.clone()
            },
            "wallet_export_signature",
        ),
        (
            ExportRequest {
                signature: high.into(),
                ..good.clone()
            },
            "wallet_export_signature",
        ),
        (
            request(elsewhere, &keys, now()),
            "wallet_export_other_wallet",
        ),
        (
            request(alice.address, &keys, now() - 8 * 86_400),
            "wallet_export_expired",
        ),
        (
            request(alice.address, &keys, now() + 3_600),
            "wallet_export_issued_later",
        ),
        (low_order, "wallet_export_public_key"),
    ];
    for (request, code) in cases {
        let refused = custody.export(request, BRAND.to_owned()).await.unwrap_err();
        assert_eq!(refused.code(), code);
    }
    // The request is signed for another service.
    let refused = custody
        .export(good.clone(), "another".to_owned())
        .await
        .unwrap_err();
    assert_eq!(refused.code(), "wallet_export_other_signer");
    for text in ["", "{}", r#"{"owner":"alice"}"#] {
        let refused = text.parse::<ExportRequest>().unwrap_err();
        assert!(matches!(refused, ExportRefusal::Malformed(_)), "{refused}");
    }
    let asked = unsigned(Fees::Legacy { price: 9 });
    let signed = custody.sign(
        alice.address,
        Subject::Transaction(&asked),
        Purpose::FencedPlan,
    );
    assert!(signed.await.is_ok());
    assert_eq!(custody.list().await.unwrap()[0].exported_at, None);

    // An unreadable mark still counts.
    let mark = format!("exported-eip155-196-{:#x}.json", ALICE.address());
    let mark = folder.path().join("wallets").join(mark);
    std::fs::write(&mark, "damaged").unwrap();
    let refused = custody.sign(
        alice.address,
        Subject::Transaction(&asked),
        Purpose::FencedPlan,
    );
    assert_eq!(refused.await, Err(CustodyError::Exported(alice.address)));
}
