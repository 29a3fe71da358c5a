//! Tests of the files on disk: who may use and read them, and what is wrong with them.

use std::{fs, path::Path};

use ledger::{AnyLedger, LedgerError, Options, SqliteLedger, State};
use storage::{SqliteStore, StoreOptions};

use crate::support::{Bench, NOW, OPTIONS, bring, pay};

fn open(path: &Path) -> Result<SqliteLedger, LedgerError> {
    SqliteLedger::open(path.to_str().unwrap(), Options::default())
}

/// The names of the files in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let name = |file: std::io::Result<fs::DirEntry>| file.unwrap().file_name().into_string();
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|file| name(file).unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_second_server_on_the_same_file_is_refused_by_name() {
    let ledger = Bench::in_file(OPTIONS);
    let path = fs::canonicalize(ledger.path()).unwrap();
    assert_eq!(
        open(&path).unwrap_err(),
        LedgerError::InUse { path: path.clone() }
    );
    drop(ledger);
}

#[test]
fn a_url_and_a_missing_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/deep/service.db");
    drop(SqliteLedger::open(&format!("sqlite://{}", path.display()), Options::default()).unwrap());
    assert!(path.is_file());
}

#[cfg(unix)]
#[tokio::test]
async fn other_users_may_read_none_of_its_files() {
    use std::os::unix::fs::PermissionsExt;
    let ledger = Bench::in_file(OPTIONS);
    bring(&ledger, 1, State::Settled).await;
    let folder = ledger.folder.path();
    let names = names(folder);
    assert_eq!(
        names,
        [
            "service.db",
            "service.db-shm",
            "service.db-wal",
            "service.db.lock"
        ]
    );
    for name in names {
        let mode = fs::metadata(folder.join(&name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "{name}");
    }
}

#[tokio::test]
async fn a_closed_ledger_is_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("service.db");
    let ledger = AnyLedger::Sqlite(open(&path).unwrap());
    pay(&ledger, 1, NOW).await.unwrap();
    drop(ledger);
    assert_eq!(names(folder.path()), ["service.db", "service.db.lock"]);
}

#[test]
fn a_damaged_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(folder.path()).unwrap().join("service.db");
    drop(open(&path).unwrap());
    let whole = fs::read(&path).unwrap();
    // The damage is noise over the header, noise over the table of contents, or a file that ends in
    // the middle.
    let mut header = whole.clone();
    header[..100].fill(0x5a);
    let mut contents = whole.clone();
    contents[100..4096].fill(0x5a);
    let cut = whole[..5000].to_vec();
    for damaged in [header, contents, cut] {
        fs::write(&path, damaged).unwrap();
        assert_eq!(
            open(&path).unwrap_err(),
            LedgerError::Damaged { path: path.clone() }
        );
    }
}

/// The store next to a ledger is another file. Neither opens as the other.
#[test]
fn a_store_is_no_ledger_and_a_ledger_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let (ledger, store) = (folder.path().join("a.db"), folder.path().join("b.db"));
    drop(open(&ledger).unwrap());
    drop(SqliteStore::open(store.clone(), StoreOptions::default()).unwrap());
    assert_eq!(open(&store).unwrap_err().code(), "ledger_foreign_file");
    let refused = SqliteStore::open(ledger, StoreOptions::default()).unwrap_err();
    assert_eq!(refused.code(), "database_foreign_file");
}

#[test]
fn a_folder_is_not_a_ledger() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        open(folder.path()).unwrap_err().code(),
        "ledger_cannot_open"
    );
}
