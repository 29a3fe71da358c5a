//! Tests of the book in memory, in a file and in a database, and of the top-ups that it allows.
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
