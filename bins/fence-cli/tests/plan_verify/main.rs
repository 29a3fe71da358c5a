//! `fence-cli plan verify` as people and scripts run it: the real binary over the vectors of
//! `fixtures/vectors/plans`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

mod accepted;
mod case;
mod files;
mod refused;
mod usage;
