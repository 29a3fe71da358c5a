//! Encrypted key files, as other programs write them.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use dev_chain::{BUYER, GAS_PAYER};
use serde_json::{Value, json};
use tempfile::TempDir;
use tx_sender::{KeystoreError, LocalKey, TransactionSigner as _};

use crate::signers::conforms;

/// Written by `cast wallet import` and by eth-account, for the account that pays the gas in these tests.
const FILES: [(&str, &str); 3] = [
    ("cast", include_str!("keystore/cast.json")),
    (
        "eth-account",
        include_str!("keystore/eth-account-scrypt.json"),
    ),
    (
        "eth-account, PBKDF2",
        include_str!("keystore/eth-account-pbkdf2.json"),
    ),
];
const PASSWORD: &str = "correct horse";

fn write(text: &str, mode: u32) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.json");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    (folder, path)
}

fn open(text: &str, password: &str) -> Result<LocalKey, KeystoreError> {
    let (_folder, path) = write(text, 0o600);
    LocalKey::from_keystore(&path, &password.into())
}

/// The file of `cast` with another value at a pointer; every change must be noticed.
fn changed(pointer: &str, value: Value) -> KeystoreError {
    let mut file: Value = serde_json::from_str(FILES[0].1).unwrap();
    *file.pointer_mut(pointer).unwrap() = value;
    open(&file.to_string(), PASSWORD).unwrap_err()
}

#[tokio::test]
async fn files_of_other_programs_are_opened() {
    for (name, text) in FILES {
        let key = open(text, PASSWORD).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(key.account(), GAS_PAYER.address, "{name}");
        conforms(&key).await;
    }
}

#[test]
fn another_password_opens_nothing() {
    let wrong = open(FILES[0].1, "correct horse ").unwrap_err();
    assert_eq!(
        (wrong.code(), &wrong),
        ("keystore_password", &KeystoreError::Password)
    );
}

#[test]
fn a_file_that_others_may_read_is_refused() {
    for mode in [0o644, 0o640, 0o602, 0o700] {
        let (_folder, path) = write(FILES[0].1, mode);
        let refused = LocalKey::from_keystore(&path, &PASSWORD.into()).unwrap_err();
        let (expected, observed) = (0o600, mode);
        assert_eq!(refused, KeystoreError::Permissions { expected, observed });
    }
    let (_folder, path) = write(FILES[0].1, 0o400);
    assert!(LocalKey::from_keystore(&path, &PASSWORD.into()).is_ok());
}

#[test]
fn what_is_changed_is_noticed() {
    let member = |error: KeystoreError| match error {
        KeystoreError::Format { member } => member,
        other => panic!("{other:?}"),
    };
    assert_eq!(member(changed("/version", json!(2))), "version");
    assert_eq!(
        member(changed("/crypto/cipher", json!("aes-128-cbc"))),
        "cipher"
    );
    assert_eq!(member(changed("/crypto/kdf", json!("argon2id"))), "kdf");
    for iv in ["ab", ""] {
        assert_eq!(
            member(changed("/crypto/cipherparams/iv", json!(iv))),
            "cipherparams"
        );
    }
    for (parameter, value) in [
        // Would take a terabyte.
        ("n", json!(1_u64 << 30)),
        ("n", json!(8191)),
        ("n", json!(1)),
        ("r", json!(0)),
        ("p", json!(17)),
        ("dklen", json!(16)),
    ] {
        let pointer = format!("/crypto/kdfparams/{parameter}");
        assert_eq!(member(changed(&pointer, value)), "kdfparams", "{parameter}");
    }
    let digits = |first: char| json!(format!("{first}{}", "1".repeat(63)));
    for pointer in ["/crypto/mac", "/crypto/ciphertext"] {
        assert_eq!(
            changed(pointer, digits('0')),
            KeystoreError::Password,
            "{pointer}"
        );
    }
    assert_eq!(
        changed("/crypto/kdfparams/n", json!(4096)),
        KeystoreError::Password
    );
    assert_eq!(open("{}", PASSWORD).unwrap_err().code(), "keystore_format");
    let mut named: Value = serde_json::from_str(FILES[2].1).unwrap();
    named["address"] = json!(BUYER.address);
    let (expected, observed) = (BUYER.address, GAS_PAYER.address);
    assert_eq!(
        open(&named.to_string(), PASSWORD).unwrap_err(),
        KeystoreError::OtherAccount { expected, observed }
    );
}

#[test]
fn no_error_repeats_the_path() {
    let path = PathBuf::from("/nowhere/secret-place");
    let error = LocalKey::from_keystore(&path, &PASSWORD.into()).unwrap_err();
    assert_eq!(
        error,
        KeystoreError::Unreadable {
            kind: ErrorKind::NotFound
        }
    );
    assert!(!error.to_string().contains("secret-place"));
}
