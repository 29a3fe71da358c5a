//! Tests of the catalog through its public interface.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    unused_crate_dependencies,
    reason = "test code"
)]

mod challenge;
mod documents;
mod generated_docs;
mod parsing;
mod support;
mod table;
