//! Tests of the settlement through its public interface: against scripted facilitators that fail in
//! many ways, and against an EVM in this process.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    unused_crate_dependencies,
    reason = "test code"
)]

mod broker;
mod broker_state;
mod calls;
mod canonical;
mod chain;
mod codes;
mod composed;
mod endpoints;
mod facilitator;
mod facilitator_faults;
mod gas;
mod observed;
mod onchain;
mod onchain_attacks;
mod onchain_faults;
mod onchain_records;
mod payments;
mod reconciling;
mod stage;
mod wallets;
mod words;
