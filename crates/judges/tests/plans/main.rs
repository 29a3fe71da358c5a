//! `ethers-core` reads the same facts in the bytes of generated plans, and comes to the same
//! digests: the signed ones and those that a hardware wallet shows.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

mod calldata;
mod device;
#[path = "../rails/facts.rs"]
mod facts;
#[path = "../oracle/abi.rs"]
mod foreign_abi;
#[path = "../rails/rails.rs"]
mod rails;
mod typed_data;
