//! Integration tests: they compare the rules of this workspace with the workspace itself.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    unused_crate_dependencies,
    reason = "test code"
)]

mod comments;
mod deploy;
mod documents;
mod embedding;
mod layering;
mod locks;
mod manifests;
mod modules;
mod tables;
mod workspace;
