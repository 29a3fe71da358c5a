#![doc = include_str!("../README.md")]

mod migration;
pub mod postgres;
pub mod sqlite;
mod store;

pub use migration::{Migration, Tables};
pub use store::{
    AnyStore, Artifact, DatasetRecord, Level, PostgresStore, ServerStore, SqliteStore, StoreError,
    StoreOptions,
};

/// How many seconds the clocks of processes that share a store may differ. A lease that another
/// process has taken by its own clock may end later by as much, and still counts. When it ends even
/// later, a clock was set back, and the lease delays nobody.
pub const CLOCKS_DIFFER_SECONDS: u32 = 60;
