//! LunarCrush: social metrics, with a key.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// LunarCrush: social metrics, with a key.
    Lunarcrush,
    UpstreamSpec {
        name: "lunarcrush",
        urls: &[("base_url", "https://lunarcrush.com")],
        key: KeyRule::Required,
        sources: &["lunarcrush.coins"],
        per_minute: 10,
        burst: 4,
        limits: Limits::USUAL,
    }
);
