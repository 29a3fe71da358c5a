//! The chain through its public interface.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    clippy::too_many_arguments,
    reason = "test code"
)]

mod attestation;
mod authorizations;
mod bridge;
mod dex;
mod faults;
mod garbage;
mod http;
mod lending;
mod plan;
mod reads;
mod refusals;
mod signatures;
mod simulate;
mod support;
mod swap;
mod time;
mod unlocked;
mod vault;
