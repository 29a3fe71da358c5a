//! The recordings of this repository, compiled in. A binary needs no file beside it.

/// Every file below `fixtures/upstreams`, with its path below that folder, sorted by path.
pub(crate) const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/recordings.rs"));
