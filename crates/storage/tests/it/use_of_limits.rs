//! Tests of the use of windows, and of the levels of amounts that refill. Both survive restarts and
//! are bounded.

use storage::{Level, ServerStore};

use crate::support::{Bench, NOW};

#[tokio::test]
async fn the_use_of_a_window_survives_a_restart_as_long_as_the_window_contains_it() {
    let bench = Bench::new();
    let store = bench.open();
    for (slice, weight) in [(NOW, 2), (NOW, 3), (NOW + 120, 1)] {
        store.use_window("a", slice, weight, NOW).await.unwrap();
    }
    store.use_window("b", NOW, 9, NOW).await.unwrap();
    drop(store);
    let store = bench.open();
    let used = vec![(NOW, 5), (NOW + 120, 1)];
    assert_eq!(store.window_use("a", NOW).await, Ok(used));
    let later = store.window_use("a", NOW + 1).await;
    assert_eq!(later, Ok(vec![(NOW + 120, 1)]));
    // The next use deletes the slices that no window contains any more.
    store
        .use_window("a", NOW + 240, 4, NOW + 120)
        .await
        .unwrap();
    let left = vec![(NOW + 120, 1), (NOW + 240, 4)];
    assert_eq!(store.window_use("a", 0).await, Ok(left));
    // Pruning deletes a window that nobody uses any more.
    store.prune(NOW + 2 * 86_400 + 1).await.unwrap();
    assert_eq!(store.window_use("b", 0).await, Ok(Vec::new()));
}

#[tokio::test]
async fn levels_are_replaced_and_their_number_is_bounded() {
    let level = |name: &str, amount, at| Level {
        name: name.to_owned(),
        amount,
        at,
    };
    let bench = Bench::new();
    let store = bench.open();
    let first = vec![level("a", 1, 10), level("b", 2, 20), level("c", 3, 30)];
    store.keep_levels(first, 3).await.unwrap();
    store
        .keep_levels(vec![level("a", 0, 40), level("d", 4, 40)], 3)
        .await
        .unwrap();
    drop(store);
    let mut kept = bench.open().levels().await.unwrap();
    assert_eq!(kept.remove(0), level("c", 3, 30));
    kept.sort_by(|one, other| one.name.cmp(&other.name));
    assert_eq!(kept, [level("a", 0, 40), level("d", 4, 40)]);
}
