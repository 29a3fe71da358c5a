//! The recordings of this repository, compiled in: a binary needs no further files.

/// Every file under `fixtures/upstreams` by its path below that folder, in order.
pub(crate) const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/recordings.rs"));
