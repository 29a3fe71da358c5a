//! The book of coins for gas, in memory, in a file and in a database, and the top-ups that it
//! allows.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    unused_crate_dependencies,
    reason = "test code"
)]

mod books;
mod funding;
