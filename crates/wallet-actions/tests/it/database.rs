//! The database that `TEST_POSTGRES_URL` names; without it there is nothing to run on.

use std::hash::{BuildHasher as _, RandomState};

use storage::postgres::{Postgres, PostgresOptions};

fn open(url: &str) -> Postgres {
    Postgres::new(url.parse().unwrap(), PostgresOptions::default()).unwrap()
}

/// Handles on a schema of this call alone. Each has its own connections, as a process has.
pub(crate) async fn database<const N: usize>() -> Option<[Postgres; N]> {
    let url = std::env::var("TEST_POSTGRES_URL").ok()?;
    let name = format!("wallets_{:x}", RandomState::new().hash_one(0));
    let create = format!("CREATE SCHEMA {name}");
    open(&url).query("create", &create, &[]).await.unwrap();
    let separator = if url.contains('?') { '&' } else { '?' };
    let url = format!("{url}{separator}options=-csearch_path%3D{name}");
    Some(std::array::from_fn(|_| open(&url)))
}
