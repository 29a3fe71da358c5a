//! Anthropic: research with web search.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// Anthropic: research with web search.
    Anthropic,
    UpstreamSpec {
        name: "anthropic",
        urls: &[("base_url", "https://api.anthropic.com")],
        key: KeyRule::Required,
        sources: &["anthropic.messages"],
        per_minute: 60,
        burst: 10,
        limits: Limits::USUAL.within_seconds(120).up_to_bytes(8 * 1024 * 1024),
    }
);
