//! Integration tests of the mandates of a server, through the public interface.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    unused_crate_dependencies,
    reason = "test code"
)]

mod checks;
mod dying;
mod kills;
mod moves;
mod owners;
mod stage;
mod store;
