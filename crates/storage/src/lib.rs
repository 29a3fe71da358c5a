#![doc = include_str!("../README.md")]

pub mod postgres;
pub mod sqlite;
mod store;

pub use store::{
    Artifact, DatasetRecord, Level, ServerStore, SqliteStore, StoreError, StoreOptions,
};
