//! alternative.me: the fear and greed index.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// alternative.me: the fear and greed index.
    AlternativeMe,
    UpstreamSpec {
        name: "alternative_me",
        urls: &[("base_url", "https://api.alternative.me")],
        key: KeyRule::Keyless,
        sources: &["alternative-me.fear-greed"],
        per_minute: 30,
        burst: 5,
        limits: Limits::USUAL,
    }
);
