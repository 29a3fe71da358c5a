//! The fence's server through its public interface.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

mod bounds;
mod costs;
mod crashes;
mod delegated;
mod dying;
mod generated_docs;
mod onchain;
mod operations;
mod racing;
mod stage;
mod store;
mod strangers;
mod world;

#[path = "../../../plan-builder/tests/it/swap/sample.rs"]
#[allow(dead_code, reason = "the tests of the constructor use all of it")]
mod sample;
