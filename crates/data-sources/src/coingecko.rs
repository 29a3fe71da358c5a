//! CoinGecko: coins, trending searches and token lists.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// CoinGecko: coins, trending searches and token lists.
    Coingecko,
    UpstreamSpec {
        name: "coingecko",
        urls: &[("base_url", "https://api.coingecko.com")],
        key: KeyRule::Optional,
        sources: &["coingecko.markets", "coingecko.trending", "coingecko.token-list"],
        per_minute: 25,
        burst: 10,
        limits: Limits::USUAL.up_to_bytes(8 * 1024 * 1024),
    }
);
