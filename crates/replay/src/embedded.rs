//! The recordings of this repository, compiled in: a binary needs nothing beside itself.

/// Every file under `fixtures/upstreams` by its path from there, in order.
pub(crate) const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/recordings.rs"));
