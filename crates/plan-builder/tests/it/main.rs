//! Tests of building and verifying through the public interface.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

mod embedding;
mod fees;
mod forgeries;
mod generated_docs;
mod perp_order;
mod pm_order;
mod recorded;
mod spelling;
mod swap;
mod vectors;
