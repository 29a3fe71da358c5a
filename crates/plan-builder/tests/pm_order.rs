//! The prediction-market rail from arguments to verified plan.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

#[path = "pm_order/arguments.rs"]
mod arguments;
#[path = "pm_order/forgeries.rs"]
mod forgeries;
#[path = "pm_order/plans.rs"]
mod plans;
#[path = "pm_order/refusals.rs"]
mod refusals;
#[path = "pm_order/stage.rs"]
mod stage;
