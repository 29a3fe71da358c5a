//! The journal through its port.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

mod durability;
mod files;
mod full;
mod model;
mod reservations;
mod support;
mod transitions;
mod upkeep;
