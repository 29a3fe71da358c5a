//! The fence through its public items: its refusals, its log, and its sends.

#![allow(
    clippy::as_conversions,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    missing_docs,
    reason = "test code"
)]

mod attacks;
mod log;
mod onchain;
mod rules;
mod send;
mod vectors;
