//! The send as a state machine: explored exhaustively with crashes, reorganisations, revocations,
//! displaced and reverted transactions, and a plan that ends between any two steps; then by random
//! schedules, each replayed from its events.
#![allow(
    clippy::as_conversions,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

mod explore;
mod report;
mod schedules;
mod world;
