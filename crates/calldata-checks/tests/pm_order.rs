//! Prediction-market orders: foreign vectors, attacks on every member, exact amounts.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

#[path = "pm_order/amounts.rs"]
mod amounts;
#[path = "pm_order/attacks.rs"]
mod attacks;
#[path = "pm_order/members.rs"]
mod members;
#[path = "pm_order/plan.rs"]
mod plan;
#[path = "pm_order/vectors.rs"]
mod vectors;
