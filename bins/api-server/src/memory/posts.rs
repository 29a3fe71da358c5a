//! Keeps the opinion leaders' posts in the store. Each post is paid for, so a restart must not buy
//! it again. The store has what was derived from the posts, not their texts.

use std::sync::Arc;
use std::time::Duration;

use data_sources::Clock;
use data_sources::x_api::{Archive, XApi};
use jiff::Timestamp;
use storage::{ServerStore, StoreError};

use super::store::record;

/// The name of the dataset.
const NAME: &str = "list_posts";
/// The time between two rounds, which write new posts and load those of other servers.
const EVERY: Duration = Duration::from_secs(60);

/// Loads the stored posts, then writes new ones periodically, for ever.
pub(crate) async fn keep<S: ServerStore>(x_api: XApi, store: Arc<S>, clock: Arc<dyn Clock>) {
    let mut ticks = tokio::time::interval(EVERY);
    loop {
        ticks.tick().await;
        if let Err(error) = synchronise(&x_api, &*store, clock.now()).await {
            tracing::warn!(%error, "paid posts are kept in memory only");
        }
    }
}

async fn synchronise<S: ServerStore>(
    x_api: &XApi,
    store: &S,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut stored = Archive::default();
    if let Some(record) = store.latest(NAME).await? {
        // Another version of this program wrote it. Its posts are bought again.
        stored = serde_json::from_slice(&record.body).unwrap_or_default();
        x_api.take_in(stored.clone());
    }
    let archive = x_api.archive();
    if archive == stored {
        return Ok(());
    }
    let Ok(body) = serde_json::to_vec(&archive) else {
        return Ok(());
    };
    match store.publish(NAME, record(NAME, body, now)).await {
        // Another server wrote at the same time: the next round loads its posts and tries again.
        Ok(()) | Err(StoreError::OlderRecord { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use data_sources::SourceConfig;
    use data_sources::transport::Transport;
    use storage::{SqliteStore, StoreOptions};

    use super::*;

    fn reader() -> XApi {
        let clock: Arc<dyn Clock> = Arc::new(Timestamp::UNIX_EPOCH);
        XApi::new(&Transport::new().unwrap(), SourceConfig::default(), clock).unwrap()
    }

    #[tokio::test]
    async fn posts_that_were_read_are_known_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.store.db");
        let open = || SqliteStore::open(path.clone(), StoreOptions::default()).unwrap();
        let text = r#"{
            "list": "42", "covered_from": "1970-01-01T00:00:00Z", "seen": {"7": "1970-01-02T00:00:00Z"},
            "posts": [{
                "handle": "a", "followers": null, "url": "https://x.com/a/status/7", "at": "1970-01-02T00:00:00Z",
                "reactions": 3, "content": {"stances": [["BTC", "0.5"]], "topics": ["etf"], "claims": []}
            }]
        }"#;
        let read: Archive = serde_json::from_str(text).unwrap();
        let first = reader();
        first.take_in(read.clone());
        let now = Timestamp::from_second(200_000).unwrap();
        synchronise(&first, &open(), now).await.unwrap();
        let second = reader();
        synchronise(&second, &open(), now).await.unwrap();
        assert_eq!(second.archive(), read);
        assert_ne!(read, Archive::default());
    }
}
