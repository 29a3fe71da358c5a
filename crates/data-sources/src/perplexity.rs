//! Perplexity: research with web search.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// Perplexity: research with web search.
    Perplexity,
    UpstreamSpec {
        name: "perplexity",
        urls: &[("base_url", "https://api.perplexity.ai")],
        key: KeyRule::Required,
        sources: &["perplexity.sonar"],
        per_minute: 60,
        burst: 10,
        limits: Limits::USUAL.within_seconds(120),
    }
);
