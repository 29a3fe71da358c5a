//! DexScreener: pairs of decentralised exchanges.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// DexScreener: pairs of decentralised exchanges.
    Dexscreener,
    UpstreamSpec {
        name: "dexscreener",
        urls: &[("base_url", "https://api.dexscreener.com")],
        key: KeyRule::Keyless,
        sources: &["dexscreener.pairs", "dexscreener.search"],
        per_minute: 240,
        burst: 20,
        limits: Limits::USUAL,
    }
);
