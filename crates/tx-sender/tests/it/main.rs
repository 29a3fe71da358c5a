//! Tests that run the sender against an EVM in this process, in simulated time.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    missing_docs,
    unused_crate_dependencies,
    reason = "test code"
)]

mod chaos;
mod closing;
mod conformance;
mod fees;
mod guards;
mod keystore;
mod kills;
mod lost;
mod nodes;
mod nonces;
mod observed;
mod pace;
mod reorganisations;
mod senders;
mod sharing;
mod signers;
mod store;
mod support;
mod web3signer;
