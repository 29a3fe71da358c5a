//! Gemini: images.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// Gemini: images.
    Gemini,
    UpstreamSpec {
        name: "gemini",
        urls: &[("base_url", "https://generativelanguage.googleapis.com")],
        key: KeyRule::Required,
        sources: &["gemini.images"],
        per_minute: 60,
        burst: 10,
        limits: Limits::USUAL.within_seconds(120).up_to_bytes(32 * 1024 * 1024),
    }
);
