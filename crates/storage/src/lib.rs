#![doc = include_str!("../README.md")]

pub mod postgres;
pub mod sqlite;
mod store;

pub use store::{
    AnyStore, Artifact, DatasetRecord, Level, PostgresStore, ServerStore, SqliteStore, StoreError,
    StoreOptions,
};
