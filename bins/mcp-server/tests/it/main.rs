//! Tests of the server: its protocol in this process, and the real binary as operators and
//! newcomers run it.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "test code"
)]

mod cases;
mod demo;
mod process;
mod protocol;
