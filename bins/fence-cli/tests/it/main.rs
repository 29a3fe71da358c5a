//! Tests of the real binary, run as people and scripts run it.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "test code"
)]

mod fence;
mod plan_verify;
