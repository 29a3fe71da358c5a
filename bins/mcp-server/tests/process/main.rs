//! The server as operators run it: the real binary, configured, started and shut down.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code"
)]

mod commands;
mod config;
mod descriptors;
mod documents;
mod fence;
mod limits;
mod node;
mod online;
mod probing;
mod process;
mod rails;
mod safe_shares;
mod serve;
mod shares;
mod stdio;
