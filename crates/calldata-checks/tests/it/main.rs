//! The four rails through the public interface.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

mod bridge;
mod perp_order;
mod pm_order;
mod swap;
