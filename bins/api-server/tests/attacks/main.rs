//! What must not pass as a paid call, each refused by name and free of charge.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    reason = "test code"
)]

mod credit;
mod hanging_up;
mod look_up;
mod payments;
mod private_answers;
mod recognition;
mod requests;
#[path = "../support/mod.rs"]
mod support;
