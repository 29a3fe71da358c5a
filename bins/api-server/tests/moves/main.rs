//! Moves of mandates, over the real actions of a real wallet on an embedded chain.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    unused_crate_dependencies,
    reason = "test code"
)]

mod bounds;
mod cancelled;
mod ports;
mod restarts;
mod stage;
mod watched;
