//! Sends plans on an embedded chain, in simulated time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    missing_docs,
    reason = "test code"
)]

mod gas;
mod kills;
mod lost;
mod memory;
mod mortal;
mod schedules;
mod sending;
mod servers;
mod stage;
mod together;

#[path = "../../../wallet-actions/tests/it/memory.rs"]
#[allow(dead_code, reason = "the tests of wallet actions use all of it")]
mod intents;

#[path = "../../../wallet-actions/tests/it/turns.rs"]
mod turns;

#[path = "../../../plan-builder/tests/it/swap/sample.rs"]
#[allow(dead_code, reason = "the tests of the constructor use all of it")]
mod sample;
