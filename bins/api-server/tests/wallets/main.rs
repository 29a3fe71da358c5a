//! Actions of sub-wallets over HTTP: a buyer pays, the server acts on embedded chains of real
//! contracts.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    unused_crate_dependencies,
    reason = "test code"
)]

#[path = "../support/mod.rs"]
mod support;

mod actions;
mod between;
mod charging;
mod gas;
mod halts;
mod in_time;
mod lies;
mod payers;
mod products;
mod stage;
