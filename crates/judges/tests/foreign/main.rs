//! Programs of other projects judge the running service.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

mod chains;
mod contracts;
mod discovery;
#[path = "../oracle/ethers.rs"]
mod ethers;
mod facilitator;
mod openapi;
mod payments;
mod spend_controls;
mod world;
