//! Tests of the store through its port.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    unused_crate_dependencies,
    reason = "test code"
)]

mod artifacts;
mod counters;
mod database_errors;
mod datasets;
mod files;
mod hosts;
mod leases;
mod support;
mod use_of_limits;
