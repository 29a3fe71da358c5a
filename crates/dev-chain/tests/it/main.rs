//! The chain through its public interface.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    reason = "test code"
)]

mod authorizations;
mod faults;
mod garbage;
mod http;
mod reads;
mod refusals;
mod signatures;
mod support;
mod time;
