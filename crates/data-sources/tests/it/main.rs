//! The adapters against servers that answer well, badly and maliciously, one module per capability.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    missing_docs,
    unused_crate_dependencies,
    reason = "test code"
)]

mod ai;
mod budgets;
mod chain;
mod defi;
mod markets;
mod news;
mod okx;
mod rails;
mod security;
mod support;
mod tokens;
mod worth;
