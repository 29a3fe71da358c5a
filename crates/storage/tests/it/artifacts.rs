//! Tests of artifacts: they are found by their content, kept for a time, and bounded.

use alloy_primitives::B256;
use storage::sqlite::DatabaseError;
use storage::{Artifact, ServerStore, StoreError, StoreOptions};

use crate::support::{Bench, NOW, artifact};

#[tokio::test]
async fn an_artifact_is_read_by_every_instance_and_after_a_restart() {
    let bench = Bench::new();
    let (a, b) = (bench.open(), bench.open());
    let image = artifact("image", NOW + 10);
    a.keep(image.clone(), NOW).await.unwrap();
    assert_eq!(
        b.artifact(image.sha256(), NOW).await.unwrap(),
        Some(image.clone())
    );
    assert_eq!(b.artifact(B256::ZERO, NOW).await.unwrap(), None);
    drop((a, b));
    assert_eq!(
        bench
            .open()
            .artifact(image.sha256(), NOW + 9)
            .await
            .unwrap(),
        Some(image)
    );
}

#[tokio::test]
async fn an_expired_artifact_is_gone_before_and_after_pruning() {
    let bench = Bench::new();
    let store = bench.open();
    let (short, long) = (artifact("short", NOW + 10), artifact("long", NOW + 20));
    store.keep(short.clone(), NOW).await.unwrap();
    store.keep(long.clone(), NOW).await.unwrap();
    assert_eq!(store.artifact(short.sha256(), NOW + 10).await, Ok(None));
    assert_eq!(store.prune(NOW + 9).await, Ok(0));
    assert_eq!(store.prune(NOW + 10).await, Ok(1));
    assert_eq!(store.prune(NOW + 10).await, Ok(0));
    // The artifact is deleted and not only hidden: it does not come back when the clock goes back.
    assert_eq!(store.artifact(short.sha256(), NOW).await, Ok(None));
    assert_eq!(
        store.artifact(long.sha256(), NOW + 10).await,
        Ok(Some(long))
    );
}

#[tokio::test]
async fn an_artifact_stored_twice_stays_until_the_later_time_and_takes_its_room_once() {
    let bench = Bench::new();
    let store = bench.open_with(StoreOptions {
        max_artifact_bytes: 5,
    });
    let image = artifact("image", NOW + 20);
    for expires_at in [NOW + 10, NOW + 20, NOW + 15] {
        store
            .keep(artifact("image", expires_at), NOW)
            .await
            .unwrap();
    }
    assert_eq!(
        store.artifact(image.sha256(), NOW + 19).await,
        Ok(Some(image))
    );
}

#[tokio::test]
async fn a_full_store_refuses_and_loses_nothing() {
    let bench = Bench::new();
    let store = bench.open_with(StoreOptions {
        max_artifact_bytes: 8,
    });
    let first = artifact("12345", NOW + 10);
    store.keep(first.clone(), NOW).await.unwrap();
    assert_eq!(
        store.keep(artifact("6789", NOW + 10), NOW).await,
        Err(StoreError::ArtifactsFull {
            expected: 8,
            observed: 9,
        })
    );
    assert_eq!(store.artifact(first.sha256(), NOW).await, Ok(Some(first)));
    // Artifacts that fit are still stored. Expired artifacts make room.
    store.keep(artifact("678", NOW + 20), NOW).await.unwrap();
    store
        .keep(artifact("abcde", NOW + 20), NOW + 10)
        .await
        .unwrap();
}

#[tokio::test]
async fn changed_bytes_are_not_served() {
    let bench = Bench::in_file();
    let store = bench.open();
    let image = artifact("image", NOW + 10);
    store.keep(image.clone(), NOW).await.unwrap();
    rusqlite::Connection::open(bench.path())
        .unwrap()
        .execute("UPDATE artifact SET body = x'00'", [])
        .unwrap();
    assert_eq!(
        store.artifact(image.sha256(), NOW).await,
        Err(DatabaseError::Damaged { path: bench.path() }.into())
    );
}

#[test]
fn bytes_with_another_digest_do_not_become_an_artifact() {
    let right = artifact("image", NOW).sha256();
    let wrong = Artifact::checked(right, "image/png", "other".into(), NOW);
    assert_eq!(wrong.unwrap_err().code(), "store_digest_mismatch");
}

#[tokio::test]
async fn pruning_also_deletes_expired_leases() {
    let bench = Bench::in_file();
    let store = bench.open();
    assert!(store.lease("job", "a", NOW, 30).await.unwrap());
    store.prune(NOW + 30).await.unwrap();
    let left: u32 = rusqlite::Connection::open(bench.path())
        .unwrap()
        .query_row("SELECT count(*) FROM lease", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn has_room_answers_before_anything_is_stored_and_leaves_the_room_free() {
    let bench = Bench::in_file();
    let store = bench.open_with(StoreOptions {
        max_artifact_bytes: 4 << 20,
    });
    store.has_room(4 << 20, NOW).await.unwrap();
    store.keep(artifact("1", NOW + 10), NOW).await.unwrap();
    assert_eq!(
        store.has_room(4 << 20, NOW).await,
        Err(StoreError::ArtifactsFull {
            expected: 4 << 20,
            observed: (4 << 20) + 1,
        })
    );
    // Expired artifacts make room, and the bytes that were tried are gone.
    store.has_room(4 << 20, NOW + 10).await.unwrap();
    let left: u32 = rusqlite::Connection::open(bench.path())
        .unwrap()
        .query_row("SELECT count(*) FROM artifact", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
}
