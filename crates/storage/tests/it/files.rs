//! Tests of the files on disk: their place, their access rights, and their content after a crash.

use std::fs;

use storage::{ServerStore, SqliteStore, StoreOptions};

use crate::support::{Bench, NOW, artifact, record};

/// At every moment, without a shutdown, the files on disk are a store with every write that
/// returned `Ok`.
#[tokio::test]
async fn a_crash_loses_no_write_that_was_answered() {
    let bench = Bench::in_file();
    let store = bench.open();
    let image = artifact("image", NOW + 10);
    store.keep(image.clone(), NOW).await.unwrap();
    store.publish("news", record(NOW, "news")).await.unwrap();
    assert!(store.lease("job", "a", NOW, 30).await.unwrap());

    // A machine that loses power now would find the file and its log, without the index of the log.
    let crashed = Bench::in_file();
    let log = |path: std::path::PathBuf| path.with_extension("db-wal");
    fs::copy(bench.path(), crashed.path()).unwrap();
    fs::copy(log(bench.path()), log(crashed.path())).unwrap();

    let after = crashed.open();
    assert_eq!(after.artifact(image.sha256(), NOW).await, Ok(Some(image)));
    assert_eq!(after.latest("news").await, Ok(Some(record(NOW, "news"))));
    assert_eq!(after.lease("job", "b", NOW, 30).await, Ok(false));
}

/// An installation of an earlier version, whose server was killed, keeps all its data.
#[tokio::test]
async fn a_file_with_the_name_of_earlier_versions_is_renamed() {
    let bench = Bench::in_file();
    let store = bench.open();
    let image = artifact("image", NOW + 10);
    store.keep(image.clone(), NOW).await.unwrap();

    let earlier = Bench::in_file();
    let folder = earlier.path().parent().unwrap().to_owned();
    for end in ["db", "db-wal"] {
        let name = bench.path().with_extension(end);
        fs::copy(name, folder.join(format!("service.shelf.{end}"))).unwrap();
    }
    for _start in 0..2 {
        let after = earlier.open();
        assert_eq!(
            after.artifact(image.sha256(), NOW).await,
            Ok(Some(image.clone()))
        );
        assert!(earlier.path().exists());
        assert!(!folder.join("service.shelf.db").exists());
    }
}

/// When the log ends in the middle of a commit, that commit is lost, and nothing before it.
#[tokio::test]
async fn a_torn_write_has_no_effect() {
    let bench = Bench::in_file();
    let store = bench.open();
    store.publish("news", record(NOW, "before")).await.unwrap();
    let log = |path: std::path::PathBuf| path.with_extension("db-wal");
    let before = fs::metadata(log(bench.path())).unwrap().len();
    let long = "x".repeat(20_000);
    store.publish("news", record(NOW + 1, &long)).await.unwrap();
    let whole = fs::read(log(bench.path())).unwrap();
    let torn = usize::try_from(before).unwrap() + 9_000;
    assert!(torn < whole.len());

    let crashed = Bench::in_file();
    fs::copy(bench.path(), crashed.path()).unwrap();
    fs::write(log(crashed.path()), &whole[..torn]).unwrap();
    let after = crashed.open();
    assert_eq!(after.latest("news").await, Ok(Some(record(NOW, "before"))));
    after
        .publish("news", record(NOW + 1, "again"))
        .await
        .unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn other_users_can_read_none_of_its_files() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::in_file();
    let store = bench.open();
    store.publish("news", record(NOW, "news")).await.unwrap();
    let mut files = 0;
    for file in fs::read_dir(bench.path().parent().unwrap()).unwrap() {
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
        files += 1;
    }
    assert_eq!(files, 3, "the file, its log, the index of the log");
}

#[test]
fn a_store_of_one_server_refuses_a_second_one() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite://{}", folder.path().join("data/rail.db").display());
    let open = || SqliteStore::open_alone(&address, StoreOptions::default());
    let first = open().unwrap();
    assert_eq!(open().unwrap_err().code(), "database_in_use");
    drop(first);
    drop(open().unwrap());
}

#[test]
fn a_store_is_beside_its_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let check = |ledger: &str, store: &str| {
        let ledger = format!("sqlite://{}", folder.path().join(ledger).display());
        drop(SqliteStore::beside(&ledger, StoreOptions::default()).unwrap());
        assert!(folder.path().join(store).exists(), "{ledger}");
    };
    check("service.db", "service.store.db");
    check("data/service", "data/service.store.db");
    check("data.d/service.v2.sqlite", "data.d/service.v2.store.db");
    let refused = SqliteStore::beside("postgres://user:secret@host/db", StoreOptions::default());
    assert_eq!(refused.unwrap_err().code(), "database_unsupported_address");
}

#[test]
fn a_folder_that_cannot_be_created_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    let store = SqliteStore::open(file.join("service.store.db"), StoreOptions::default());
    assert_eq!(store.unwrap_err().code(), "database_cannot_open");
}
