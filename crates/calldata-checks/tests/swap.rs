//! The swap rail's checks, through the public interface: what passes, and each attack by the name
//! of the check that refuses it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

#[path = "swap/amounts.rs"]
mod amounts;
#[path = "swap/encoding.rs"]
mod encoding;
#[path = "swap/fees.rs"]
mod fees;
#[path = "swap/flips.rs"]
mod flips;
#[path = "swap/passing.rs"]
mod passing;
#[path = "swap/sample.rs"]
mod sample;
#[path = "swap/targets.rs"]
mod targets;
