//! The fence on a chain: the contracts of the MetaMask delegation framework, as their authors
//! publish them, on an anvil with the id of Base. No code of the service runs here; the attacker
//! has the redeemer's key, and often the delegate's too.

#![cfg(feature = "foreign")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    unused_crate_dependencies,
    reason = "test code"
)]

#[path = "../foreign/base_chain.rs"]
#[allow(dead_code, reason = "the tests of plans use all of it")]
mod base_chain;
mod encoders;
mod end;
mod fence;
mod install;
mod plans;
mod stage;
mod stock;
mod tool;
