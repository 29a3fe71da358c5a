//! The chain through its public interface.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    clippy::too_many_arguments,
    reason = "test code"
)]

mod authorizations;
mod bridge;
mod faults;
mod garbage;
mod http;
mod plan;
mod reads;
mod refusals;
mod signatures;
mod simulate;
mod support;
mod swap;
mod time;
mod unlocked;
