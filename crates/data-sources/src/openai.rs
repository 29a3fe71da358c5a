//! OpenAI: images and research with web search.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// OpenAI: images and research with web search.
    Openai,
    UpstreamSpec {
        name: "openai",
        urls: &[("base_url", "https://api.openai.com")],
        key: KeyRule::Required,
        sources: &["openai.images", "openai.responses"],
        per_minute: 60,
        burst: 10,
        limits: Limits::USUAL.within_seconds(120).up_to_bytes(32 * 1024 * 1024),
    }
);
