//! Tests with encrypted key files that other programs have written.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use alloy_primitives::{Address, address};
use tempfile::TempDir;
use tx_sender::{KeyFileError, LocalKey, TransactionSigner as _};

use crate::conformance::conforms;

/// The files that `cast wallet import` and eth-account have written for the same account.
const FILES: [(&str, &str); 3] = [
    (
        "cast",
        include_str!("../../../../fixtures/keystores/cast.json"),
    ),
    (
        "eth-account",
        include_str!("../../../../fixtures/keystores/eth-account.json"),
    ),
    (
        "eth-account, PBKDF2",
        include_str!("../../../../fixtures/keystores/eth-account-pbkdf2.json"),
    ),
];
const ACCOUNT: Address = address!("0x70997970C51812dc3A010C7d01b50e0d17dc79C8");
const PASSWORD: &str = "correct horse";

fn write(text: &str, mode: u32) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.json");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    (folder, path)
}

fn open(text: &str, password: &str) -> Result<LocalKey, KeyFileError> {
    let (_folder, path) = write(text, 0o600);
    LocalKey::from_keystore(&path, &password.into())
}

#[tokio::test]
async fn files_of_other_programs_are_opened() {
    for (name, text) in FILES {
        let key = open(text, PASSWORD).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(key.account(), ACCOUNT, "{name}");
        conforms(&key).await;
    }
}

#[test]
fn another_password_opens_nothing() {
    let wrong = open(FILES[0].1, "correct horse ").unwrap_err();
    assert_eq!(wrong.code(), "keystore_password");
    let empty = open("{}", PASSWORD).unwrap_err();
    assert_eq!(empty.code(), "keystore_malformed");
}

#[test]
fn a_file_that_others_may_read_is_refused() {
    for mode in [0o644, 0o640, 0o602, 0o700] {
        let (_folder, path) = write(FILES[0].1, mode);
        let refused = LocalKey::from_keystore(&path, &PASSWORD.into()).unwrap_err();
        let (expected, observed) = (0o600, mode);
        assert_eq!(refused, KeyFileError::Permissions { expected, observed });
    }
    let (_folder, path) = write(FILES[0].1, 0o400);
    assert!(LocalKey::from_keystore(&path, &PASSWORD.into()).is_ok());
}

#[test]
fn no_error_repeats_the_path() {
    let path = PathBuf::from("/nowhere/secret-place");
    let error = LocalKey::from_keystore(&path, &PASSWORD.into()).unwrap_err();
    assert_eq!(
        error,
        KeyFileError::Unreadable {
            kind: ErrorKind::NotFound
        }
    );
    assert!(!error.to_string().contains("secret-place"));
}
