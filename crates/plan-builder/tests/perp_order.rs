//! The perpetuals constructor and its verifier through the public API.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

#[path = "perp_order/arguments.rs"]
mod arguments;
#[path = "perp_order/consistent.rs"]
mod consistent;
#[path = "perp_order/plans.rs"]
mod plans;
#[path = "perp_order/refusals.rs"]
mod refusals;
#[path = "perp_order/tampering.rs"]
mod tampering;
#[path = "perp_order/venue.rs"]
mod venue;
