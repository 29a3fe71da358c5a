//! Implements [`QuotaStore`], the port of quotas and budgets, for [`SqliteStore`] and [`AnyStore`].

use credit::{QuotaStore, QuotaStoreError, Stored};

use super::{AnyStore, ServerStore, SqliteStore, StoreError};

macro_rules! keeps_quotas {
    ($store:ty) => {
        impl QuotaStore for $store {
            fn add<'a>(&'a self, name: &'a str, period: u64, calls: u64) -> Stored<'a, u64> {
                Box::pin(async move { self.count(name, period, calls).await.map_err(unavailable) })
            }

            fn spend<'a>(
                &'a self,
                family: &'a str,
                slice: u64,
                weight: u64,
                oldest: u64,
            ) -> Stored<'a, ()> {
                Box::pin(async move {
                    self.use_window(family, slice, weight, oldest)
                        .await
                        .map_err(unavailable)
                })
            }

            fn spent<'a>(&'a self, family: &'a str, oldest: u64) -> Stored<'a, Vec<(u64, u64)>> {
                Box::pin(async move { self.window_use(family, oldest).await.map_err(unavailable) })
            }
        }
    };
}

keeps_quotas!(SqliteStore);
keeps_quotas!(AnyStore);

fn unavailable(error: StoreError) -> QuotaStoreError {
    QuotaStoreError { code: error.code() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{SqliteStore, StoreOptions};

    #[tokio::test]
    async fn counters_and_windows_of_the_port_outlive_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("rail.db").display());
        let open = || -> Arc<dyn QuotaStore> {
            Arc::new(SqliteStore::open_alone(&url, StoreOptions::default()).unwrap())
        };
        let store = open();
        assert_eq!(store.add("example.month", 100, 20).await, Ok(20));
        assert_eq!(store.add("example.month", 200, 1).await, Ok(1));
        store.spend("example", 60, 5, 0).await.unwrap();
        store.spend("example", 120, 7, 0).await.unwrap();
        drop(store);
        let store = open();
        assert_eq!(store.add("example.month", 100, 2).await, Ok(22));
        assert_eq!(store.spent("example", 0).await, Ok(vec![(60, 5), (120, 7)]));
        assert_eq!(store.spent("example", 61).await, Ok(vec![(120, 7)]));
        // The next use deletes the slices that are older than the window.
        store.spend("example", 180, 1, 120).await.unwrap();
        assert_eq!(
            store.spent("example", 0).await,
            Ok(vec![(120, 7), (180, 1)])
        );
    }
}
