//! fal: images by a queue.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// fal: images by a queue.
    Fal,
    UpstreamSpec {
        name: "fal",
        urls: &[("base_url", "https://queue.fal.run")],
        key: KeyRule::Required,
        sources: &["fal.images"],
        per_minute: 60,
        burst: 10,
        limits: Limits::USUAL.within_seconds(120).up_to_bytes(32 * 1024 * 1024),
    }
);
