//! Tests of the server in this process and as a process: paid, attacked and restarted.

#![allow(
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    missing_docs,
    unused_crate_dependencies,
    reason = "test code"
)]

mod attacks;
mod cases;
mod challenges;
mod cut_lists;
mod delegation;
mod example;
mod modules;
mod moves;
mod paid_call;
mod process;
mod routes;
mod settlement_faults;
mod signer;
mod support;
mod upstreams;
mod wallet_plans;
mod wallets;
