//! Tests that adapters, plans, rails and the probe can read the recordings.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    missing_docs,
    unused_crate_dependencies,
    reason = "test code"
)]

mod adapters;
mod execution;
mod plans;
mod probe;
mod rails;
