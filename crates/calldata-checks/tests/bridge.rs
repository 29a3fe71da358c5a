//! The bridge rail through its public interface: recorded plans, every route, and every way to be
//! wrong.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

#[path = "bridge/accounts.rs"]
mod accounts;
#[path = "bridge/attacks.rs"]
mod attacks;
#[path = "bridge/bytes.rs"]
mod bytes;
#[path = "bridge/fee_attacks.rs"]
mod fee_attacks;
#[path = "bridge/plan.rs"]
mod plan;
#[path = "bridge/routes.rs"]
mod routes;
#[path = "bridge/vectors.rs"]
mod vectors;
