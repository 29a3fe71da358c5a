//! The swap constructor and its verifier, through the public interface.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

#[path = "swap/arguments.rs"]
mod arguments;
#[path = "swap/building.rs"]
mod building;
#[path = "swap/market.rs"]
mod market;
#[path = "swap/quotes.rs"]
mod quotes;
#[path = "swap/sample.rs"]
mod sample;
#[path = "swap/simulation.rs"]
mod simulation;
#[path = "swap/tampering.rs"]
mod tampering;
#[path = "swap/transfer_fees.rs"]
mod transfer_fees;
#[path = "swap/vector.rs"]
mod vector;
