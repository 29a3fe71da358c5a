//! The daily yield curve of the US Treasury.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// The daily yield curve of the US Treasury.
    Treasury,
    UpstreamSpec {
        name: "treasury",
        urls: &[("base_url", "https://home.treasury.gov")],
        key: KeyRule::Keyless,
        sources: &["treasury.yield-curve"],
        per_minute: 20,
        burst: 5,
        limits: Limits::USUAL.within_seconds(10),
    }
);
