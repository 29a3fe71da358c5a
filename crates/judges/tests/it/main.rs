//! Judges payments, plans and their digests by `ethers-core` and by the published vectors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

mod differential;
mod documents;
mod ethers;
mod facts;
#[path = "../foreign/fence_messages.rs"]
mod fence_messages;
mod foreign_abi;
mod plans;
#[path = "rails/rails.rs"]
mod rails;
mod typed_documents;
mod vectors;
