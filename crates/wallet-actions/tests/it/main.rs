//! Integration tests: they run actions on embedded chains, in simulated time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    missing_docs,
    reason = "test code"
)]

mod bridges;
mod contract_owners;
mod deposits;
mod funds;
mod given_up;
mod kills;
mod lost;
mod memory;
mod mortal;
mod reorganised;
mod schedules;
mod servers;
mod stage;
mod stores;
mod swaps;
mod turns;
mod withdrawals;
mod without_gas;
