//! Tests of the journal through its port, on either store.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

mod connection;
mod credit;
mod durability;
mod files;
mod full;
mod identifiers;
mod import;
mod instances;
mod look_up;
mod model;
mod newcomers;
mod open_entries;
mod prune;
mod purchases;
mod records;
mod reservations;
mod reserved;
mod shared_upkeep;
mod support;
mod transitions;
mod undecidable;
mod upkeep;
