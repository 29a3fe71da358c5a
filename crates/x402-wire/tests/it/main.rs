//! Integration tests of the messages, the buyer and the seller's checks, through the public
//! interface.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

#[cfg(feature = "recover")]
mod attacks;
mod buyer;
#[cfg(feature = "recover")]
mod claims;
mod offers;
#[cfg(feature = "recover")]
mod vectors;
