//! CryptoPanic: aggregated news, with a key.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// CryptoPanic: aggregated news, with a key.
    Cryptopanic,
    UpstreamSpec {
        name: "cryptopanic",
        urls: &[("base_url", "https://cryptopanic.com")],
        key: KeyRule::Required,
        sources: &["cryptopanic.posts"],
        per_minute: 30,
        burst: 5,
        limits: Limits::USUAL,
    }
);
