//! DefiLlama: TVL, yields and prices.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// DefiLlama: TVL, yields and prices.
    Defillama,
    UpstreamSpec {
        name: "defillama",
        urls: &[
        ("base_url", "https://api.llama.fi"),
        ("yields_url", "https://yields.llama.fi"),
        ("coins_url", "https://coins.llama.fi"),
        ("stablecoins_url", "https://stablecoins.llama.fi"),
    ],
        key: KeyRule::Keyless,
        sources: &["defillama.protocols", "defillama.chains", "defillama.pools", "defillama.chart", "defillama.coins"],
        per_minute: 120,
        burst: 20,
        limits: Limits::USUAL.within_seconds(20).up_to_bytes(32 * 1024 * 1024),
    }
);
